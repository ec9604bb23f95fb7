//! The part that a scenario has in a reproducer.

use super::settings::{Defines, Read};

/// The part of a scenario.
pub struct Part {
    /// The scenario.
    pub scenario: &'static str,
    /// Its C.
    pub source: &'static str,
    /// Whether it makes a control group.
    pub groups: bool,
    /// Its parameters, from the control and the arm with the cause.
    pub defines: fn(Read, Read) -> Result<Defines, String>,
}

/// A text in quotes of C, of which nothing but plain characters is left.
pub fn quoted(text: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || " -_./%".contains(*c);
    format!("\"{}\"", text.chars().filter(plain).collect::<String>())
}
