#!/usr/bin/env bash
# DP-MLM by teda and by its authors' package, on the same weights: forward passes, trials, and the distribution.
#
# Usage: scripts/bench/dp_mlm.sh WORK TEXTS [OPTION ...]
#   WORK             scratch folder: virtual environment, checkpoint, run directories (some 8 GB)
#   TEXTS            file of one text a line
#   --python PYTHON  an interpreter that has what dp_mlm_requirements.txt names, and dpmlm 1.3.0 (default: one made here)
#   --teda PROGRAM   a teda that is built, with examples/filling beside it (default: built here)
#   --draws N, --trials N, --only speed|distribution   see dp_mlm.py
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

if [ $# -lt 2 ] || [ "$1" = --help ]; then
    sed -n '2,10p' "${BASH_SOURCE[0]}" | cut -c3-
    exit 2
fi
mkdir -p "$1"
work=$(cd "$1" && pwd) texts=$2 python='' teda=''
shift 2
rest=()
while [ $# -gt 0 ]; do
    case $1 in
        --python) python=$2 ;;
        --teda) teda=$2 ;;
        *) rest+=("$1" "$2") ;;
    esac
    shift 2
done
if [ -z "$python" ]; then
    python=$work/venv/bin/python
    [ -x "$python" ] || {
        python3 -m venv "$work/venv"
        "$python" -m pip install -q -r "$here/dp_mlm_requirements.txt"
        # What it needs beyond is for other parts of it.
        "$python" -m pip install -q --no-deps dpmlm==1.3.0 importlib_resources
    }
fi
if [ -z "$teda" ]; then
    (cd "$root" && cargo build --release --locked --workspace --all-targets)
    teda=$root/target/release/teda
fi
exec "$python" "$here/dp_mlm.py" "$work" --teda "$teda" --filling "$(dirname "$teda")/examples/filling" --texts "$texts" "${rest[@]}"
