#!/usr/bin/env bash
# The bounds of the black-box attacks beside that of the best attack there is, for every mechanism that knows how likely
# its releases are, and the tables of docs/power.md from them.
#
# Usage: scripts/power/run.sh WORK [OPTION ...]
#   WORK             folder of the run directories; a run that is complete there is not made again
#   --teda PROGRAM   a teda that is built (default: built here)
#   --power PROGRAM  the example `power` that is built (default: built here)
#   --only WORD      only the runs whose name has WORD in it; docs/power.md is then left as it is
#
# Prints the tables, and puts them into docs/power.md between its two marks. Takes about an hour on 2 cores, most of it
# for em, word-perturb and dp-prompt.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
page=$root/docs/power.md

die() {
    echo "run.sh: $*" >&2
    exit 1
}

work='' teda='' power='' only=''
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help)
            sed -n '5,9p' "${BASH_SOURCE[0]}" | cut -c3-
            exit
            ;;
        --*)
            [ $# -ge 2 ] || die "$1 wants a value"
            case $1 in
                --teda) teda=$2 ;;
                --power) power=$2 ;;
                --only) only=$2 ;;
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
[ -n "$work" ] || die "name a WORK folder; --help says more"
mkdir -p "$work"

target=${CARGO_TARGET_DIR:-$root/target}/release
if [ -z "$teda" ] || [ -z "$power" ]; then
    cargo build --release --workspace --examples --bins --manifest-path "$root/Cargo.toml"
    teda=${teda:-$target/teda} power=${power:-$target/examples/power}
fi

runs=()
# One run: its name, then options of `teda audit`.
run() {
    local name=$1
    shift
    case $name in *"$only"*) ;; *) return 0 ;; esac
    local directory=$work/$name
    runs+=("$directory")
    if grep -qs '"status": "complete"' "$directory/manifest.json"; then
        return 0
    fi
    [ ! -e "$directory" ] || die "$directory is there and not complete: finish it with $teda audit --resume $directory, or remove it"
    echo "run.sh: $name" >&2
    "$teda" audit --k 2 --trials 10000 --lambda 0 --quiet --out "$directory" \
        --attack learned,embedding,length,overlap,likelihood-ratio "$@" > "$work/$name.txt"
}

# ε was sought on small grids by likelihood-ratio alone, so that the optimum lies between half and nine tenths of what the
# trials can show: by one estimator, by the other, or at two ε by both. A guess on oue, olh and the is never right
# much more often than three times in four, whatever the ε, so no ε does that by `teda`.
for texts in 2 4 16; do
    run "krr-$texts" --mech krr --limit "$texts" --epsilon 5
    run "krr-half-noise-$texts" --mech krr-half-noise --limit "$texts" --epsilon 2.5
    run "protocols-$texts" --mech grr,oue,olh --dataset "categories:$texts" --epsilon 5
    run "unary-$texts" --mech sue,she,laplace --dataset "categories:$texts" --epsilon 5,9
    run "threshold-$texts" --mech the --dataset "categories:$texts" --epsilon 9
    run "gaussian-$texts" --mech gaussian --dataset "categories:$texts" --epsilon 12 --delta 1e-5
done
run krr-snips --mech krr --epsilon 7,13
run protocols-snips-64 --mech sue,oue,olh --limit 64 --epsilon 5
run em-one-token --mech em --neighbours one-token --epsilon 20,28
run em-half-noise-one-token --mech em-half-noise --neighbours one-token --epsilon 12
run em-any-texts --mech em --epsilon 2
run word-perturb-any-texts --mech word-perturb --limit 16 --epsilon 5
run word-perturb-one-token --mech word-perturb --neighbours one-token --limit 16 --epsilon 50
run dp-prompt --mech dp-prompt --epsilon 4

tables=$("$power" "${runs[@]}")
echo "$tables"
[ -z "$only" ] || exit 0
begin='<!-- tables of scripts/power/run.sh -->' end='<!-- end of the tables -->'
grep -qF -- "$begin" "$page" && grep -qF -- "$end" "$page" || die "$page lacks the marks that the tables stand between"
printf '%s\n' "$tables" > "$work/tables.md"
awk -v begin="$begin" -v end="$end" -v tables="$work/tables.md" '
    $0 == end { inside = 0 }
    !inside { print }
    $0 == begin { inside = 1; print ""; while ((getline line < tables) > 0) print line; print "" }
' "$page" > "$work/page.md"
cp "$work/page.md" "$page"
