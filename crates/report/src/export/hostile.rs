//! Every output format, with names that try to control the program that shows them.

use crate::export::Format;
use crate::export::census::CensusFormat;
use crate::{Look, Shown, html, testing};
use model::{Census, Judged};
use serde_json::{Map, Value};

/// Appended to each name: an escape sequence, line ends, C1 characters, direction marks, and 4
/// KiB.
const HOSTILE: &str = "\u{1b}[31m\n\r\u{9b}2J\u{202e}\u{2066}\u{200b}\u{2028}\u{61c}";

/// A census that uses every field.
const CENSUS: &str = r#"{"schema":"tailback/census/1","version":"0.1.0",
    "taken":"2026-11-22T16:47:14Z","hosts":12,"kinds":7,
    "read":{"files":1,"records":0,"briefs":12,"first":"2026-11-01","last":"2026-11-03",
        "versions":{"0.1.0":12}},
    "unreachable":{"count":1,"names":[{"before":"gone"}]},
    "not_in_inventory":{"count":1,"names":[{"before":"new"}]},
    "set_aside":[
        {"why":"other-host","count":3,"examples":[{"file":"a.jsonl","line":3,"claims":"b"}]},
        {"why":"two-files","count":1,"examples":
            [{"file":"a.jsonl","line":3,"claims":"c","other":{"file":"c.jsonl"}}]},
        {"why":"damaged","count":1,"examples":[{"file":"c.jsonl"}]}],
    "scenarios":[{"scenario":"mmap-lock","hosts":{"affected":1,"clear":11,"inconclusive":0,
        "untrustworthy":0,"skipped":0,"not_measured":0,"unreachable":1},
        "apart":{"conditions":{"all":[{"factor":"hz","side":"is","level":"250","p_value":0.01,
                "same":[{"factor":"kernel","side":"is","level":"6.1"}]}],
            "inside":{"affected":1,"of":1,"kinds":1,"effective":1,"confidence":0.95},
            "outside":{"affected":0,"of":11,"kinds":6,"effective":5,"confidence":0.95}}},
        "worst":[{"host":"web","shift":{"value":3,"unit":"ms/s"},"record":{"file":"web.json"}}],
        "odd":{"count":1,"allowed":0.6,"hosts":[{"host":"web","state":"affected","others":30,
            "record":{"file":"web.json"}}]}}],
    "groups":[{"answers":{"mmap-lock":"affected"},
        "hosts":{"count":2,"names":[{"before":"web"},
            {"before":"db","after":"eu","digits":3,"from":1,"to":1}]},
        "records":[{"file":"web.json"}],"alike":{"product":"m5.large"}}],
    "since":{"taken":"2026-11-20T16:47:14Z","new":{"count":1,"names":[{"before":"new"}]},
        "gone":{"count":1,"names":[{"before":"old"}]},
        "scenarios":[{"scenario":"mmap-lock","became_affected":{"count":1,"names":[{"before":"web"}]},
            "became_clear":{"count":0,"names":[]},"other":{"count":0,"names":[]}}]}}"#;

/// The same value with hostile names: the values of these keys, and the keys of these maps.
fn hostile(value: &Value, names: &[&str], maps: &[&str]) -> Value {
    let name = |text: &str| Value::from(format!("{text}{HOSTILE}{}", "x".repeat(4 << 10)));
    let under = |key: &str, value: &Value| match (value, names.contains(&key)) {
        (Value::String(text), true) => name(text),
        (Value::Object(map), _) if maps.contains(&key) => {
            let renamed = |(key, value): (&String, &Value)| {
                let key = name(key).as_str().unwrap_or_default().to_owned();
                (key, hostile(value, names, maps))
            };
            Value::Object(map.iter().map(renamed).collect())
        }
        _ => hostile(value, names, maps),
    };
    match value {
        Value::Object(map) => {
            let all = map.iter().map(|(key, value)| (key.clone(), under(key, value)));
            Value::Object(all.collect::<Map<String, Value>>())
        }
        Value::Array(all) => all.iter().map(|one| hostile(one, names, maps)).collect(),
        other => other.clone(),
    }
}

/// The output has no control characters. No name ends a line: the output has as many lines as
/// with plain names.
fn assert_tame(what: &str, plain: &str, text: &str) {
    let steers = |c: char| os::terminal::steers(c) && c != '\n';
    let found = text.chars().find(|c| steers(*c));
    assert_eq!(found, None, "{what}");
    assert_eq!(text.lines().count(), plain.lines().count(), "{what}");
}

#[test]
fn no_name_of_a_record_steers_what_shows_an_export() {
    let plain = testing::record();
    let names = [
        "scenario",
        "id",
        "arm",
        "control",
        "kernel",
        "arch",
        "cpu_model",
        "product",
        "distribution",
        "version",
        "measure",
        "started",
        "label",
        "preemption",
    ];
    let value: Value = serde_json::from_str(&plain.to_json()).unwrap();
    let mut value = hostile(&value, &names, &["measures", "against_control"]);
    let judgement = serde_json::from_value(value["judgement"].take()).unwrap();
    let hostile = Judged { facts: serde_json::from_value(value).unwrap(), judgement };
    assert!(hostile.judgement.arms.iter().all(|arm| arm.id.contains('\u{1b}')));
    // A reproducer needs a scenario that exists.
    for (name, format) in Format::ALL.into_iter().filter(|(_, one)| *one != Format::Reproducer) {
        let of = |record: &Judged| format.write(&[Shown::new(record, None, "x")]).unwrap();
        assert_tame(name, &of(&plain), &of(&hostile));
    }
    let page = html::page(&[Shown::new(&hostile, None, "x")]).unwrap();
    assert!(!page.chars().any(|c| os::terminal::steers(c) && c != '\n' && c != '\t'));
}

#[test]
fn no_name_of_a_census_steers_what_shows_it() {
    let names = [
        "version", "taken", "first", "last", "before", "after", "file", "claims", "scenario",
        "level", "host",
    ];
    let value: Value = serde_json::from_str(CENSUS).unwrap();
    let plain: Census = serde_json::from_value(value.clone()).unwrap();
    let mut value = hostile(&value, &names, &["versions", "answers"]);
    let alike = value.pointer_mut("/groups/0/alike/product").unwrap();
    *alike = Value::from(format!("m5{HOSTILE}"));
    let hostile: Census = serde_json::from_value(value).unwrap();
    assert!(hostile.groups[0].records[0].file.contains('\u{1b}'));
    for (name, format) in CensusFormat::ALL {
        let of = |census: &Census| format.write(census);
        assert_tame(name, &of(&plain), &of(&hostile));
    }
    for why in [false, true] {
        let text = crate::census(&hostile, Look { why, ..Look::default() });
        assert!(!text.chars().any(|c| os::terminal::steers(c) && c != '\n'), "{text}");
    }
    let page = html::census_page(&hostile);
    assert!(!page.chars().any(|c| os::terminal::steers(c) && c != '\n' && c != '\t'));
    // Plain names are shown: which file claims to be of which host.
    let text = crate::census(&plain, Look { why: true, ..Look::default() });
    assert!(text.contains("a.jsonl:3 names b, .."), "{text}");
    assert!(text.contains("the second file counts: c in a.jsonl:3 and c.jsonl"), "{text}");
    assert!(text.contains("3 that name another host than their file"), "{text}");
    let page = html::census_page(&plain);
    assert!(page.contains("a.jsonl:3 names b"));
}
