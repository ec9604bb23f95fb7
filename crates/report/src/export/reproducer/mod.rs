//! A record as one C file, which shows the same stall beside the same control and needs nothing but
//! a C compiler: what a bug report can carry.
//!
//! The part of a scenario stands in its folder, as `reproducer.c`; what all have in common stands
//! here. Parameters become `#define`s, so that a reader can change them.

mod cpu_quota;
mod memory_high;
mod mmap_lock;
mod part;
mod preempted_holder;
mod settings;

use crate::prose::plain;
use crate::{ReportError, Shown, repro};
use model::{Arm, ArmResult, Judged, Role, State, Unit};
use part::{Part, quoted};
use settings::Read;
use std::fmt::Write as _;

/// What all have before the part of the scenario.
const HELPERS: &str = include_str!("helpers.c");

/// What those have that make a control group.
const GROUPS: &str = include_str!("groups.c");

/// What all have behind it.
const MAIN: &str = include_str!("main.c");

/// Blocks before each look at what was found: enough that a stall in nearly all and one in none are
/// told apart at the first.
const BLOCKS: u32 = 14;

/// Looks at most.
const LOOKS: u32 = 4;

/// The widest line of the comment at the head.
const WIDTH: usize = 96;

/// All parts.
const PARTS: [Part; 4] =
    [mmap_lock::PART, cpu_quota::PART, preempted_holder::PART, memory_high::PART];

/// Writes the C file of a record.
///
/// # Errors
/// If there is no reproducer of its scenario, or none of its parameters.
pub fn reproducer(shown: &Shown) -> Result<String, ReportError> {
    let record = shown.record;
    let none = |why: String| ReportError::NoReproducer(why);
    let part = PARTS.iter().find(|part| part.scenario == record.scenario).ok_or_else(|| {
        let there: Vec<&str> = PARTS.iter().map(|part| part.scenario).collect();
        let scenario = plain(&record.scenario);
        none(format!("{scenario} has none; there is one of {}", there.join(", ")))
    })?;
    if let Some(why) = shows_none(record) {
        return Err(none(why));
    }
    let (control, case) =
        arms(record).ok_or_else(|| none("the record has no arm with the cause".into()))?;
    let meta = shown.meta.ok_or_else(|| none("this version does not know the scenario".into()))?;
    let defaults = meta.defaults(false);
    let [control, case] = [control, case].map(|arm| Read::new(arm, &defaults));
    let defines = (part.defines)(control, case).map_err(none)?;
    let mut text = head(shown, case.arm());
    let judging = &record.plan.judging;
    let seed = record.plan.seed | 1;
    let unit = meta.measure(&judging.measure).map(|one| one.unit);
    let common = [
        ("NAME", quoted(&record.scenario)),
        ("UNIT", quoted(unit.map_or("", Unit::symbol))),
        ("MARGIN", judging.margin.to_string()),
        ("BLOCKS", BLOCKS.to_string()),
        ("LOOKS", LOOKS.to_string()),
        ("SEED", format!("{seed}ULL")),
    ];
    for (name, value) in common.into_iter().chain(defines) {
        let _ = writeln!(text, "#define {name} {value}");
    }
    let groups = if part.groups { GROUPS } else { "" };
    Ok([text.as_str(), "\n", HELPERS, groups, "\n", part.source, MAIN].concat())
}

/// Why there is nothing that a reproducer could show again.
fn shows_none(record: &Judged) -> Option<String> {
    let (judgement, judging) = (&record.judgement, &record.plan.judging);
    let other = judgement.measure.as_ref().filter(|name| **name != *judging.measure);
    match (judgement.state, other) {
        (State::Affected, None) => None,
        (State::Affected, Some(name)) => {
            Some(format!("the stall shows in another figure: {}", plain(name)))
        }
        (state, _) => Some(format!("the record shows no stall: it is {state}")),
    }
}

/// The arm with the cause that is worst, which is to show again, and its control.
fn arms(record: &Judged) -> Option<(&Arm, &Arm)> {
    let measure = &*record.plan.judging.measure;
    let size = |result: &ArmResult| {
        result.against_control.get(measure).map_or(f64::NEG_INFINITY, |effect| effect.shift)
    };
    let cases = record.judgement.arms.iter().filter(|arm| arm.role == Role::Case);
    let worst = cases.max_by(|one, other| size(one).total_cmp(&size(other)))?;
    let find = |id: &str| record.plan.arms.iter().find(|arm| arm.id == id);
    let case = find(&worst.id)?;
    let control = match &case.against {
        Some(control) => find(control)?,
        None => record.plan.arms.iter().find(|arm| arm.role == Role::Control)?,
    };
    Some((control, case))
}

