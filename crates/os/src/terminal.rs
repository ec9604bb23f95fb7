//! Makes foreign text safe for a terminal. Records, files, guests and other programs may contain
//! anything.

/// Whether a character steers a terminal, ends a line, or invisibly changes how the characters
/// around it are shown.
///
/// These are the control characters C0 and C1, marks of text direction, separators of lines and
/// paragraphs, and characters without width.
pub fn steers(c: char) -> bool {
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
pub fn line(text: &str) -> String {
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// The text with its line feeds and tabs; every other character that steers becomes a space.
pub fn lines(text: &str) -> String {
    text.chars().map(|c| if steers(c) && !is_layout(c) { ' ' } else { c }).collect()
}

/// The same JSON with an escape for each character that steers, except line feeds and tabs. They
/// occur only inside strings: a reader decodes them, and a terminal does not see them.
pub fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match steers(c) && !is_layout(c) {
            // All of these characters are below U+10000, so one escape is enough.
            true => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => safe.push(c),
        }
    }
    safe
}

fn is_layout(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_becomes_a_space() {
        assert_eq!(line("a\u{1b}[2Jb\r\n\u{7f}"), "a [2Jb   ");
        assert_eq!(line("\u{9b}31m"), " 31m");
        assert_eq!(line("x\u{202e}y\u{2066}z\u{2029}\u{61c}"), "x y z  ");
        assert_eq!(line("größer → 雪 'a'"), "größer → 雪 'a'");
        assert_eq!(lines("a\n\tb\r\u{1b}c\u{2028}"), "a\n\tb  c ");
    }

    #[test]
    fn json_keeps_what_it_says() {
        assert_eq!(json("{\n \"a\": \"\u{9b}\u{202e}ö\"\n}"), "{\n \"a\": \"\\u009b\\u202eö\"\n}");
    }

    /// Any characters; steering ones are far more frequent than by chance.
    fn hostile() -> impl Strategy<Value = String> {
        let steering = prop_oneof![
            any::<char>(),
            proptest::char::range('\0', '\u{a0}'),
            proptest::char::range('\u{2000}', '\u{2070}'),
            Just('\u{61c}'),
            Just('\u{feff}'),
        ];
        proptest::collection::vec(steering, 0..200).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn nothing_is_left_that_steers(text in hostile()) {
            // The characters are listed again here, so that the test finds a gap in `steers`.
            let forbidden = |c: char| {
                let code = u32::from(c);
                code < 0x20
                    || (0x7f..0xa0).contains(&code)
                    || [0x61c, 0x200e, 0x200f, 0x2028, 0x2029].contains(&code)
                    || (0x202a..=0x202e).contains(&code)
                    || (0x2066..=0x2069).contains(&code)
            };
            prop_assert!(!line(&text).chars().any(forbidden));
            prop_assert!(!lines(&text).chars().any(|c| forbidden(c) && c != '\n' && c != '\t'));
            prop_assert!(!json(&text).chars().any(|c| forbidden(c) && c != '\n' && c != '\t'));
            prop_assert_eq!(line(&text).chars().count(), text.chars().count());
            prop_assert_eq!(line(&line(&text)), line(&text));
        }

        #[test]
        fn ordinary_text_stays(text in "[a-zäöü0-9 .,:;_/'\"()-]{0,80}") {
            prop_assert_eq!(line(&text), text.clone());
            prop_assert_eq!(json(&text), text);
        }
    }
}
