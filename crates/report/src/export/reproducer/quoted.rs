//! Text from a record in program source.

/// A string literal for C and Erlang. Only plain characters are kept.
pub fn quoted(text: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || " -_./%+:,".contains(*c);
    format!("\"{}\"", text.chars().filter(plain).collect::<String>())
}
