//! SECURITY.md names every file with unsafe code.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/sources.rs"]
mod sources;

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

fn is_unsafe(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => is_unsafe(group.stream()),
        TokenTree::Ident(word) => word == "unsafe",
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

#[test]
fn every_file_with_unsafe_code_is_named_with_its_reason() {
    let page = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let (_, section) = page.split_once("## Unsafe code").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let named: BTreeSet<&str> =
        section.split('`').filter(|word| word.starts_with("crates/")).collect();
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let files = crates.flat_map(|folder| sources::below(&folder.unwrap().path().join("src")));
    let found: BTreeSet<String> = files
        .filter(|file| is_unsafe(std::fs::read_to_string(file).unwrap().parse().unwrap()))
        .map(|file| file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(named, found.iter().map(String::as_str).collect());
}
