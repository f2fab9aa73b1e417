#!/usr/bin/env bash
# Runs an audit on a real Slurm, of one controller and three nodes on this machine, and stops all that it started. Of its
# 12 tasks one is killed, one loses its node, one is requeued and one reaches its time limit: the merged run must be that
# of one process, in its table, its JSON and its Parquet files.
#
#   scripts/clusters/slurm.sh [TEDA]      # the binary; target/release/teda when left out
#
# Installs Slurm where it may (Debian: slurm-wlm and munge), and skips with a word where it may not. Takes a minute and a half.
set -euo pipefail
cd "$(dirname "$0")/../.."
teda=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/teda}")
here=$PWD/scripts/clusters

skip() {
    echo "skipped: $1, so no audit is run on a Slurm"
    exit 0
}
[ "$(id -u)" = 0 ] || skip "the daemons of Slurm want to be root"
command -v python3 > /dev/null || skip "there is no python3"
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
if ! command -v slurmctld slurmd munged sbatch > /dev/null; then
    command -v apt-get > /dev/null || skip "there is no slurmctld"
    (apt-get update && apt-get install -y --no-install-recommends slurm-wlm munge) > "$D/apt.log" 2>&1 ||
        skip "slurm-wlm and munge cannot be installed"
fi

# What was started here has our configuration in its environment.
export SLURM_CONF=$D/slurm.conf
ours() {
    local pid
    for pid in /proc/[0-9]*; do
        if [ "${pid#/proc/}" != $$ ] && grep -qzxF "$1" "$pid/environ" 2> /dev/null; then
            echo "${pid#/proc/}"
        fi
    done
}
stop() {
    local file pid
    for file in "$D"/run/*.pid; do
        [ -s "$file" ] && kill "$(cat "$file")" 2> /dev/null || true
    done
    for _ in $(seq 25); do
        [ -n "$(ours "SLURM_CONF=$SLURM_CONF")" ] || break
        sleep 0.2
    done
    for pid in $(ours "SLURM_CONF=$SLURM_CONF"); do kill -9 "$pid" 2> /dev/null || true; done
    [ -z "${KEEP:-}" ] || cp -r "$D" "$KEEP"
    rm -rf "$D"
}
trap stop EXIT
fail() {
    echo "FAILED: $1"
    tail -n 20 "$D"/log/*.log "$D"/work/*/log/* 2> /dev/null || true
    exit 1
}
# Waits up to $1 seconds until the rest, a command, succeeds.
await() {
    local seconds=$1
    shift
    for _ in $(seq $((seconds * 5))); do
        if "$@" > /dev/null 2>&1; then return; fi
        sleep 0.2
    done
    fail "after $seconds seconds still not: $*"
}

chmod 755 "$D"
mkdir -p "$D"/{run,state,log,work} "$D"/spool/n{1,2,3}
sed "s|@D@|$D|g" "$here/slurm.conf" > "$SLURM_CONF"
(umask 077 && head -c 1024 /dev/urandom > "$D/munge.key")
munged --key-file="$D/munge.key" --socket="$D/run/munge.socket" --pid-file="$D/run/munged.pid" \
    --log-file="$D/log/munged.log" --seed-file="$D/run/munged.seed"
slurmctld -f "$SLURM_CONF"
for node in n1 n2 n3; do slurmd -f "$SLURM_CONF" -N $node; done
are_idle() { [ "$(timeout 5 sinfo -h -o '%t %D')" = "idle 3" ]; }
await 20 are_idle

cd "$D/work"
mkdir 'a folder'
cp "$here/slow.py" 'a folder/slow.py'
printf '%s\n' 'play some jazz' 'will it rain' "it's a \"trap\"" 'find that film' > texts.txt
audit=(--mech 'exec:python3 "a folder/slow.py"' --dataset texts.txt --epsilon 1 --claim neighbours=any-texts
    --lambda 0 --trials 2400 --attack learned,overlap --seed 5 --processes 1 --batch 4)
"$teda" audit "${audit[@]}" --threads 1 --out one --quiet > one.txt
"$teda" slurm audit "${audit[@]}" --shards 12 --sbatch job-name=slow --sbatch "comment=a # b" --stop-before 40 \
    --prelude "export FROM='the prelude'" --out 'a job' --submit --quiet
jobs=($(python3 -c 'import json; print(*(a["jobs"][0] for a in json.load(open("a job/job.json"))["arrays"]))'))
[ ${#jobs[@]} = 2 ] || fail "12 tasks in arrays of 7 are two arrays"
job=${jobs[0]}
scontrol show job "${job}_1" | grep -qF 'Comment=a # b' || fail "the comment did not arrive"

# Those four are at work.
has_rows() { [ "$(wc -l < "a job/shards/$1/trials.jsonl")" -ge 6 ]; }
for task in 1 2 3 4; do await 40 has_rows $task; done
scontrol update JobId="${job}_4" TimeLimit=1
node() { squeue -h -j "${job}_$1" -o %N; }
lost=$(node 2)
for task in 1 3 4; do [ "$(node $task)" != "$lost" ] || fail "task $task is on the node that is to be lost"; done
# 1 is killed, 3 is requeued, and 2 loses its node: whatever runs there dies at once.
for pid in $(ours "SLURM_ARRAY_TASK_ID=1"); do
    if grep -qzxF "SLURM_ARRAY_JOB_ID=$job" "/proc/$pid/environ" 2> /dev/null; then kill -9 "$pid" || true; fi
done
scontrol requeue "${job}_3"
dying=$(ours "SLURMD_NODENAME=$lost")
for pid in $dying; do
    # Those of its daemons that watch a task do not have its environment.
    parent=$(ps -o ppid= -p "$pid" | tr -d ' ') || continue
    if [ "$(ps -o comm= -p "$parent")" = slurmstepd ]; then dying+=" $parent"; fi
done
for pid in "$(cat "$D/run/slurmd-$lost.pid")" $dying; do kill -9 "$pid" 2> /dev/null || true; done

has_failed() { "$teda" slurm status 'a job' | grep -q FAILED; }
await 20 has_failed
"$teda" slurm status 'a job'
export TEDA_AGAIN=1
"$teda" slurm resubmit 'a job'
is_joined() { "$teda" slurm status 'a job' | grep -q 'joined: teda report'; }
await 110 is_joined
"$teda" slurm status 'a job'

for file in trials texts guesses; do
    cmp "one/$file.parquet" "a job/run/$file.parquet" || fail "$file.parquet differs"
done
for run in one 'a job/run'; do
    "$teda" report "$run" > "$D/$(basename "$run").txt" 2> /dev/null
    "$teda" report "$run" --format json 2> /dev/null | python3 -c '
import json, sys
document = json.load(sys.stdin)
del document["run_dir"]
for cell in document["cells"]:
    del cell["seconds"]
json.dump(document, sys.stdout, sort_keys=True, indent=1)' > "$D/$(basename "$run").json"
done
cmp "$D/one.txt" "$D/run.txt" || fail "the table differs"
cmp "$D/one.json" "$D/run.json" || fail "the JSON differs"
# It was no quiet day.
grep -q 'interrupted; go on' 'a job/log/shards-1-task-4.txt' || fail "task 4 did not reach its time limit"
grep -qi 'failure of node' "$D/log/slurmctld.log" || fail "no task lost its node"
echo "12 tasks, one killed, one without its node, one requeued, one at its time limit: the run of one process"
