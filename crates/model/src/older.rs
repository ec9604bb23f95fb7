//! Records of schema 1 and 2, converted to facts of the current schema. This file can be deleted
//! a year after the first release.
//!
//! The verdict in these records is dropped, because it follows from the facts. Sentences where
//! the current schema has data are kept as the words of an older record.

use crate::arm::{Changed, WhyLeftOut};
use crate::evidence::Resource;

use crate::not_seen::{EvidenceSource, NotSeen, ProgramPart};
use crate::problem::{Need, Problem};
use crate::record::{Cause, Ended, Facts, Progress, RecordError, SCHEMA};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The largest older record that is read, in bytes. It is converted as a tree of values, which
/// takes many times as much memory as its text.
const MOST_TEXT: usize = 8 << 20;

/// Reads a record of an older schema.
///
/// # Errors
/// If it is longer than 8 MiB or is inconsistent.
pub(crate) fn read(text: &str) -> Result<Facts, RecordError> {
    if text.len() > MOST_TEXT {
        return Err(RecordError::Inconsistent(format!(
            "of an older schema and larger than {} MiB; use the tailback that wrote it",
            MOST_TEXT >> 20
        )));
    }
    let inconsistent = |error: serde_json::Error| RecordError::Inconsistent(error.to_string());
    let mut record: Map<String, Value> = serde_json::from_str(text).map_err(inconsistent)?;
    record.values_mut().for_each(without_kinds);
    let ended = ended(&record)?;
    record.insert("schema".to_owned(), SCHEMA.into());
    record.insert("ended".to_owned(), serde_json::to_value(ended).map_err(inconsistent)?);
    rename(&mut record, "host", "machine");
    each(record.get_mut("plan").and_then(|plan| plan.get_mut("arms")), |arm| {
        words::<Changed>(arm.get_mut("change"));
    });
    each(record.get_mut("plan").and_then(|plan| plan.get_mut("left_out")), |arm| {
        let Some(why) = arm.get_mut("why") else { return };
        words::<Problem>(why.pointer_mut("/refused/why"));
        words::<WhyLeftOut>(Some(why));
    });
    each(record.get_mut("trials"), trial);
    each(record.get_mut("probed"), |probed| {
        if let Some(one) = probed.get_mut("trial") {
            trial(one);
        }
    });
    if let Some(seen) = record.get_mut("live") {
        live(seen);
    }
    parse(Value::Object(record))
        .map_err(|error| RecordError::Inconsistent(without_position(&error)))
}

/// Reads a converted value from its text. Facts of the current schema are read from text too, so
/// the binary has the code that reads these types only once. That code is large.
fn parse<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    let text = value.to_string();
    drop(value);
    serde_json::from_str(&text)
}

/// The message of an error, without the position: that is one in the converted text, which nobody
/// sees.
fn without_position(error: &serde_json::Error) -> String {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    message.strip_suffix(&position).unwrap_or(&message).to_owned()
}

/// How the study ended. These records hold the cause only in their verdict.
fn ended(record: &Map<String, Value>) -> Result<Ended, RecordError> {
    let damaged = |what: &str| RecordError::Inconsistent(format!("no {what} that can be read"));
    let progress = record.get("progress").cloned().unwrap_or_default();
    let progress: Progress = parse(progress).map_err(|_| damaged("progress"))?;
    let cause = || {
        let verdict = record.get("verdict")?;
        let reason = verdict.get("reasons").or(verdict.get("because"))?.get(0)?;
        Some(Box::new(cause(reason, verdict.get("state") == Some(&json!("skipped")))))
    };
    Ok(match progress {
        Progress::Running => Ended::Running,
        Progress::Complete => Ended::Complete,
        Progress::Interrupted => Ended::Interrupted,
        Progress::Broken => Ended::Broken(cause().ok_or_else(|| damaged("reason"))?),
        Progress::NotRun => Ended::NotRun(cause().ok_or_else(|| damaged("reason"))?),
    })
}

/// The cause in the first reason of a verdict, which is data or a sentence.
fn cause(reason: &Value, skipped: bool) -> Cause {
    if reason == "interrupted" {
        return Cause::Interrupted;
    }
    let need = || Some(Cause::Missing(data(reason.pointer("/missing/what")?, Need::Said)));
    let unusable = || Some(Cause::Unusable(data(reason.pointer("/unusable/why")?, Problem::Said)));
    let broke = || Some(Cause::Broke(data(reason.pointer("/broke/error")?, Problem::Said)));
    need().or_else(unusable).or_else(broke).unwrap_or_else(|| {
        let words = reason.as_str().unwrap_or_default().to_owned();
        if skipped { Cause::Missing(Need::Said(words)) } else { Cause::Broke(Problem::Said(words)) }
    })
}

/// Data, or the words that older records have instead.
fn data<T: DeserializeOwned>(value: &Value, said: fn(String) -> T) -> T {
    parse(value.clone()).unwrap_or_else(|_| said(value.as_str().unwrap_or_default().to_owned()))
}

