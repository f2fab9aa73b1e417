#!/usr/bin/env bash
# Speed of teda and of ldp-audit (Arcolezi & Gambs) on the same protocol, side by side on one core, as one table.
#
# Usage: scripts/bench/protocols.sh WORK [OPTION ...]
#   WORK             scratch folder (some 1 GB): virtual environment, checkout, figures
#   --ldp-audit DIR  an existing checkout (default: cloned from its authors' repository, at a pinned commit)
#   --venv DIR       an existing virtual environment with ldp-audit's dependencies
#   --python PROGRAM Python 3.11 or 3.12, which the pinned packages run on (default: python3)
#   --teda PROGRAM   a teda that is built (default: built here)
#   --rounds N       times that both sides run, in turn; the best counts (default: 3)
#   --trials N       mechanism calls of a round of teda, ten times those of ldp-audit (default: 200000000)
#
# Prints the table, and leaves it with all single figures in WORK/protocols.txt. Run it with nothing else running.
# README.md says what is compared and how it is kept fair.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
repository=https://github.com/hharcolezi/ldp-audit
commit=5cd1c5d47c089c6ae55292e7ccb75b2677893c9a

usage() {
    sed -n '4,14p' "${BASH_SOURCE[0]}" | cut -c3-
}

die() {
    echo "protocols.sh: $*" >&2
    exit 1
}

work='' checkout='' venv='' python=python3 teda='' rounds=3 trials=200000000
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help)
            usage
            exit
            ;;
        --*)
            [ $# -ge 2 ] || die "$1 wants a value"
            case $1 in
                --ldp-audit) checkout=$2 ;;
                --venv) venv=$2 ;;
                --python) python=$2 ;;
                --teda) teda=$2 ;;
                --rounds) rounds=$2 ;;
                --trials) trials=$2 ;;
                *) die "unknown option $1" ;;
            esac
            shift 2
            ;;
        *)
            [ -z "$work" ] || die "one WORK folder"
            work=$1
            shift
            ;;
    esac
done
[ -n "$work" ] || { usage >&2; exit 2; }
mkdir -p "$work"
work=$(cd "$work" && pwd)

if [ -z "$venv" ]; then
    venv=$work/ldp-audit-venv
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet -r "$here/protocols_requirements.txt" \
        || die "ldp-audit's dependencies cannot be installed: is $python 3.11 or 3.12?"
fi
if [ -z "$checkout" ]; then
    checkout=$work/ldp-audit
    [ -d "$checkout" ] || git clone --quiet "$repository" "$checkout" || die "clone $repository yourself and name it with --ldp-audit"
    git -C "$checkout" checkout --quiet "$commit"
fi
if [ -z "$teda" ]; then
    cargo build --release --manifest-path "$root/Cargo.toml"
    teda=${CARGO_TARGET_DIR:-$root/target}/release/teda
fi

PYTHONPATH=$checkout "$venv/bin/python" "$here/protocols.py" "$teda" "$work" "$rounds" "$trials" | tee "$work/protocols.txt"
