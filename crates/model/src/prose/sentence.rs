//! Turns text into a sentence.

/// The text with a full stop, unless it already ends a sentence.
pub fn ended(text: &str) -> String {
    let text = text.trim();
    match text.chars().last() {
        None => String::new(),
        Some('.' | '?' | '!') => text.to_owned(),
        Some(_) => format!("{text}."),
    }
}

/// Text from elsewhere as a sentence: it starts with a capital, unless the first word is a name.
pub fn sentence(text: &str) -> String {
    let text = ended(text);
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_name = first.contains(|c: char| !c.is_ascii_lowercase());
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if !is_name => c.to_uppercase().chain(chars).collect(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_sentences_and_names_keep_their_letters() {
        assert_eq!(sentence("the control stalled"), "The control stalled.");
        assert_eq!(sentence("busy-10 hung."), "busy-10 hung.");
        assert_eq!(sentence(" "), "");
    }
}
