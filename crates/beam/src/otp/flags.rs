//! Emulator flags, in the form in which a user writes them.

use crate::error::BeamError;
use std::fmt;

/// Flags that would prevent driving the node, or make it another node than the record says.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["noshell", "noinput", "oldshell", "newshell", "user", "emu_args_exit", "emu_name_exit"],
        "tailback itself uses standard input and output",
    ),
    (&["s", "run", "eval"], "tailback itself sets what the node runs"),
    (
        &[
            "name",
            "sname",
            "setcookie",
            "remsh",
            "proto_dist",
            "hidden",
            "start_epmd",
            "epmd_module",
        ],
        "a measured node runs without distribution",
    ),
    (
        &[
            "boot", "boot_var", "mode", "loader", "hosts", "id", "root", "path", "config",
            "configfd",
        ],
        "tailback itself sets how the node boots",
    ),
    (&["pa", "pz"], "tailback itself sets the code path"),
    (&["detached", "heart"], "a node has to end when tailback ends"),
    (&["env"], "set the variable in the environment of tailback instead"),
    (&["args_file", "extra", "-"], "tailback could not check the words after it"),
    (
        &["emu", "instr", "embedded", "version"],
        "it is not suitable for a node that a program controls",
    ),
];

/// Emulator flags, split into words; shown as the user gave them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    text: String,
    words: Vec<String>,
}

impl Flags {
    /// No flags.
    pub fn none() -> Self {
        Flags::default()
    }

    /// Splits flags such as `+S 4:4 +sbwt none` as a shell does.
    ///
    /// Flags begin with `+` or `-`; other words are values of the flag before them.
    /// [`Otp::accepts`](crate::Otp::accepts) tells whether an OTP knows a flag.
    ///
    /// # Errors
    /// If quotes do not match, if the text begins with a value, or for a flag that would break
    /// tailback: `-noshell`, `-s`, `-eval`, `-name`, `-boot`, `-pa`, `-detached`, `-env` and
    /// similar flags.
    pub fn parse(text: &str) -> Result<Self, BeamError> {
        let refused = |why: String| BeamError::Flags { text: clean(text), why };
        let words =
            shell_words::split(text).map_err(|_| refused("a quote is not closed".into()))?;
        let mut after_flag = false;
        for word in &words {
            check(word, after_flag).map_err(refused)?;
            after_flag = true;
        }
        Ok(Flags { text: text.trim().to_owned(), words })
    }

    /// The words, in their original order.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether there are no flags.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn check(word: &str, after_flag: bool) -> Result<(), String> {
    if word.chars().any(os::terminal::steers) {
        return Err("a word contains a control character".to_owned());
    }
    if let Some(name) = word.strip_prefix('-') {
        return check_name(word, name);
    }
    match word.strip_prefix('+') {
        Some("") => Err("`+` is not a flag".to_owned()),
        // `+V` prints a version and ends; flags such as `+h SIZE` are followed by their value.
        Some("V" | "?") => Err(format!("`{word}` ends the node at once")),
        Some(_) => Ok(()),
        None if after_flag => Ok(()),
        None => Err(format!("`{word}` is not a flag: a flag begins with + or -")),
    }
}

fn check_name(word: &str, name: &str) -> Result<(), String> {
    let refused = REFUSED.iter().find(|(names, _)| names.contains(&name));
    match refused {
        Some((_, why)) => Err(format!("`{word}` cannot be used here: {why}")),
        None if name.is_empty() => Err("`-` is not a flag".to_owned()),
        None => Ok(()),
    }
}

/// Cleans text for a one-line message.
fn clean(text: &str) -> String {
    crate::text::clean_line(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn why(text: &str) -> String {
        Flags::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn flags_are_split_as_a_shell_does() {
        let flags = Flags::parse(" +S 4:4  +sbwt none -kernel 'a b' \"c d\" ").unwrap();
        assert_eq!(flags.words(), ["+S", "4:4", "+sbwt", "none", "-kernel", "a b", "c d"]);
        assert_eq!(flags.to_string(), "+S 4:4  +sbwt none -kernel 'a b' \"c d\"");
        assert!(Flags::parse("  ").unwrap().is_empty());
        assert_eq!(Flags::parse("").unwrap(), Flags::none());
    }

    #[test]
    fn what_is_no_flag_is_refused() {
        assert!(why("4:4 +S").contains("`4:4` is not a flag"), "{}", why("4:4"));
        assert!(why("+S '4").contains("quote"));
        assert!(why("+").contains("not a flag"));
        assert!(why("+S 1 -").contains("not a flag"));
        assert!(why("+S \u{7}").contains("control character"));
        assert!(!why("+S \u{7}").contains('\u{7}'));
    }

    #[test]
    fn what_would_defeat_us_is_refused_by_name() {
        let words = "noshell s run eval name sname setcookie remsh boot pa pz detached heart env \
                     args_file extra user mode";
        for name in words.split_whitespace().chain(["-"]) {
            let message = why(&format!("+S 2:2 -{name} x"));
            assert!(message.contains(&format!("`-{name}` cannot be used here")), "{message}");
        }
        // A shell would remove these quotes, so this function does too.
        assert!(Flags::parse("+S 1 '-'eval x").is_err());
        assert!(Flags::parse("-kernel -eval").is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_taken_begins_with_a_flag_and_holds_none_that_is_refused(text in ".{0,60}") {
            if let Ok(flags) = Flags::parse(&text) {
                prop_assert!(flags.words().first().is_none_or(|w| w.starts_with(['+', '-'])));
                prop_assert!(!flags.words().iter().any(|w| w == "-eval" || w == "-s"));
            }
        }
    }
}
