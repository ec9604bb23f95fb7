//! The text and the page of a record have the same sentences.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Place;
use common::story::story;
use std::path::PathBuf;

/// The sentences below each heading.
#[derive(Debug, PartialEq, Eq)]
struct Sentences {
    headline: String,
    why: Vec<String>,
    notes: Vec<String>,
    changes: Vec<String>,
}

/// The heading of fixes that were not tried.
const UNTRIED: &str = "Possible fixes, each with the command that tests it";

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The sentences of the text.
fn of_text(text: &str) -> Sentences {
    let headline = text.lines().skip(1).take_while(|line| !line.is_empty());
    let items = |heading: &str| -> Vec<String> {
        let start = text.lines().skip_while(|line| *line != format!("  {heading}:")).skip(1);
        let mut items: Vec<String> = Vec::new();
        for line in start.take_while(|line| line.starts_with("  - ") || line.starts_with("    ")) {
            match line.strip_prefix("  - ") {
                Some(first) => items.push(first.to_owned()),
                None => items.last_mut().unwrap().push_str(&format!(" {}", line.trim())),
            }
        }
        items.iter().map(|item| on_one_line(item)).collect()
    };
    let changes = [UNTRIED, "What to change", "Next"].map(items).concat();
    Sentences {
        headline: on_one_line(&headline.collect::<Vec<&str>>().join(" ")),
        why: items("Why"),
        notes: items("Notes"),
        changes,
    }
}

/// The sentences of the page.
fn of_page(page: &str) -> Sentences {
    let between = |text: &str, start: &str, end: &str| -> Option<String> {
        Some(text.split_once(start)?.1.split_once(end)?.0.to_owned())
    };
    let list = |heading: &str, tag: &str| -> Vec<String> {
        let start = format!("<h3>{heading}</h3><{tag} class=\"advice\">");
        let list = between(page, &start, &format!("</{tag}>")).unwrap_or_default();
        list.split("<li>").skip(1).map(words).collect()
    };
    let changes = [
        list("All that was tried, or may help", "ol"),
        list("What to change", "ol"),
        list(UNTRIED, "ol"),
        list("Next", "ol"),
    ];
    Sentences {
        headline: words(&between(page, "<p class=\"headline\">", "</p>").unwrap()),
        why: list("Why", "ul"),
        notes: list("Notes", "ul"),
        changes: changes.into_iter().find(|list| !list.is_empty()).unwrap_or_default(),
    }
}

/// A piece of a page without its HTML elements.
fn words(html: &str) -> String {
    let html = html.replace("</span> ", ": ").replace("<code", " <code");
    let mut words = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => words.push(c),
            _ => {}
        }
    }
    let plain = words.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    on_one_line(&plain.replace("&amp;", "&"))
}

/// Records of every kind.
fn records(place: &Place) -> Vec<PathBuf> {
    let mut files: Vec<_> = ["mmap-lock", "mmap-lock.quiet", "study", "cpu-quota"]
        .map(|name| place.golden(name))
        .to_vec();
    files.push(place.path("story.json"));
    std::fs::write(&files[4], story().to_json()).unwrap();
    files
}

/// The sentences of a page about which task held up which: the cause, other observations, the
/// sources, and what is missing.
fn evidence_on(page: &str) -> Vec<String> {
    let Some((_, block)) = page.split_once("<h3>Who held up whom</h3>") else { return Vec::new() };
    let (block, after) = block.split_once("<p class=\"note\">").unwrap();
    let (note, _) = after.split_once("</p>").unwrap();
    let cause =
        block.split_once("<p class=\"evidence\">").and_then(|(_, rest)| rest.split_once("</p>"));
    let cause = cause.map(|(cause, _)| words(cause));
    let list =
        block.split_once("<ul class=\"advice\">").and_then(|(_, rest)| rest.split_once("</ul>"));
    let list = list.map(|(list, _)| list).unwrap_or_default();
    let seen = list.split("<li>").skip(1).map(words);
    let note = words(note);
    let marks = ["From ", "Missing: "].map(|mark| note.match_indices(mark));
    let mut starts: Vec<usize> = marks.into_iter().flatten().map(|(at, _)| at).collect();
    starts.sort_unstable();
    let of_note = starts.iter().map(|start| {
        let rest = &note[*start..];
        rest[..rest.find(". ").map_or(rest.len(), |end| end + 1)].to_owned()
    });
    cause.into_iter().chain(seen).chain(of_note).collect()
}

#[test]
fn explanation_and_page_say_the_same() {
    let place = Place::new();
    let mut most = 0;
    // The record with trials with probes.
    let probed = place.golden("example");
    for file in records(&place).into_iter().chain([probed]) {
        let name = file.to_str().unwrap();
        let text = on_one_line(&place.say(&["explain", name]).out);
        let page = evidence_on(&place.say(&["report", name, "-o", "-"]).out);
        for sentence in &page {
            assert!(text.contains(sentence), "{name}: {sentence:?} is not in {text:?}");
        }
        most = most.max(page.len());
    }
    assert!(most >= 4, "{most}");
}

#[test]
fn text_and_page_say_the_same() {
    let place = Place::new();
    for file in records(&place) {
        let name = file.to_str().unwrap();
        let text = of_text(&place.say(&["judge", "--why", name]).out);
        let page = of_page(&place.say(&["report", name, "-o", "-"]).out);
        assert!(!text.why.is_empty() && !text.headline.is_empty(), "{name}: {text:?}");
        assert_eq!(text, page, "{name}");
    }
}
