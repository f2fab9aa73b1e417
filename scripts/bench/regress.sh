#!/usr/bin/env bash
# Two builds of teda side by side on a fixed list of jobs: which of them became faster or slower beyond noise.
#
# Usage: scripts/bench/regress.sh BEFORE AFTER [OPTION ...]
#   BEFORE, AFTER    two programs `teda`
#   --rounds N       paired runs of every job, in turns (default: 5)
#   --only A,B       these jobs alone
#   --models DIR     the store of models, for the jobs with MiniLM and SmolLM2 (default: that of AFTER; skipped without)
#
# Prints a table: seconds of both (medians), the ratio AFTER / BEFORE with a 99 % interval from the pairs, and a word where the
# interval leaves out 1. Ends with 1 if a job became slower. Run it with nothing else running.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '4,8p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 "$here/regress.py" "$@"
