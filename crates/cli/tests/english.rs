//! Collects all English of the shipped code in one file, except the sentences about facts: error
//! texts, notes, headings, generated programs. Read `golden/english.txt` aloud. The sentences
//! about facts are in `golden/sentences.txt`, the help is in `golden/*.help.txt`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/sources.rs"]
mod sources;

use proc_macro2::{TokenStream, TokenTree};
use snapbox::{assert_data_eq, file};
use std::path::{Path, PathBuf};

/// Crates that no package ships.
const NOT_SHIPPED: &[&str] = &["fuzz", "testing", "torture", "truth"];

/// Attributes of code that no shipped binary has.
const FOR_TESTS: &[&str] =
    &["cfg(test)", "cfg(any(test,feature=\"testing\"))", "cfg(feature=\"fuzz\")"];

/// Files of tests beside the code.
const TEST_FILES: &[&str] = &["tests.rs", "testing.rs", "controller_tests.rs", "live_samples.rs"];

/// A literal with fewer words than this is a key, a unit or a name.
const LEAST_WORDS: usize = 3;

#[test]
fn all_other_english_stands_in_one_file() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut text = String::new();
    for file in shipped(&crates) {
        let literals = english(std::fs::read_to_string(&file).unwrap().parse().unwrap());
        if !literals.is_empty() {
            let name = file.strip_prefix(&crates).unwrap().display();
            text.push_str(&format!("{name}\n"));
            text.extend(literals.iter().map(|literal| format!("    {literal}\n")));
        }
    }
    assert_data_eq!(text, file!["golden/english.txt"].raw());
}

#[test]
fn tests_comments_and_short_words_are_left_out() {
    let code = r#"
        //! A comment on the file with many words.
        /// A comment with many words.
        #[error("the file cannot be read")]
        struct Broken;
        const KEY: &str = "two words";
        #[cfg(test)]
        mod tests { const A: &str = "words of a test"; }
        #[cfg(test)]
        const B: &str = "words of a test";
        #[cfg(any(test, feature = "testing"))]
        fn sample() -> &'static str { "words of a sample" }
        fn say() { println!("a note\nthat is two lines, of {name}") }
    "#;
    let found = ["the file cannot be read", "a note\\nthat is two lines, of {name}"];
    assert_eq!(english(code.parse().unwrap()), found);
}

/// The source files of the shipped code, sorted by name.
fn shipped(crates: &Path) -> Vec<PathBuf> {
    let is_shipped =
        |folder: &PathBuf| !NOT_SHIPPED.iter().any(|name| folder.ends_with(Path::new(name)));
    let folders = std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = folders
        .filter(is_shipped)
        .flat_map(|folder| sources::below(&folder.join("src")))
        .filter(|file| {
            let mut parts = file.strip_prefix(crates).unwrap().iter();
            !parts.any(|part| part == "tests" || part == "testing")
        })
        .filter(|file| !TEST_FILES.iter().any(|name| file.ends_with(name)))
        .collect();
    files.sort();
    files
}

/// The English literals of a file, in order, without those of tests.
fn english(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    let mut is_test = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                // An attribute of the whole file.
                tokens.next_if(
                    |next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == '!'),
                );
                if let Some(TokenTree::Group(attribute)) = tokens.peek() {
                    match attribute.stream().to_string().replace(' ', "").as_str() {
                        attribute if FOR_TESTS.contains(&attribute) => is_test = true,
                        attribute if attribute.starts_with("doc=") => {
                            tokens.next();
                        }
                        _ => {}
                    }
                }
            }
            // The item after a test's attribute ends with its body or its semicolon.
            TokenTree::Punct(mark) if mark.as_char() == ';' => is_test = false,
            TokenTree::Group(group) if is_test => {
                is_test = group.delimiter() != proc_macro2::Delimiter::Brace;
            }
            TokenTree::Group(group) => found.extend(english(group.stream())),
            TokenTree::Literal(literal) if !is_test => found.extend(words(&literal.to_string())),
            _ => {}
        }
    }
    found
}

/// The text in the quotes of a literal, on one line, if it is English.
fn words(literal: &str) -> Option<String> {
    let text = literal.trim_start_matches(['r', '#']).trim_end_matches('#');
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    // Rust drops the space between a backslash at the end of a line and the next word.
    let joined: Vec<&str> = text
        .split("\\\n")
        .enumerate()
        .map(|(n, part)| if n == 0 { part } else { part.trim_start() })
        .collect();
    let text = joined.concat().replace('\n', "\\n");
    let is_word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase());
    let count = text.split([' ', ',', ';', ':', '.', '(', ')']).filter(is_word).count();
    (count >= LEAST_WORDS).then_some(text)
}
