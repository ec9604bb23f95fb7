//! Passes the inputs of libFuzzer to a target of `crates/fuzz`. The variable TAILBACK_FUZZ names
//! the target.

#![no_main]

use fuzz::Target;
use std::sync::LazyLock;

/// The target. A static, since libFuzzer calls a function with nothing but the input.
static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("TAILBACK_FUZZ").unwrap_or_default();
    let names = || fuzz::TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    fuzz::target(&name).unwrap_or_else(|| {
        eprintln!("TAILBACK_FUZZ={name}: name one of {}", names());
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.take)(bytes));
