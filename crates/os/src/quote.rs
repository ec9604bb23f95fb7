//! Words for a shell.

use crate::terminal;

/// Quotes a word, if needed, so that a shell reads it back unchanged. Characters that steer the
/// terminal become spaces.
///
/// ```
/// assert_eq!(tailback_os::quote::word("--busy=0,10"), "--busy=0,10");
/// assert_eq!(tailback_os::quote::word("a; rm -rf /"), "'a; rm -rf /'");
/// ```
pub fn word(text: &str) -> String {
    let text = terminal::line(text);
    // `shlex` would quote some of these too. They mean something only at the start of a word or
    // between braces, and nearly every value contains a comma or an equals sign.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:/+=@%".contains(c);
    if !text.is_empty() && !text.starts_with('=') && text.chars().all(plain) {
        return text;
    }
    // It fails only at a zero byte, and no zero byte is left.
    shlex::try_quote(&text).map(String::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_quoted_where_they_have_to_be() {
        assert_eq!(word("250ms"), "250ms");
        assert_eq!(word("--busy=0,10"), "--busy=0,10");
        assert_eq!(word("+sfwi 10"), "'+sfwi 10'");
        assert_eq!(word("a; rm -rf /"), "'a; rm -rf /'");
        assert_eq!(word(""), "''");
        assert_eq!(word("a\nb\u{1b}"), "'a b '");
        for special in ["{a,b}", "!!", "=ls", "~", "a^b", "$(x)", "`x`", "ö"] {
            assert_ne!(word(special), special);
        }
    }

    proptest! {
        #[test]
        fn a_shell_takes_words_back_whole(text in ".{0,60}") {
            prop_assert_eq!(shlex::split(&word(&text)), Some(vec![terminal::line(&text)]));
        }
    }
}
