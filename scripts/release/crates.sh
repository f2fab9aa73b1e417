#!/usr/bin/env bash
# Packs every crate as it would be published, and refuses one that is too large for the registry.
#
#   scripts/release/crates.sh
#
# Publishes nothing. Skips with a word where the index of the registry is out of reach.
set -euo pipefail
cd "$(dirname "$0")/../.."
limit=$((10 * 1024 * 1024))
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if ! cargo publish --workspace --dry-run --no-verify --allow-dirty > "$log" 2>&1; then
    if grep -qE "download|network|connect|resolve host|spurious|timed out" "$log"; then
        echo "skipped: the registry is out of reach, so crates are not packed"
        exit 0
    fi
    cat "$log"
    exit 1
fi
# "Packaged 18 files, 117.0KiB (35.0KiB compressed)", after "Packaging NAME vVERSION (PATH)".
awk -v limit="$limit" '
    $1 == "Packaging" { name = $2 }
    $1 == "Packaged" {
        match($0, /\([0-9.]+[KMG]?i?B compressed\)/)
        size = substr($0, RSTART + 1, RLENGTH - 13)
        bytes = size + 0
        if (size ~ /KiB/) bytes *= 1024
        if (size ~ /MiB/) bytes *= 1048576
        if (size ~ /GiB/) bytes *= 1073741824
        printf "%-24s %s\n", name, size
        packed++
        if (bytes > limit) { print name ": more than the 10 MiB that the registry takes"; bad = 1 }
    }
    END { if (!packed) { print "no crate was packed: what cargo prints has changed"; bad = 1 } exit bad }
' "$log"