/// What it shows, and by which record.
fn head(shown: &Shown, case: &str) -> String {
    let (record, prose) = (shown.record, shown.prose());
    let title = shown.meta.map_or_else(|| plain(&record.scenario), |meta| meta.title.to_owned());
    let lines = [
        format!("{}: {title}.", plain(&record.scenario)),
        String::new(),
        prose.brief(),
        format!(
            "Measured {} on {}, arm {}: {}",
            plain(&record.started),
            crate::text::host(&record.machine),
            plain(case),
            repro::command(record)
        ),
        String::new(),
        "Build: gcc -O2 -pthread -o stall stall.c (with -static it runs as init of a guest).".into(),
        "Exit codes and output are those of kselftest: 0 a stall in less than 30% of blocks or none, \
         1 a stall in more than half or an error, 4 skipped or undecided."
            .into(),
        format!("Written by tailback {} from that record.", plain(&record.tool.version)),
    ];
    let mut text = "// SPDX-License-Identifier: Apache-2.0\n/*\n".to_owned();
    for line in lines {
        // What stands in a record may not end the comment.
        let line = line.replace("*/", "* /").replace("/*", "/ *");
        for line in textwrap::wrap(&line, WIDTH) {
            let _ = writeln!(text, "{}", format!(" * {line}").trim_end());
        }
    }
    text + " */\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_scenario_without_a_part_says_which_have_one() {
        let record = testing::record();
        let error = reproducer(&Shown::new(&record, None, "x")).unwrap_err().to_string();
        assert!(error.contains("some-stall has none; there is one of mmap-lock"), "{error}");
    }

    #[test]
    fn what_a_record_says_stays_in_the_comment_and_in_quotes() {
        let mut record = testing::record();
        record.machine.kernel =
            "6.1 */ int main(void) { /* \\\n#include \"/etc/passwd\"".to_owned();
        let text = head(&Shown::new(&record, None, "x"), "case");
        assert_eq!((text.matches("*/").count(), text.matches("/*").count()), (1, 1), "{text}");
        let inside = text.lines().skip(2).all(|line| line.starts_with(" *"));
        assert!(inside && text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert_eq!(quoted("a\"; system(\"b\\\n"), "\"a systemb\"");
    }

    /// A C compiler takes each part without a warning.
    #[test]
    fn each_part_is_c() {
        const COMMON: &str = "NAME=\"x\" UNIT=\"%\" MARGIN=3 BLOCKS=14 LOOKS=4 SEED=1ULL CPUS=2";
        const OWN: [(&str, &str); 4] = [
            (
                "mmap-lock",
                "PROCFILE=\"smaps\" READERS=1 SPINNERS=1 NICE=1 LEAD_MS=1 DURATION_MS=1 HANG_MS=1 \
                 PAUSE_US=1 REGION_BYTES=65536ULL",
            ),
            (
                "cpu-quota",
                "SPREAD=2 NARROW=1 THREADS=3 FAST=1 QUOTA_US=8000 PERIOD_US=10000 WAKE_US=3000 \
                 DURATION_MS=400",
            ),
            ("preempted-holder", "THREADS=8 INSIDE_US=20 OUTSIDE_US=60 DURATION_MS=400"),
            (
                "memory-high",
                "LIMIT_BYTES=65536ULL NEED_BYTES=65536ULL UNIT_BYTES=4096ULL EVERY_US=1 \
                 DURATION_MS=1",
            ),
        ];
        let folder = tempfile::tempdir().unwrap();
        for part in PARTS {
            let own = OWN.iter().find(|(scenario, _)| *scenario == part.scenario).unwrap().1;
            let defines = COMMON.split(' ').chain(own.split_whitespace());
            let defines = defines.map(|one| format!("#define {}\n", one.replacen('=', " ", 1)));
            let groups = if part.groups { GROUPS } else { "" };
            let text = [&defines.collect::<String>(), HELPERS, groups, part.source, MAIN].concat();
            let path = folder.path().join("part.c");
            std::fs::write(&path, text).unwrap();
            let words = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"];
            let Ok(ran) = std::process::Command::new("gcc").args(words).arg(&path).output() else {
                return ::testing::skipped("no gcc");
            };
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{}: {said}", part.scenario);
        }
    }
}
