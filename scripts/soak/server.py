#!/usr/bin/env python3
"""A server that speaks enough of OpenAI's dialect for `kills.sh`: the answer follows from the request alone, after a few
milliseconds. Prints its port.
"""

import hashlib
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = "play book find rate add show what song table film music weather in for me the a".split()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        digest = hashlib.sha256(body).digest()
        text = " ".join(WORDS[byte % len(WORDS)] for byte in digest[:7])
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}
        answer = json.dumps({"choices": [choice], "usage": usage}).encode()
        time.sleep(0.005)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that was killed is what this is for."""


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
