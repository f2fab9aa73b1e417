#!/usr/bin/env bash
# Runs a command against a real model server: llama-cpp-python with SmolLM2-135M, on this machine.
#
#   scripts/conformance/llama_server.sh [OPTIONS] -- COMMAND [ARGUMENT…]
#
# Makes a virtual environment in the work folder, installs llama-cpp-python[server] there, starts the
# server, waits until it answers, runs COMMAND with every @URL@ in it replaced by the API's base
# (http://127.0.0.1:PORT/v1), and stops the server however the command ends. Its exit status is the
# command's. With --proxy, faulty_proxy.py stands in between, @URL@ is the proxy's, and its counts are
# printed at the end. Downloads llama-cpp-python (and builds it: it needs a C++ compiler) unless
# --venv names an environment that has it.
#
#   scripts/conformance/llama_server.sh --proxy -- teda audit --mech privrewrite --epsilon 4 \
#       --trials 20 --llm '@URL@?model=smollm2&concurrency=4&timeout=20'
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$PWD/.cache/llama-server
venv=
model=
port=
proxy=no
every=4
slow=30
server_options=()

usage() {
    sed -n '2,/^set -euo/{/^set -euo/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    cat <<'OPTIONS'
Options:
  --work DIR      where the environment and the logs go (.cache/llama-server)
  --venv DIR      an environment that has llama-cpp-python[server]; nothing is installed
  --model FILE    the GGUF to serve (what `teda models path smollm2-135m` prints)
  --port N        the server's port; the proxy's is the next one (two that are free)
  --proxy         put the faulty proxy in between
  --every N       every N-th request meets a fault (4)
  --slow SECONDS  how long a slow answer pauses; longer than the command's time-out (30)
  --embedding     let the server give embeddings too
OPTIONS
}

fail() {
    echo "llama_server.sh: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --work | --venv | --model | --port | --every | --slow)
            [ $# -ge 2 ] || fail "$1 needs a value"
            printf -v "${1#--}" %s "$2"
            shift 2
            ;;
        --proxy) proxy=yes && shift ;;
        --embedding) server_options+=(--embedding true) && shift ;;
        -h | --help) usage && exit 0 ;;
        --) shift && break ;;
        *) fail "unknown option '$1' (--help lists them; the command stands after --)" ;;
    esac
done
[ $# -gt 0 ] || fail "no command after --"

if [ -z "$model" ]; then
    model=$("${TEDA:-teda}" models path smollm2-135m) ||
        fail "no model: give --model FILE, or set TEDA to a teda that has 'models path'"
fi
[ -f "$model" ] || fail "no such model file: $model"

mkdir -p "$work"
if [ -z "$venv" ]; then
    venv=$work/venv
    if ! "$venv/bin/python" -c 'import llama_cpp.server' 2>/dev/null; then
        echo "installing llama-cpp-python[server] into $venv (log: $work/pip.log)" >&2
        python3 -m venv "$venv"
        "$venv/bin/pip" install 'llama-cpp-python[server]' >"$work/pip.log" 2>&1 ||
            fail "the installation failed; see $work/pip.log"
    fi
fi
python=$venv/bin/python
[ -x "$python" ] || fail "no $python: --venv names an environment"

free_ports() {
    "$python" - <<'PYTHON'
import socket
sockets = [socket.socket() for _ in range(2)]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))
PYTHON
}
if [ -n "$port" ]; then
    proxy_port=$((port + 1))
else
    read -r port proxy_port <<<"$(free_ports)"
fi

children=()
stop() {
    local child
    # The last one first: the proxy prints its counts while the server still stands.
    for ((child = ${#children[@]} - 1; child >= 0; child--)); do
        kill "${children[child]}" 2>/dev/null || true
        wait "${children[child]}" 2>/dev/null || true
    done
    children=()
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits until process $1 answers at $2, or says that it does not and shows its log $3.
await() {
    local _
    for _ in $(seq 240); do
        if "$python" -c 'import sys, urllib.request as u
u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=5)' "$2" 2>/dev/null; then
            return
        fi
        kill -0 "$1" 2>/dev/null || break
        sleep 0.5
    done
    tail -n 20 "$3" >&2
    fail "nothing answers at $2; its log is $3"
}

"$python" -m llama_cpp.server --model "$model" --n_ctx 2048 --host 127.0.0.1 --port "$port" \
    ${server_options[@]+"${server_options[@]}"} >"$work/server.log" 2>&1 &
children+=($!)
await $! "http://127.0.0.1:$port/v1/models" "$work/server.log"
url=http://127.0.0.1:$port/v1

if [ "$proxy" = yes ]; then
    "$python" "$here/faulty_proxy.py" --to "http://127.0.0.1:$port" --port "$proxy_port" \
        --every "$every" --slow "$slow" >&2 2>"$work/proxy.log" &
    children+=($!)
    await $! "http://127.0.0.1:$proxy_port/v1/models" "$work/proxy.log"
    url=http://127.0.0.1:$proxy_port/v1
fi

status=0
"${@//@URL@/$url}" || status=$?
exit "$status"
