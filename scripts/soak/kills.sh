#!/usr/bin/env bash
# Kills audits at random moments and goes on with them, and compares what they end with: the table, and the digests of
# rows, guesses and texts, must be those of a run that was left alone.
#
# Usage: scripts/soak/kills.sh N [SEED]
#   N      kills, over runs with rows, without, in shards, with an outside program and with a server in turn
#   SEED   of the moments and the signals (default 1)
#
# TEDA names the program (default: target/release/teda, which is built where it is not there), LONGEST the most
# milliseconds before a kill (default 700). Ends with status 1 where anything differs.
set -euo pipefail

case ${1:-} in
    '' | -h | --help)
        sed -n '2,10p' "${BASH_SOURCE[0]}" | cut -c3-
        exit
        ;;
esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
kills=$1
RANDOM=${2:-1}
longest=${LONGEST:-700}
teda=${TEDA:-${CARGO_TARGET_DIR:-$root/target}/release/teda}
[ -x "$teda" ] || cargo build --release --locked --workspace --manifest-path "$root/Cargo.toml"

work=$(mktemp -d)
cd "$work"
export TEDA_CACHE=$work/cache
coproc SERVER { exec python3 "$root/scripts/soak/server.py"; }
server=$SERVER_PID
trap 'kill "$server" 2> /dev/null || true; rm -rf "$work"' EXIT
read -r port <&"${SERVER[0]}"
cp "$root/examples/randomised_response.py" .
printf '%s\n' 'play some jazz' 'will it rain' 'book a table for two' 'find that film' > texts.txt

declare -A audits=(
    [rows]="--mech krr,em --epsilon 2 --limit 60 --lambda 0 --trials 2000 --attack learned,overlap,embedding"
    [counts]="--mech grr --dataset categories:2 --lambda 0 --epsilon 1 --attack likelihood-ratio --keep counts --trials 60000000"
    [shards]="--mech em,identity --epsilon 3 --limit 60 --trials 3000 --attack learned,length"
    [program]="--mech exec:python3|randomised_response.py|texts.txt --dataset texts.txt --epsilon 1 --lambda 0 --trials 3000 --attack overlap"
    [server]="--mech dp-prompt-black-box --epsilon 10 --llm http://127.0.0.1:$port/v1?model=soak --limit 60 --trials 400 --attack overlap"
)
kinds=(rows counts shards program server)

# The arguments of an audit, one a line: | stands for a space within one.
arguments() {
    tr ' ' '\n' <<< "${audits[$1]}" | tr '|' ' '
}

# What a run ended with: its table, and the digests of its files.
ended() {
    "$teda" report "$1" 2> /dev/null
    for file in trials guesses texts; do
        if [ -e "$1/$file.parquet" ]; then sha256sum < "$1/$file.parquet"; fi
    done
}

# Runs one audit to its end, killed up to four times on the way.
killed=0
through() {
    local out=$1 times=$((RANDOM % 4 + 1)) status
    shift
    while [ "$times" -gt 0 ] && [ "$killed" -lt "$kills" ]; do
        "$teda" audit "$@" --quiet --go-on --out "$out" > /dev/null 2>> log &
        local audit=$!
        local moment=$((RANDOM % longest))
        sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
        local signals=(KILL KILL KILL INT TERM HUP)
        local signal=${signals[RANDOM % 6]}
        kill -s "$signal" "$audit" 2> /dev/null || true
        status=0
        wait "$audit" 2> /dev/null || status=$?
        case $status in
            0) return ;; # It was faster.
            # 129, 130 and 143 by themselves where the signal came before it was caught.
            129 | 130 | 137 | 143) killed=$((killed + 1)) ;;
            *)
                echo "kills.sh: status $status after SIG$signal of: $*" >&2
                tail -5 log >&2
                exit 1
                ;;
        esac
        times=$((times - 1))
    done
    "$teda" audit "$@" --quiet --go-on --out "$out" > /dev/null 2>> log
}

for kind in "${kinds[@]}"; do
    mapfile -t audit < <(arguments "$kind")
    "$teda" audit "${audit[@]}" --quiet --out "whole-$kind" > /dev/null 2>> log
    ended "whole-$kind" > "$kind.expected"
done

runs=0 different=0
declare -A counted=()
while [ "$killed" -lt "$kills" ]; do
    kind=${kinds[runs % ${#kinds[@]}]}
    mapfile -t audit < <(arguments "$kind")
    before=$killed
    rm -rf run part-*
    if [ "$kind" = shards ]; then
        for part in 1 2 3; do
            through "part-$part" "${audit[@]}" --shard "$part/3"
        done
        "$teda" merge part-1 part-2 part-3 --out run > /dev/null 2>> log
    else
        through run "${audit[@]}"
    fi
    ended run > found
    if ! cmp -s found "$kind.expected"; then
        echo "kills.sh: run $runs ($kind) ended with something else:" >&2
        diff "$kind.expected" found >&2 || true
        different=$((different + 1))
    fi
    counted[$kind]=$((${counted[$kind]:-0} + killed - before))
    runs=$((runs + 1))
done

for kind in "${kinds[@]}"; do
    echo "$kind: ${counted[$kind]:-0} kills"
done
echo "$killed kills of $runs runs: $different ended with another table or other rows"
[ "$different" -eq 0 ]
