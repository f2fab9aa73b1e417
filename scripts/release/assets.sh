#!/usr/bin/env bash
# Writes what is installed beside the binary: manual pages and shell completions, made by the binary itself.
#
#   scripts/release/assets.sh [TEDA [FOLDER]]      # target/release/teda and target/assets when left out
set -euo pipefail
cd "$(dirname "$0")/../.."
teda=${1:-${CARGO_TARGET_DIR:-target}/release/teda}
folder=${2:-target/assets}
rm -rf "$folder"
mkdir -p "$folder/man" "$folder/completions"
"$teda" man --out "$folder/man" 2> /dev/null
"$teda" completions bash > "$folder/completions/teda"
"$teda" completions zsh > "$folder/completions/_teda"
"$teda" completions fish > "$folder/completions/teda.fish"
