#!/usr/bin/env bash
# How long utilities of stored rows take: the cheap ones on 100,000 rows, and BERTScore beside the sentence vectors of the same
# texts by the same encoder, in one run.
#
#   scripts/bench/utilities.sh [TEDA] [ENCODER]      # target/release/teda, and minilm (builtin without it)
set -euo pipefail
cd "$(dirname "$0")/../.."
teda=$(realpath "${1:-target/release/teda}")
encoder=${2:-minilm}
"$teda" models pull "$encoder" > /dev/null 2>&1 || encoder=builtin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Seconds on the wall and of all cores together.
timed() {
    local format=%e\ %U
    /usr/bin/time -f "$format" -o "$work/time" "$@" > /dev/null 2> "$work/said" || { cat "$work/said" >&2; exit 1; }
    cat "$work/time"
}
"$teda" audit --mech em --epsilon 20 --trials 100000 --attack embedding --quiet --out "$work/large" > /dev/null
read -r wall cores < <(timed "$teda" report "$work/large" --utility cosine,rouge1,rougeL,bleu,length,copied --out "$work/cheap")
echo "100,000 rows, cosine, ROUGE-1, ROUGE-L, BLEU, length, copied (built-in encoder): $wall s, $cores s of processor time"

"$teda" audit --mech em --epsilon 20 --trials 2000 --attack overlap --quiet --out "$work/small" > /dev/null
for round in 1 2 3; do
    for utility in cosine bertscore; do
        read -r wall cores < <(timed "$teda" report "$work/small" --utility "$utility" --encoder "$encoder" --out "$work/$utility-$round")
        echo "$cores" >> "$work/$utility.times"
        echo "2,000 rows, $utility, $encoder: $wall s, $cores s of processor time"
    done
done
paste "$work/cosine.times" "$work/bertscore.times" |
    awk '{ sum += $1 / $2 } END { printf "BERTScore reaches %.2f of the speed of sentence vectors (mean of %d)\n", sum / NR, NR }'
