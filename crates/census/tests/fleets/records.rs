//! Which records are believed, and what they count as.

use super::*;

/// A brief whose counts contradict its verdict or each other is untrustworthy.
#[test]
fn a_brief_that_was_changed_by_hand_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let quiet = World { hostile: 0.0, duplicates: 0.0, liars: 0.0, ..World::of(200, 3, true) };
    let text = String::from_utf8(lines(quiet).0).unwrap();
    let with = |state: &str| {
        text.lines().find(|line| line.contains(&format!("\"state\":\"{state}\""))).unwrap()
    };
    let (sick, well) = (with("affected"), with("not-affected"));
    let edited = |line: &str, edit: &dyn Fn(&mut serde_json::Value)| {
        let mut brief = serde_json::from_str(line).unwrap();
        edit(&mut brief);
        brief.to_string()
    };
    let set = |line: &str, path: &str, value: serde_json::Value| {
        edited(line, &|brief| *brief.pointer_mut(path).unwrap() = value.clone())
    };
    let changed = [
        // Fewer blocks than were won, more blocks than there are, a control that does not exist,
        // and a test that everything passes.
        set(sick, "/tests/0/blocks", 2.into()),
        set(well, "/tests/0/cases/0/alike", u32::MAX.into()),
        set(sick, "/tests/0/cases/0/plain/control", u32::MAX.into()),
        set(well, "/tests/0/cases/0/control", 7.into()),
        set(sick, "/tests/0/error_rate", 1.into()),
        // Another verdict, other counts, and no counts.
        set(sick, "/verdict/state", "not-affected".into()),
        set(well, "/verdict/state", "affected".into()),
        set(well, "/tests/0/tells", false.into()),
        set(sick, "/tests", serde_json::json!([])),
        edited(sick, &|brief| brief["review"] = "affected".into()),
    ];
    for (place, line) in changed.iter().enumerate() {
        let census = of(folder.path(), format!("{line}\n").as_bytes());
        let hosts = scenario(&census).hosts;
        assert_eq!((hosts.untrustworthy, hosts.affected + hosts.clear), (1, 0), "{place}: {line}");
        assert_eq!(count(&census, &[Why::Contradictory]), 1, "{place}");
        let first = &census.set_aside[0].examples[0];
        assert!(first.place.file.ends_with("fleet.jsonl") && first.place.line == Some(1));
    }
    // A record with an invalid number of blocks is not a record.
    for (old, new) in [
        ("\"blocks\":", "\"blocks\":-"),
        ("\"margin\":1.0", "\"margin\":NaN"),
        ("\"margin\":1.0", "\"margin\":1e999"),
        ("\"seed\":", "\"seed\":1,\"seed\":"),
        ("\"alike\":", "\"alike\":99999999999"),
    ] {
        let line = well.replacen(old, new, 2);
        assert_ne!(line, well);
        let census = of(folder.path(), format!("{line}\n").as_bytes());
        assert_eq!((census.hosts, count(&census, &[Why::Damaged])), (0, 1), "{new}");
    }
}

/// An OTP is shown, like the names in an identity.
#[test]
fn an_otp_that_steers_a_terminal_is_damage() {
    let [well, ..] = two_hosts();
    let folder = tempfile::tempdir().unwrap();
    let with_otp = |otp: &str| {
        let mut brief: serde_json::Value = serde_json::from_str(&well).unwrap();
        brief["otp"] = otp.into();
        of(folder.path(), format!("{brief}\n").as_bytes())
    };
    assert_eq!(with_otp("26.2").hosts, 1);
    let census = with_otp("26\u{1b}[2J");
    assert_eq!((census.hosts, count(&census, &[Why::Damaged])), (0, 1));
}

