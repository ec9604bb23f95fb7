//! Records of version 1, whose verdict is in sentences, beside those of version 2.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use tailback_model::not_seen::NotSeen;
use tailback_model::record::{RecordError, SCHEMA};
use tailback_model::{
    Amount, Caveat, Fact, FactValue, FixOutcome, Headline, Need, Note, Problem, Reason, Record,
    State, Suggestion, Unit, Verdict, What,
};

const V1: &str = include_str!("v1.record.json");

fn said(reason: &Reason) -> &str {
    match reason {
        Reason::Said(sentence) => sentence,
        data => panic!("{data:?}"),
    }
}

#[test]
fn sentences_of_version_1_are_kept_as_sentences() {
    let record = Record::from_json(V1).unwrap();
    let verdict = &record.verdict;
    assert_eq!((record.schema.as_str(), verdict.state), ("tailback/record/1", State::Affected));
    assert!(matches!(&verdict.headline, Headline::Said(text) if text.starts_with("Readers of")));
    assert_eq!(verdict.reasons.len(), 4);
    assert!(said(&verdict.reasons[0]).starts_with("Of 6 blocks"));
    assert!(verdict.caveats.is_empty());
    assert_eq!(verdict.suggestions.len(), 3);
    for suggestion in &verdict.suggestions {
        // A command that stands in a sentence is not one that may be offered.
        assert!(matches!(&suggestion.what, What::Said(text) if text.contains(": tailback run")));
        assert_eq!((&suggestion.run, suggestion.measured), (&None, None));
    }
    assert_eq!(verdict.fixes[0].outcome, FixOutcome::Fixed);
    let notes = &record.trials[1].observation.notes;
    assert!(matches!(notes.as_slice(), [Note::Said(text)] if text.starts_with("The mapper")));
}

#[test]
fn a_record_of_version_1_is_written_as_one_of_version_2() {
    let old = Record::from_json(V1).unwrap();
    let text = old.to_json();
    assert!(!text.contains("\"because\"") && !text.contains("\"next\""));
    let new = Record::from_json(&text).unwrap();
    assert_eq!(new, Record { schema: SCHEMA.to_owned(), ..old });
}

#[test]
fn newer_and_older_numbers_are_refused() {
    let of = |number: &str| {
        let schema = format!("\"schema\": \"tailback/record/{number}\"");
        Record::from_json(&V1.replacen("\"schema\": \"tailback/record/1\"", &schema, 1))
    };
    assert!(of("2").is_ok());
    assert!(matches!(of("3"), Err(RecordError::Newer(_))));
    assert!(matches!(of("0"), Err(RecordError::Foreign)));
}

fn verdict() -> Verdict {
    let ms = |value: f64| Amount::exact(value, Unit::Milliseconds);
    let fact = Fact::new("stalls")
        .with("readers", 10u64)
        .with("file", "smaps")
        .with("longest", ms(700.0))
        .with("twin", false)
        .with_some("worst", None::<u64>);
    let why = Some(Box::new(Reason::NoCase));
    Verdict {
        reasons: vec![
            Reason::NoControl,
            Reason::NotSettledIn { measure: "late".to_owned(), why },
            Reason::WouldHaveBeen {
                blocks: 3,
                state: State::Affected,
                headline: Box::new(Headline::Scenario(fact.clone())),
            },
            Reason::Said("no-control-at-all".to_owned()),
        ],
        caveats: vec![
            Caveat::Emulated,
            Caveat::HangCutOff { after: ms(500.0), parameter: Some("hang-after".to_owned()) },
            Caveat::Scenario(fact.clone()),
        ],
        suggestions: vec![
            What::Fix("priority".to_owned()).into(),
            What::RunAgain.into(),
            What::Said("do this".to_owned()).into(),
        ],
        ..Verdict::of(State::Affected, Headline::Scenario(fact))
    }
}

#[test]
fn a_typed_verdict_survives_writing_and_reading() {
    let text = serde_json::to_string(&verdict()).unwrap();
    assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["reasons"][0], "no-control");
    assert_eq!(json["headline"]["scenario"]["values"]["file"]["name"], "smaps");
    assert_eq!(json["suggestions"][1]["what"], "run-again");
    assert_eq!(json["suggestions"][2]["what"], "do this");
}

#[test]
fn sentences_of_older_records_of_version_2_are_kept() {
    let reasons = r#"[{"broke":{"error":"the mapper was killed"}},
        {"missing":{"what":"no erl on the PATH"}},{"unusable":{"why":"--size: too large"}}]"#;
    let read: Vec<Reason> = serde_json::from_str(reasons).unwrap();
    let problem = |text: &str| Box::new(Problem::Said(text.to_owned()));
    let what = Box::new(Need::Said("no erl on the PATH".to_owned()));
    assert_eq!(
        read,
        [
            Reason::Broke { error: problem("the mapper was killed") },
            Reason::Missing { what },
            Reason::Unusable { why: problem("--size: too large") },
        ]
    );
    let grant: What = serde_json::from_str(r#"{"grant":"run as root"}"#).unwrap();
    assert_eq!(grant, What::Grant(Box::new(Need::Said("run as root".to_owned()))));
    let broke: NotSeen = serde_json::from_str(r#"{"trial-broke":{"why":"killed"}}"#).unwrap();
    assert_eq!(broke, NotSeen::TrialBroke { why: Problem::Said("killed".to_owned()) });
}

#[test]
fn what_is_neither_data_nor_a_sentence_is_refused() {
    for reason in ["{\"no-such-reason\":{}}", "{\"broke\":{}}", "3", "[]", "null", "{}"] {
        assert!(serde_json::from_str::<Reason>(reason).is_err(), "{reason}");
    }
    for suggestion in ["{}", "3", "{\"what\":{\"fix\":3}}"] {
        assert!(serde_json::from_str::<Suggestion>(suggestion).is_err(), "{suggestion}");
    }
}

#[test]
fn a_list_without_end_is_refused_while_it_is_read() {
    let endless = format!("[{}\"\"]", "\"\",".repeat(20_000));
    let text = serde_json::to_string(&verdict()).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["reasons"] = serde_json::from_str(&endless).unwrap();
    let error = serde_json::from_str::<Verdict>(&json.to_string()).unwrap_err();
    assert!(error.to_string().contains("more than 10000"), "{error}");
}

#[test]
fn values_keep_their_kind() {
    let value =
        FactValue::from(Amount { interval: Some((0.8, 1.2)), ..Amount::exact(1.0, Unit::Ratio) });
    let text = serde_json::to_string(&value).unwrap();
    assert_eq!(text, r#"{"amount":{"value":1.0,"unit":"ratio","interval":[0.8,1.2]}}"#);
    assert_eq!(serde_json::from_str::<FactValue>(&text).unwrap(), value);
}