fn trial(trial: &mut Value) {
    if let Value::Object(fields) = trial {
        rename(fields, "surroundings", "disturbance");
    }
    each(trial.pointer_mut("/observation/notes"), |note| {
        let kind = if note.is_string() { "said" } else { "fact" };
        *note = json!({ kind: note.take() });
    });
    let Some(evidence) = trial.pointer_mut("/observation/evidence") else { return };
    each(evidence.get_mut("sources"), |source| words::<EvidenceSource>(Some(source)));
    each(evidence.get_mut("missing"), |missing| {
        words::<Problem>(missing.pointer_mut("/trial-broke/why"));
        words::<ProgramPart>(missing.pointer_mut("/no-programs/refused/what"));
        words::<NotSeen>(Some(missing));
    });
    each(evidence.get_mut("waits"), |wait| words::<Resource>(wait.get_mut("resource")));
}

/// What `watch` observed.
fn live(live: &mut Value) {
    each(live.get_mut("findings"), |finding| {
        if let Value::Object(finding) = finding {
            name_stall(finding);
            name_threads(finding);
        }
    });
    each(live.get_mut("nodes"), |node| {
        if let Value::Object(node) = node {
            rename(node, "chosen", "set_by_flag");
        }
    });
    each(live.get_mut("inside"), |inside| {
        if let Value::Object(inside) = inside {
            rename(inside, "said", "figures");
        }
    });
}

/// Older findings had the stall and its facts in one value, `kind`.
fn name_stall(finding: &mut Map<String, Value>) {
    let Some(Value::Object(kind)) = finding.remove("kind") else { return };
    let Some((kind, mut facts)) = kind.into_iter().next() else { return };
    let of_runtime = facts.pointer("/cause/runtime").is_some();
    let renamed = facts.as_object_mut().and_then(|facts| match kind.as_str() {
        "spinning" => Some((facts, "held_up", "victim_thread")),
        "more-schedulers" => Some((facts, "chosen", "set_by_flag")),
        _ => None,
    });
    if let Some((facts, old, new)) = renamed {
        rename(facts, old, new);
    }
    let stall = match kind.as_str() {
        "foreign-readers" => "mmap-lock",
        "quota" if of_runtime => "quota-blind",
        "quota" => "cpu-quota",
        "spinning" => "preempted-holder",
        "native-call" => "blocking-nif",
        same => same,
    };
    finding.insert("stall".to_owned(), stall.into());
    finding.insert("facts".to_owned(), facts);
}

/// The older fix `fewer-threads` had no number. It meant one thread for each whole CPU of the
/// quota.
fn name_threads(finding: &mut Map<String, Value>) {
    let of = |key| finding.get("facts")?.get(key)?.as_u64();
    let whole = of("quota_us").unwrap_or(0).checked_div(of("period_us").unwrap_or(0)).unwrap_or(0);
    each(finding.get_mut("fixes"), |fix| {
        if fix == "fewer-threads" {
            *fix = json!({ "fewer-threads": whole.clamp(1, u32::MAX.into()) });
        }
    });
}

/// The kinds in which older records wrap each value of a fact.
const KINDS: [&str; 8] =
    ["estimate", "shift", "amount", "count", "share", "name", "names", "holds"];

/// Removes the kinds around the values of every fact in a tree.
fn without_kinds(tree: &mut Value) {
    match tree {
        Value::Array(all) => all.iter_mut().for_each(without_kinds),
        Value::Object(fields) => {
            fields.values_mut().for_each(without_kinds);
            let is_fact = fields.len() == 2 && fields.contains_key("id");
            let values = fields.get_mut("values").filter(|_| is_fact);
            let values = values.and_then(Value::as_object_mut);
            values.into_iter().flat_map(Map::values_mut).for_each(without_kind);
        }
        _ => {}
    }
}

fn without_kind(value: &mut Value) {
    let Some(one) = value.as_object_mut().filter(|one| one.len() == 1) else { return };
    if let Some(bare) = KINDS.iter().find_map(|kind| one.remove(*kind)) {
        *value = bare;
    }
}

/// Marks a text as words of an older record if it is not the name of a variant.
fn words<T: DeserializeOwned>(value: Option<&mut Value>) {
    let Some(value) = value.filter(|value| value.is_string()) else { return };
    if parse::<T>(value.clone()).is_err() {
        *value = json!({ "said": value.take() });
    }
}

fn each(list: Option<&mut Value>, change: impl FnMut(&mut Value)) {
    list.and_then(Value::as_array_mut).into_iter().flatten().for_each(change);
}

fn rename(fields: &mut Map<String, Value>, old: &str, new: &str) {
    if let Some(value) = fields.remove(old) {
        fields.insert(new.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IgnoredAny;
    use serde::{Deserialize, Deserializer};

    /// The name of the type that read the value.
    struct ReadBy(&'static str);

    impl<'de> Deserialize<'de> for ReadBy {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            IgnoredAny::deserialize(deserializer)?;
            Ok(ReadBy(std::any::type_name::<D>()))
        }
    }

    #[test]
    fn one_type_reads_older_and_current_records() {
        let current: ReadBy = serde_json::from_str("{}").unwrap();
        assert_eq!(parse::<ReadBy>(json!({})).unwrap().0, current.0);
    }
}
