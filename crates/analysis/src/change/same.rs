//! What two records do not have in common.

use super::{Pair, Setting};
use model::{Kind, Record, Value, Vm};
use std::collections::BTreeSet;

/// What kind of knob it is to a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Where it runs: part of the machine.
    Place,
    /// What is used: a file, a word, a flag, a program. One of them may be what is compared.
    What,
    /// How much: load and length of a trial. Figures of different amounts say nothing of each other.
    Amount,
}

/// Machine, VM, tool and knobs, where they differ.
pub(super) fn differences(pair: &Pair) -> Vec<Setting> {
    let (before, after) = (pair.before.0, pair.after.0);
    let mut found: Vec<Setting> = Vec::new();
    let mut add = |what: &str, was: String, is: String| {
        if was != is {
            found.push(Setting { what: what.to_owned(), before: was, after: is });
        }
    };
    let words = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let (was, is) = (&before.host, &after.host);
    add("kernel", was.kernel.clone(), is.kernel.clone());
    add("kernel build", was.kernel_build.clone(), is.kernel_build.clone());
    add("preemption", words(&was.preemption), words(&is.preemption));
    let hz = |hz: Option<u32>| hz.map_or_else(|| "unknown".to_owned(), |hz| hz.to_string());
    add("HZ", hz(was.hz), hz(is.hz));
    add("CPUs", was.cpus.len().to_string(), is.cpus.len().to_string());
    add("CPU model", words(&was.cpu_model), words(&is.cpu_model));
    add("tailback", before.tool.version.clone(), after.tool.version.clone());
    let ((was_otp, was_flags), (is_otp, is_flags)) = (vm(before), vm(after));
    add("OTP", was_otp, is_otp);
    add("emulator flags", was_flags, is_flags);
    for (knob, was, is) in knobs(before, after) {
        add(&format!("--{knob}"), was, is);
    }
    found
}

fn vm(record: &Record) -> (String, String) {
    let vm: Option<&Vm> = record.trials.iter().find_map(|trial| trial.observation.vm.as_ref());
    vm.map_or_else(
        || ("none".to_owned(), "none".to_owned()),
        |vm| {
            (
                format!("{} (erts {})", vm.otp, vm.erts),
                if vm.flags.is_empty() { "none".to_owned() } else { vm.flags.join(" ") },
            )
        },
    )
}

/// The knobs whose values differ in an arm of the same name, with the first such pair of values.
fn knobs(before: &Record, after: &Record) -> Vec<(String, String, String)> {
    let text = |value: Option<&Value>| value.map_or_else(|| "none".to_owned(), Value::to_string);
    let mut found: Vec<(String, String, String)> = Vec::new();
    for was in &before.plan.arms {
        let Some(is) = after.plan.arms.iter().find(|arm| arm.id == was.id) else { continue };
        let names: BTreeSet<&String> = was.settings.0.keys().chain(is.settings.0.keys()).collect();
        for name in names {
            let (old, new) = (was.settings.0.get(name), is.settings.0.get(name));
            if old != new && !found.iter().any(|(known, ..)| known == name) {
                found.push((name.clone(), text(old), text(new)));
            }
        }
    }
    found
}

/// The knobs that make two records incomparable, with what to do: those that say how much load there
/// is and how long it is measured; and more than one of those that say what is used, since then
/// nobody knows which of them it was.
pub(super) fn knobs_in_the_way(pair: &Pair) -> Option<(String, Option<String>)> {
    let differing = knobs(pair.before.0, pair.after.0);
    let of = |wanted: Part| -> Vec<&str> {
        let names = differing.iter().map(|(name, ..)| name.as_str());
        names
            .filter(|name| part(pair, name) == wanted && !pair.across.iter().any(|k| k == name))
            .collect()
    };
    let (amounts, words) = (of(Part::Amount), of(Part::What));
    let mut in_the_way = amounts;
    if words.len() > 1 || !words.is_empty() && !pair.across.is_empty() {
        in_the_way.extend(words);
    }
    if in_the_way.is_empty() {
        return None;
    }
    let flags: Vec<String> = in_the_way.iter().map(|name| format!("--{name}")).collect();
    let next = format!(
        "Run both with the same knobs; or, where that difference is what you compare, add --across {}.",
        in_the_way.join(",")
    );
    Some((format!("They differ in {}.", flags.join(", ")), Some(next)))
}

fn part(pair: &Pair, name: &str) -> Part {
    match pair.meta.and_then(|meta| meta.knob(name)).map(|knob| knob.kind) {
        Some(Kind::Cpu) => Part::Place,
        Some(Kind::ProcFile | Kind::Choice(_) | Kind::Words | Kind::Programs) => Part::What,
        _ => Part::Amount,
    }
}
