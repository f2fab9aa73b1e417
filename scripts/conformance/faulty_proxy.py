"""Stands between teda and a model server and breaks some of the traffic, on a fixed schedule.

    python scripts/conformance/faulty_proxy.py --to http://127.0.0.1:8000 --port 8001 --every 3

Requests are numbered as they come. Every N-th meets a fault, the kinds in turn: 429 with Retry-After,
500, a connection cut within the answer, an answer slower than a client should wait, an answer that is
no JSON. All others are forwarded as they are. On SIGTERM or SIGINT the counts are printed as JSON on
standard output. Standard library only.
"""

import argparse
import http.client
import http.server
import json
import signal
import sys
import threading
import time
import urllib.parse

KINDS = ["429", "500", "cut", "slow", "no-json"]


class Schedule:
    """Numbers requests and says which fault each meets; counts both."""

    def __init__(self, every):
        self.every = every
        self.lock = threading.Lock()
        self.counts = {"requests": 0, "answered": 0, "unreachable": 0} | {kind: 0 for kind in KINDS}

    def next(self):
        with self.lock:
            self.counts["requests"] += 1
            number = self.counts["requests"]
            if number % self.every:
                return None
            kind = KINDS[(number // self.every - 1) % len(KINDS)]
            self.counts[kind] += 1
            return kind

    def count(self, what):
        with self.lock:
            self.counts[what] += 1


class Proxy(http.server.BaseHTTPRequestHandler):
    """One request: forwarded, or broken as the schedule says."""

    schedule = None
    target = None
    slow = 0.0

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.close_connection = True
        kind = self.schedule.next()
        if kind == "429":
            self.reply(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "0"})
        elif kind == "500":
            self.reply(500, b'{"error": {"message": "injected"}}')
        elif kind == "no-json":
            self.reply(200, b"<html>not what you asked for</html>")
        else:
            self.forward(body, kind)

    def do_GET(self):
        self.close_connection = True
        self.forward(None, None)

    def forward(self, body, kind):
        try:
            connection = http.client.HTTPConnection(self.target.hostname, self.target.port, timeout=600)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            answer = response.read()
        except OSError as error:
            self.schedule.count("unreachable")
            self.reply(502, json.dumps({"error": {"message": str(error)}}).encode())
            return
        if kind is None:
            if self.command == "POST":
                self.schedule.count("answered")
            self.reply(response.status, answer)
            return
        half = len(answer) // 2
        self.head(response.status, len(answer))
        self.wfile.write(answer[:half])
        self.wfile.flush()
        if kind == "slow":
            time.sleep(self.slow)
            self.wfile.write(answer[half:])

    def reply(self, status, body, headers=None):
        self.head(status, len(body), headers)
        self.wfile.write(body)

    def head(self, status, length, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_):
        """Nothing a request: the counts at the end say it all."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        """Clients that leave before a slow answer ends are expected."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", required=True, help="the real server, as in http://127.0.0.1:8000")
    parser.add_argument("--port", type=int, required=True, help="where to listen, on 127.0.0.1")
    parser.add_argument("--every", type=int, default=4, help="every N-th request meets a fault (4)")
    parser.add_argument("--slow", type=float, default=30.0, help="seconds within a slow answer (30)")
    arguments = parser.parse_args()
    if arguments.every < 1:
        parser.error("--every is at least 1")
    Proxy.schedule = Schedule(arguments.every)
    Proxy.target = urllib.parse.urlparse(arguments.to)
    Proxy.slow = arguments.slow
    server = Server(("127.0.0.1", arguments.port), Proxy)

    def stop(*_):
        print(json.dumps(Proxy.schedule.counts), flush=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    server.serve_forever()


if __name__ == "__main__":
    main()
