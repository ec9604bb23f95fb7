//! Files with the records of many hosts, from their bytes to all output about them.

use census::{Given, Options, summary};
use model::Census;
use report::export::census::CensusFormat;
use report::{Look, html};

/// 2026-12-01.
const NOW: i64 = 1_796_083_200;

/// The bytes of a file for `tailback census`, as a named file and as a file in a folder. Also the
/// bytes of an earlier census.
pub(crate) fn census(bytes: &[u8]) {
    let options = Options {
        scenarios: &["mmap-lock", "cpu-quota"],
        judge: scenarios::judge,
        now: NOW,
        threads: 1,
        trials: None,
        hashing: None,
    };
    let before = std::str::from_utf8(bytes).ok().and_then(|text| summary::previous(text).ok());
    let inventory = [summary::Listed { name: "web1".to_owned(), owner: Some("rack1".to_owned()) }];
    for given in [Given::Named, Given::Found] {
        let fleet = census::read_bytes(bytes, "web1.jsonl", given, options);
        let found = summary::census(&fleet, Some(&inventory), before.as_ref(), "1", "now");
        look_at(&found);
        // A file that was found in a folder holds records of only one host.
        assert!(given == Given::Named || found.hosts <= 1, "a file that speaks for two hosts");
    }
    before.iter().for_each(look_at);
}

fn look_at(census: &Census) {
    for why in [false, true] {
        let text = report::census(census, Look { why, ..Look::default() });
        assert!(!text.contains('\u{1b}'), "a text that steers the terminal");
    }
    for (name, format) in CensusFormat::ALL {
        let steers = |c: char| os::terminal::steers(c) && c != '\n';
        let text = format.write(census);
        assert!(!text.chars().any(steers), "{name} that steers the terminal");
    }
    let page = html::census_page(census);
    assert!(!page.contains("<script"), "a page with a script of a record");
    // Text keys and finite numbers only, which always serialise.
    assert!(serde_json::to_string(census).is_ok());
}
