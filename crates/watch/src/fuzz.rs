//! Readers of what users decide, for the fuzzer.

/// The text of `stat` of a process, which may call itself anything.
pub fn names(text: &str) {
    crate::sample::fuzz(text);
}