/// A study that was undecided, and that its host has continued, writes a second brief record with
/// the same start and the same seed.
#[test]
fn a_study_that_was_continued_to_its_verdict_has_that_verdict() {
    let quiet = World { hostile: 0.0, duplicates: 0.0, liars: 0.0, ..World::of(1000, 3, true) };
    let text = String::from_utf8(lines(quiet).0).unwrap();
    let of = |state: &str| {
        let is = format!("\"state\":\"{state}\"");
        let line = text.lines().find(|line| line.contains(&is)).unwrap();
        let mut brief: serde_json::Value = serde_json::from_str(line).unwrap();
        brief["host"] = serde_json::json!({ "name": "a" });
        brief["started"] = "2026-11-01T00:00:00Z".into();
        brief["plan"]["seed"] = 7.into();
        brief
    };
    let open = of("inconclusive");
    let settled = of("affected");
    let blocks = |brief: &serde_json::Value| brief["plan"]["blocks"].as_u64().unwrap();
    assert!(blocks(&open) < blocks(&settled));
    let names = ["a-20261101T000200Z-7.jsonl", "a-20261101T003000Z-9.jsonl"];
    // The names decide which of them is read first.
    for briefs in [[&open, &settled], [&settled, &open]] {
        let folder = tempfile::tempdir().unwrap();
        for (name, brief) in names.iter().zip(briefs) {
            std::fs::write(folder.path().join(name), format!("{brief}\n")).unwrap();
        }
        let census = taken(&fleet(&[folder.path().to_owned()], 1), None, None);
        let hosts = scenario(&census).hosts;
        assert_eq!((hosts.affected, census.hosts), (1, 1), "{:?}", census.set_aside);
        assert_eq!(count(&census, &[Why::Superseded]), 1, "{:?}", census.set_aside);
        assert_eq!(census.set_aside.len(), 1, "{:?}", census.set_aside);
    }
}

/// A record of that study, with the conclusion that its host claims.
fn record(hung: bool, claimed: State) -> Judged {
    let mut only = trial(0, "control", 1.0);
    only.observation.hang = hung;
    let facts = facts(SCENARIO, plan(&[("control", Role::Control)]), vec![only]);
    Judged { facts, judgement: Judgement::new(claimed, Headline::NotMeasured) }
}

#[test]
fn a_record_counts_by_its_facts_whatever_its_host_concluded() {
    let folder = tempfile::tempdir().unwrap();
    for (hung, claimed) in [(false, State::Affected), (true, State::NotAffected)] {
        let text = record(hung, claimed).to_json();
        let absent = text.replacen("\"judgement\"", "\"claimed\"", 1);
        assert_ne!(absent, text);
        for text in [text, absent] {
            let census = of(folder.path(), text.as_bytes());
            let hosts = scenario(&census).hosts;
            assert_eq!((hosts.affected, hosts.clear), (u64::from(hung), u64::from(!hung)));
            assert_eq!(census.set_aside, []);
        }
    }
}

/// The OTP of a full record is a property of its kind, as that of a brief record is.
#[test]
fn a_record_counts_with_the_otp_of_its_trials() {
    let folder = tempfile::tempdir().unwrap();
    let with_otp = |otp: &str| {
        let mut full = record(false, State::NotAffected);
        let vm = Vm { otp: otp.to_owned(), ..Vm::default() };
        full.facts.trials[0].observation.vm = Some(vm);
        let path = folder.path().join("web1.json");
        std::fs::write(&path, full.to_json()).unwrap();
        fleet(&[path], 1)
    };
    let known = with_otp("26");
    let verdicts = Verdicts::of(&known);
    let otps: Vec<Option<String>> =
        verdicts.iter().map(|one| one.kind.and_then(|kind| kind.otp.clone())).collect();
    assert_eq!(otps, [Some("26".to_owned())]);
    let census = taken(&with_otp("26\u{1b}[2J"), None, None);
    assert_eq!((census.hosts, count(&census, &[Why::Damaged])), (0, 1));
}

#[test]
fn a_record_without_facts_that_hold_together_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let text = record(true, State::Affected).to_json();
    let foreign = text.replacen("\"arm\": \"control\"", "\"arm\": \"other\"", 1);
    assert_ne!(foreign, text);
    let newer = text.replacen("tailback/record/3", "tailback/record/4", 1);
    for (text, why) in [(foreign, Why::Damaged), (newer, Why::Newer)] {
        let census = of(folder.path(), text.as_bytes());
        assert_eq!((census.hosts, count(&census, &[why])), (0, 1), "{text}");
    }
    let mut large = record(true, State::Affected);
    let figure = large.facts.plan.judging.clone();
    large.facts.plan.also = vec![figure; 5000];
    large.facts.trials = vec![trial(0, "control", 1.0); 4000];
    let census = of(folder.path(), large.to_json().as_bytes());
    assert_eq!((census.hosts, count(&census, &[Why::TooLarge])), (0, 1));
    let mut long = record(true, State::Affected);
    let measures = &mut long.facts.trials[0].observation.measures;
    let figure = measures["lost"];
    measures.insert("x".repeat(5000), figure);
    let census = of(folder.path(), long.to_json().as_bytes());
    assert_eq!((census.hosts, count(&census, &[Why::TooLarge])), (0, 1));
    let cut = of(folder.path(), &text.as_bytes()[..text.len() / 2]);
    assert_eq!((cut.hosts, count(&cut, &[Why::Truncated])), (0, 1));
}
