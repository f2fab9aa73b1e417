#!/usr/bin/env bash
# Opens pages of runs in a real browser: nothing is fetched, no error is said, no text of the data runs, tables sort, filters
# and pages work, it prints, and axe finds no violation, light and dark.
#
#   scripts/page/check.sh [TEDA]          # the binary; target/release/teda when left out
#
# Takes Chromium and playwright-core where they are, installs them where it may, and skips with a word where it may not.
set -euo pipefail
cd "$(dirname "$0")/../.."
teda=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/teda}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "skipped: $1, so pages are not opened in a browser"
    exit 0
}
if ! command -v chromium > /dev/null; then
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || skip "there is no chromium"
    (apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core) > "$work/apt.log" 2>&1 ||
        skip "chromium cannot be installed"
fi
command -v npm > /dev/null || skip "there is no npm"
cp scripts/page/package.json scripts/page/package-lock.json scripts/page/check.mjs "$work"
(cd "$work" && npm ci --silent --no-audit --no-fund) > "$work/npm.log" 2>&1 || skip "playwright-core and axe-core cannot be installed"

"$teda" audit --mech identity,em --epsilon 20 --dataset scripts/page/hostile.txt --lambda 0 --trials 700 \
    --attack embedding,learned,overlap --utility cosine --quiet --out "$work/hostile" > /dev/null
"$teda" audit --mech em,krr --epsilon 1,8 --limit 2000 --trials 3000 --quiet --out "$work/plain" > /dev/null
"$teda" report "$work/hostile" "$work/plain" --page --out "$work/both" > /dev/null 2>&1
cd "$work"
node check.mjs hostile/report.html plain/report.html both/report.html "${PICTURES:-}"
