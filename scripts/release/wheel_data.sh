#!/usr/bin/env bash
# Lays manual pages and shell completions out for the wheel, where `pip install` puts them under share/ of the environment.
#
#   scripts/release/wheel_data.sh [TEDA]      # target/release/teda when left out
#
# Then build the wheel: maturin takes python/teda_audit._native.data where it is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
assets=$(mktemp -d)
trap 'rm -rf "$assets"' EXIT
scripts/release/assets.sh "${1:-${CARGO_TARGET_DIR:-target}/release/teda}" "$assets/made"
share=python/teda_audit._native.data/data/share
rm -rf python/teda_audit._native.data
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
cp "$assets"/made/man/*.1 "$share/man/man1"
cp "$assets/made/completions/teda" "$share/bash-completion/completions"
cp "$assets/made/completions/_teda" "$share/zsh/site-functions"
cp "$assets/made/completions/teda.fish" "$share/fish/vendor_completions.d"
