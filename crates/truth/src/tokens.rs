//! A source as tokens, so that comments and tests do not count. `build.rs` uses it.

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::fmt::Write;
use std::iter::Peekable;

/// The tokens of a source as text, without comments and without code that only tests compile.
/// None if it is not valid Rust.
pub fn without_tests(source: &str) -> Option<String> {
    source.parse().ok().map(|tokens| text(tokens, |_| true))
}

/// A literal with more words than this is prose. Emulator flags have fewer words.
const MOST_WORDS: usize = 8;

/// The same without prose literals.
pub fn without_prose(source: &str) -> Option<String> {
    let is_short = |literal: &str| literal.split_whitespace().count() <= MOST_WORDS;
    source.parse().ok().map(|tokens| text(tokens, is_short))
}

fn text(tokens: TokenStream, counts: fn(&str) -> bool) -> String {
    let mut text = String::new();
    let mut rest = tokens.into_iter().peekable();
    let mut is_test = false;
    while let Some(token) = rest.next() {
        if let Some(attribute) = attribute(&token, &mut rest) {
            is_test |= attribute.replace(' ', "") == "cfg(test)";
            if !is_test && !attribute.starts_with("doc ") {
                let _ = write!(text, "#[{attribute}]");
            }
        } else if is_test {
            is_test = !ends_item(&token);
        } else {
            write_token(token, counts, &mut text);
        }
    }
    text
}

/// The content of an attribute that begins here. Documentation comments are attributes too.
fn attribute(token: &TokenTree, rest: &mut Peekable<IntoIter>) -> Option<String> {
    let is = |token: &TokenTree, wanted| matches!(token, TokenTree::Punct(mark) if mark.as_char() == wanted);
    if !is(token, '#') {
        return None;
    }
    rest.next_if(|next| is(next, '!'));
    match rest.next_if(|next| matches!(next, TokenTree::Group(_)))? {
        TokenTree::Group(group) => Some(group.stream().to_string()),
        _ => None,
    }
}

/// Whether an item ends here, with its block or its semicolon.
fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(mark) => mark.as_char() == ';',
        _ => false,
    }
}

fn write_token(token: TokenTree, counts: fn(&str) -> bool, to: &mut String) {
    let TokenTree::Group(group) = token else {
        let word = token.to_string();
        if !matches!(token, TokenTree::Literal(_)) || counts(&word) {
            let _ = write!(to, "{word} ");
        }
        return;
    };
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    };
    let _ = write!(to, "{open}{}{close}", text(group.stream(), counts));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_formatting_and_tests_do_not_count_and_code_does() {
        let with = |source: &str| without_tests(source).unwrap();
        let plain = with("const A: f64 = 0.05; fn one() { two(1) }");
        let same = "//! What it is.\n\n/// A rate.\nconst A: f64 =\n    0.05; // why\n\
                    fn one() {\n    // first\n    two(1)\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn more() { if x { y(); } }\n}\n\
                    #[cfg(test)]\n/// Said.\npub(crate) mod other;\n";
        assert_eq!(with(same), plain);
        assert_ne!(with("const A: f64 = 0.06; fn one() { two(1) }"), plain);
        assert_ne!(with("const A: f64 = 0.05; #[inline] fn one() { two(1) }"), plain);
        assert_ne!(with("const A: f64 = 0.05; fn one() { two(1) } fn three() {}"), plain);
        assert_eq!(without_tests("fn {"), None);
    }

    #[test]
    fn prose_does_not_count_and_flags_do() {
        let with = |flags: &str, about: &str, margin: f64| {
            let source = format!("M {{ flags: {flags:?}, about: {about:?}, margin: {margin:?} }}");
            without_prose(&source).unwrap()
        };
        let about = "time that it lost in each second of a whole trial";
        let plain = with("+sfwi 10", about, 5.0);
        assert_eq!(with("+sfwi 10", "what each second of a trial cost it, all in all", 5.0), plain);
        assert_ne!(with("+sfwi 20", about, 5.0), plain);
        assert_ne!(with("+sfwi 10", about, 6.0), plain);
    }
}
