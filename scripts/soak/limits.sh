#!/usr/bin/env bash
# Runs an audit under the limits of the system, and compares its exit status with what docs/reliability.md says.
#
# Usage: scripts/soak/limits.sh
#
# TEDA names the program (default: target/release/teda). Limits of processes and of permissions do not bind root, who
# becomes the user `nobody` here. Ends with status 1 where a status is another one.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
teda=${TEDA:-${CARGO_TARGET_DIR:-$root/target}/release/teda}

if [ "${1:-}" != inside ]; then
    work=$(mktemp -d)
    trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
    cp "$teda" "$work/teda"
    cp "${BASH_SOURCE[0]}" "$work/limits.sh"
    mkdir "$work/home" "$work/work" "$work/closed"
    (
        cd "$work/closed"
        "$work/teda" audit --mech krr --epsilon 1 --limit 20 --trials 200 --attack overlap --quiet --out run > /dev/null
        "$work/teda" audit --mech krr --epsilon 1 --limit 20 --trials 9000000 --attack overlap --quiet --out stopped > /dev/null &
        while [ ! -s stopped/trials.jsonl ]; do sleep 0.1; done
        kill -9 $!
        wait $! || true
    ) 2> /dev/null
    chmod -R a-w "$work/closed"
    chmod 755 "$work"
    if [ "$(id -u)" = 0 ]; then
        chown -R nobody "$work/home" "$work/work"
        su -s /bin/bash nobody -c "bash '$work/limits.sh' inside '$work'"
    else
        bash "$work/limits.sh" inside "$work"
    fi
    exit
fi

work=$2
export HOME=$work/home
cd "$work/work"
teda=$work/teda
audit="$teda audit --mech krr,em --epsilon 1 --limit 50 --trials 2000 --quiet --out r"
wrong=0

# A name, the statuses that may be, and a command line.
try() {
    local name=$1 may=$2 status=0 said
    rm -rf r
    said=$(timeout 300 bash -c "$3" 2>&1 > /dev/null) || status=$?
    local verdict=ok
    if [[ " $may " != *" $status "* ]] || grep -q "panicked" <<< "$said"; then
        verdict=WRONG
        wrong=$((wrong + 1))
    fi
    printf '%-28s %4s  %-5s  %s\n' "$name" "$status" "$verdict" "$(grep -m1 '^error\|^memory\|^note' <<< "$said" | cut -c1-110 || true)"
}

try "no limit" "0" "$audit"
# Below what the program itself takes, the system ends it: 134 where it gives no memory, 139 before it begins.
for kib in 60000 120000 200000 300000; do
    try "ulimit -v $kib" "0 1 134 139" "ulimit -v $kib; $audit"
done
for kib in 600000 1000000 2000000; do
    try "ulimit -v $kib" "0 1" "ulimit -v $kib; $audit"
done
for files in 10 20 40; do
    try "ulimit -n $files" "0 1" "ulimit -n $files; $audit"
done
for blocks in 0 1 20; do
    try "ulimit -f $blocks" "1" "ulimit -f $blocks; $audit"
done
for processes in 1 2 3 4 5 6 7 8 9 10 12 16; do
    try "ulimit -u $processes" "0 1" "ulimit -u $processes; exec $audit"
done
try "no HOME" "0" "env -u HOME $audit"
try "no TERM" "0" "env -u TERM $audit"
try "closed standard error" "0" "$audit 2>&-"
try "closed standard output" "0" "$audit >&-"
try "closed standard input" "0" "$audit <&-"
try "full standard output" "1" "$audit > /dev/full"
try "one core" "0" "taskset -c 0 $audit"
try "a thousand threads" "0" "$audit --threads 1000"
try "a thousand of a hundred" "1" "ulimit -u 100; exec $audit --threads 1000"
try "read-only folder" "1" "${audit% r} '$work/closed/r'"
try "read-only run, report" "0" "$teda report '$work/closed/run'"
try "read-only run, resume" "1" "$teda audit --resume '$work/closed/stopped'"
try "wrong flag" "2" "$teda audit --no-such-flag"
try "no such data" "2" "$teda audit --mech krr --dataset nowhere.csv"

echo "$wrong of these ended otherwise"
[ "$wrong" -eq 0 ]
