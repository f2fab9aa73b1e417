#!/usr/bin/env bash
# What this machine's processor can do at most, as a table: multiply-adds a second and bytes a second.
#
# Usage: scripts/bench/limit.sh [--examples DIR]
#   --examples DIR   a folder with teda's examples already built (default: they are built)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
examples=''
while [ $# -gt 0 ]; do
    case $1 in
        --examples) [ $# -ge 2 ] || { echo "limit.sh: $1 wants a value" >&2; exit 2; }; examples=$2; shift 2 ;;
        -h | --help) sed -n '2,5p' "${BASH_SOURCE[0]}" | cut -c3-; exit ;;
        *) echo "limit.sh: unknown option $1" >&2; exit 2 ;;
    esac
done
if [ -z "$examples" ]; then
    (cd "$root" && cargo build --release --locked --workspace --example limit >&2)
    examples=${CARGO_TARGET_DIR:-$root/target}/release/examples
fi
echo "| threads | f32, billion multiply-adds/s | bf16, the same | instructions | memory read, GB/s |"
echo "| ---: | ---: | ---: | --- | ---: |"
for threads in 1 $(nproc); do
    "$examples/limit" "$threads"
done | sort -u | python3 -c '
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    other = [key for key in row if key not in ("threads", "f32", "bytes")]
    half = f"{row[other[0]] / 1e9:.0f}" if other else "none"
    name = other[0] if other else ""
    print("| {} | {:.0f} | {} | {} | {:.1f} |".format(row["threads"], row["f32"] / 1e9, half, name, row["bytes"] / 1e9))
'
