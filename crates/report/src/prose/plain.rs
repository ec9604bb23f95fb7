//! Text of others as it is shown: a record, a kernel or a guest may hold anything.

/// Whether a character steers a terminal, ends a line, or changes how the characters around it are
/// shown without being seen: the control characters C0 and C1, the marks that turn the direction of
/// what follows, the separators of lines and paragraphs, and characters that take no room.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
        )
}

/// The text as one line: each character that steers becomes a space.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// The text with its line feeds and tabs: each other character that steers becomes a space.
pub fn plain_lines(text: &str) -> String {
    let keep = |c: char| matches!(c, '\n' | '\t') || !steers(c);
    text.chars().map(|c| if keep(c) { c } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_becomes_a_space() {
        assert_eq!(plain("a\u{1b}[2Jb\r\n\u{7f}"), "a [2Jb   ");
        assert_eq!(plain("\u{9b}31m"), " 31m");
        assert_eq!(plain("x\u{202e}y\u{2066}z\u{2029}\u{61c}"), "x y z  ");
        assert_eq!(plain("größer → 雪 'a'"), "größer → 雪 'a'");
        assert_eq!(plain_lines("a\n\tb\r\u{1b}c\u{2028}"), "a\n\tb  c ");
    }

    proptest! {
        #[test]
        fn nothing_is_left_that_steers(text in any::<String>()) {
            prop_assert!(!plain(&text).chars().any(steers));
            prop_assert_eq!(plain(&text).chars().count(), text.chars().count());
        }
    }
}
