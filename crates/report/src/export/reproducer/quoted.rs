//! Texts of a record in a program.

/// A text in quotes of C and of Erlang, of which nothing but plain characters is left.
pub fn quoted(text: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || " -_./%+:,".contains(*c);
    format!("\"{}\"", text.chars().filter(plain).collect::<String>())
}
