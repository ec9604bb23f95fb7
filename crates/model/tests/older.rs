//! Records of older schemas, read as current facts. The golden files hold the expected results.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};
use std::path::Path;
use tailback_model::not_seen::{EvidenceSource, NoPrograms, NotSeen, ProgramPart, Sees};
use tailback_model::record::RecordError;
use tailback_model::{Cause, Ended, Facts, Need, Note, Problem, WhyLeftOut};

const V1: &str = include_str!("v1.record.json");
const V2: &str = include_str!("v2.record.json");

/// Compares the conversion of an older record with its golden file.
fn assert_becomes(old: &str, golden: &str) {
    let facts = Facts::from_json(old).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(golden);
    let text = format!("{}\n", serde_json::to_string_pretty(&facts).unwrap());
    if std::env::var_os("TAILBACK_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == text, "{golden}: run `make golden`");
    assert_eq!(Facts::from_json(&text).unwrap(), facts, "{golden}");
}

#[test]
fn older_records_become_these_facts() {
    assert_becomes(V1, "v1.facts.json");
    assert_becomes(V2, "v2.facts.json");
}

#[test]
fn a_live_record_becomes_one_of_stalls_and_their_facts() {
    let old = include_str!("live.v2.record.json");
    let live = serde_json::to_value(Facts::from_json(old).unwrap().live.unwrap()).unwrap();
    assert_eq!(live, serde_json::from_str::<Value>(include_str!("live.json")).unwrap());
}

#[test]
fn sentences_are_kept_as_words_of_an_older_record() {
    let facts = Facts::from_json(V1).unwrap();
    let notes = &facts.trials[1].observation.notes;
    assert!(matches!(notes.as_slice(), [Note::Said(text)] if text.starts_with("The mapper")));
    let mut record: Value = serde_json::from_str(V2).unwrap();
    record["trials"][0]["observation"]["evidence"] = json!({
        "sources": ["eBPF on tracepoints", { "probe": "futex" }, "thread-files"],
        "missing": [
            "kernel stacks: not in this kernel",
            "tables",
            { "trial-broke": { "why": "killed" } },
            { "no-programs": { "refused": { "what": "the programs", "why": "EPERM" } } },
        ],
        "lost_events": 0, "waits_seen": 0, "waits_ns": 0,
    });
    record["plan"]["left_out"] = json!([
        { "id": "a", "why": "no such flag" },
        { "id": "b", "why": { "refused": { "why": "x" } } },
    ]);
    let facts = Facts::from_json(&record.to_string()).unwrap();
    let evidence = facts.trials[0].observation.evidence.as_ref().unwrap();
    let words = |text: &str| text.to_owned();
    assert_eq!(
        evidence.sources,
        [
            EvidenceSource::Said(words("eBPF on tracepoints")),
            EvidenceSource::Probe(Sees::Futex),
            EvidenceSource::ThreadFiles,
        ]
    );
    let part = ProgramPart::Said(words("the programs"));
    assert_eq!(
        evidence.missing,
        [
            NotSeen::Said(words("kernel stacks: not in this kernel")),
            NotSeen::Tables,
            NotSeen::TrialBroke { why: Problem::Said(words("killed")) },
            NotSeen::NoPrograms(NoPrograms::Refused { what: part, why: words("EPERM") }),
        ]
    );
    let why: Vec<&WhyLeftOut> = facts.plan.left_out.iter().map(|one| &one.why).collect();
    let refused = WhyLeftOut::Refused { why: Problem::Said(words("x")) };
    assert_eq!(why, [&WhyLeftOut::Said(words("no such flag")), &refused]);
}

/// How a study of schema 2 ended, given its progress and its first reason.
fn ended(progress: &str, state: &str, reason: &Value) -> Result<Ended, RecordError> {
    let mut record: Value = serde_json::from_str(V2).unwrap();
    record["progress"] = json!(progress);
    record["verdict"] = json!({ "state": state, "reasons": [reason] });
    Facts::from_json(&record.to_string()).map(|facts| facts.ended)
}

#[test]
fn the_cause_of_an_end_is_taken_out_of_the_verdict() {
    let broken = |reason: Value| ended("broken", "untrustworthy", &reason).unwrap();
    let boxed = |cause| Ended::Broken(Box::new(cause));
    let words = |text: &str| Problem::Said(text.to_owned());
    let unread = boxed(Cause::Broke(Problem::CpusUnread));
    assert_eq!(broken(json!({ "broke": { "error": "cpus-unread" } })), unread);
    let killed = boxed(Cause::Broke(words("the mapper was killed")));
    assert_eq!(broken(json!({ "broke": { "error": "the mapper was killed" } })), killed);
    assert_eq!(broken(json!("the mapper was killed")), killed);
    let large = boxed(Cause::Unusable(words("--size: too large")));
    assert_eq!(broken(json!({ "unusable": { "why": "--size: too large" } })), large);
    let not_run = |cause| Ended::NotRun(Box::new(cause));
    let skipped = |reason: Value| ended("not-run", "skipped", &reason).unwrap();
    assert_eq!(
        skipped(json!({ "missing": { "what": "erl" } })),
        not_run(Cause::Missing(Need::Erl))
    );
    assert_eq!(skipped(json!("interrupted")), not_run(Cause::Interrupted));
    let no_erl = Cause::Missing(Need::Said("no erl".to_owned()));
    assert_eq!(skipped(json!("no erl")), not_run(no_erl));
    assert_eq!(ended("interrupted", "inconclusive", &json!(null)).unwrap(), Ended::Interrupted);
    assert!(ended("gone", "affected", &json!(null)).is_err());
}

#[test]
fn an_error_names_no_position_in_the_converted_text() {
    let mut record: Value = serde_json::from_str(V2).unwrap();
    record["started"] = json!(7);
    let error = Facts::from_json(&record.to_string()).unwrap_err().to_string();
    assert!(error.contains("expected a string") && !error.contains(" at line "), "{error}");
}

#[test]
fn newer_and_older_numbers_are_refused() {
    let of = |number: &str| {
        let schema = format!("\"schema\":\"tailback/record/{number}\"");
        Facts::from_json(&V2.replacen("\"schema\":\"tailback/record/2\"", &schema, 1))
    };
    assert!(of("1").is_ok());
    assert!(matches!(of("4"), Err(RecordError::Newer(_))));
    assert!(matches!(of("0"), Err(RecordError::Foreign)));
}

#[test]
fn a_large_older_record_is_refused_before_it_is_taken_apart() {
    let large = format!("{V2}{}", " ".repeat(8 << 20));
    let error = Facts::from_json(&large).unwrap_err().to_string();
    assert!(error.contains("use the tailback that wrote it"), "{error}");
}
