//! Output of other programs, cleaned for one line.

/// Most characters of a line that are kept.
const MOST: usize = 200;

/// One line without terminal control characters, with at most 200 characters.
pub(crate) fn clean_line(line: &str) -> String {
    os::terminal::line(line)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(MOST)
        .collect()
}

/// The first line that contains a letter or a digit, cleaned.
pub(crate) fn first_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().map(clean_line).find(|line| line.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_line_that_says_something_is_taken() {
        let output = b"\r\n--- \n\x1b[31mbad\tscheduler \x07 threshold: very_low\nUsage: beam\n";
        assert_eq!(first_line(output).unwrap(), "[31mbad scheduler threshold: very_low");
        assert_eq!(first_line(b"\n \n--\n"), None);
        assert_eq!(first_line("\u{202e}abc\u{200b}".as_bytes()).unwrap(), "abc");
    }

    proptest! {
        #[test]
        fn a_cleaned_line_is_short_and_steers_no_terminal(line in ".{0,600}") {
            let cleaned = clean_line(&line);
            prop_assert!(cleaned.chars().count() <= MOST);
            prop_assert!(!cleaned.chars().any(os::terminal::steers));
        }
    }
}
