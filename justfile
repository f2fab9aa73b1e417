# What a developer runs. `just --list` shows the recipes.

# Format, lints, documentation and tests: what .ci/run does.
check:
    .ci/run

# Formats all source files; `cargo fmt` alone does not see the mechanisms, whose modules a macro declares.
fmt:
    cargo fmt --all
    rustfmt --edition 2024 mechanisms/src/*/*.rs

# The tests alone.
test *arguments:
    cargo test --release --workspace {{arguments}}

# Hostile inputs: `just fuzz all 1000 1`, `just fuzz gguf 100000 7`; what fails is kept in fuzz-failures/.
fuzz kind number seed:
    cargo build --release --workspace --bins --examples
    target/release/examples/fuzz {{kind}} {{number}} {{seed}}

# N kills of running audits, each gone on with and compared.
soak number seed="1":
    scripts/soak/kills.sh {{number}} {{seed}}

# Property tests with fresh cases; a failure prints the case and the seed to repeat it with.
fuzz-properties:
    #!/usr/bin/env bash
    set -euo pipefail
    seed=$RANDOM$RANDOM
    echo "PROPTEST_RNG_SEED=$seed"
    PROPTEST_RNG_SEED=$seed PROPTEST_CASES=20000 cargo test --release --workspace --lib

# The main job.
audit *arguments:
    cargo run --release -- audit --mech privrewrite --k 2 --trials 10000 {{arguments}}
