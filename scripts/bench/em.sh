#!/usr/bin/env bash
# Speed of an audit of `em` at a great epsilon on long texts, with the sums that it keeps and without, side by side.
#
# Usage: scripts/bench/em.sh WORK [OPTION ...]
#   WORK             scratch folder: run directories
#   --teda PROGRAM   a teda that is built (default: built here)
#   --before PROGRAM another teda that the first is compared with, as the one before a change (default: the same
#                    one with --memory 1, which leaves no memory for sums)
#   --dataset NAME   texts (default: medquad-answers)
#   --epsilon E      (default: 100)
#   --trials N       trials of the audit with sums (default: 10000)
#   --slow N         trials of the audit without, the first N of the same (default: 100)
#
# The attack is one that costs little. Both sides are timed as processes of one thread, in seconds of the processor. A
# start that audits one trial of the constant mechanism is timed, too, and is taken from both, so that few trials are
# not charged with reading texts and making vectors of them. The time of the slower side grows with its trials, so the ratio is that of seconds
# a trial. Fails where the two sides write different trials.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() {
    sed -n '4,12p' "${BASH_SOURCE[0]}" | cut -c3-
}

die() {
    echo "em.sh: $*" >&2
    exit 1
}

work='' teda='' before='' dataset=medquad-answers epsilon=100 trials=10000 slow=100
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help)
            usage
            exit
            ;;
        --*)
            [ $# -ge 2 ] || die "$1 wants a value"
            case $1 in
                --teda) teda=$2 ;;
                --before) before=$2 ;;
                --dataset) dataset=$2 ;;
                --epsilon) epsilon=$2 ;;
                --trials) trials=$2 ;;
                --slow) slow=$2 ;;
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

if [ -z "$teda" ]; then
    cargo build --release --manifest-path "$root/Cargo.toml"
    teda=${CARGO_TARGET_DIR:-$root/target}/release/teda
fi
without=("$before")
[ -n "$before" ] || without=("$teda" --memory 1)

# Seconds of the processor for an audit: run NAME TRIALS MECHANISM PROGRAM [OPTION ...]
run() {
    local name=$1 trials=$2 mechanism=$3 program=$4
    shift 4
    rm -rf "${work:?}/$name"
    local TIMEFORMAT='%U %S'
    { time "$program" audit --mech "$mechanism" --dataset "$dataset" --trials "$trials" --threads 1 --quiet \
        --attack embedding --out "$work/$name" "$@" > "$work/$name.txt" 2> "$work/$name.log"; } 2> "$work/$name.time" \
        || die "$name failed: $(cat "$work/$name.log")"
    awk '{ print $1 + $2 }' "$work/$name.time"
}

same() {
    cmp "$work/$1/trials.parquet" "$work/$2/trials.parquet" || die "$1 and $2 differ"
}

start=$(run start 1 constant "$teda")
fast=$(run with "$trials" em "$teda" --epsilon "$epsilon")
few=$(run with-few "$slow" em "$teda" --epsilon "$epsilon")
long=$(run without "$slow" em "${without[@]}" --epsilon "$epsilon")
same with-few without

awk -v start="$start" -v fast="$fast" -v few="$few" -v long="$long" -v trials="$trials" -v slow="$slow" \
    -v dataset="$dataset" -v epsilon="$epsilon" 'BEGIN {
    printf "em, epsilon %s, %s, one thread; %.2f s to start are taken off\n\n", epsilon, dataset, start
    print "| sums kept | trials | seconds | ms a trial | without / it |"
    print "| --- | ---: | ---: | ---: | ---: |"
    per = (long - start) / slow
    printf "| none | %d | %.2f | %.3f | |\n", slow, long - start, 1000 * per
    printf "| yes | %d | %.2f | %.3f | %.1f |\n", slow, few - start, 1000 * (few - start) / slow, per * slow / (few - start)
    printf "| yes | %d | %.2f | %.3f | %.1f |\n", trials, fast - start, 1000 * (fast - start) / trials, per * trials / (fast - start)
    printf "\nThe first %d trials are the same bytes.\n", slow
}'
