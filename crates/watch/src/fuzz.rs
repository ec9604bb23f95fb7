//! Readers of data that users control, for the fuzzer.

/// Any text, as the `status` of a process, which may call itself anything.
pub fn names(text: &str) {
    crate::sample::fuzz(text);
}
