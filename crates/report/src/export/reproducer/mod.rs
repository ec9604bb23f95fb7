//! A record as one source file for a bug report. The program shows the same stall beside the same
//! control. For a stall of the kernel it is a C program that needs only a C compiler. For a stall
//! of the Erlang VM it is an escript that needs an OTP. Those that make control groups need root.
//!
//! The part of a scenario is in the folder of the scenario, as `reproducer.c` or
//! `reproducer.erl`. The common parts are here. Parameters become definitions, so that a reader
//! can change them.

mod blocking_nif;
mod busy_wait;
mod cpu_quota;
mod group_move;
mod held_mutex;
mod language;
mod looks;
mod mailbox_flood;
mod memory_high;
mod mmap_lock;
mod part;
mod preempted_holder;
mod quoted;
mod settings;

use crate::prose::plain;
use crate::{ReportError, Shown, repro};
use model::{Arm, ArmResult, Judged, Role, State, Unit};
use part::Part;
use quoted::quoted;
use settings::Read;

/// The widest line of the comment at the top.
const WIDTH: usize = 96;

/// The parts of all scenarios.
const PARTS: [Part; 9] = [
    mmap_lock::PART,
    cpu_quota::PART,
    preempted_holder::PART,
    memory_high::PART,
    held_mutex::PART,
    group_move::PART,
    blocking_nif::PART,
    mailbox_flood::PART,
    busy_wait::PART,
];

/// The program for a record.
///
/// # Errors
/// If there is no reproducer for its scenario or for its parameters.
pub fn reproducer(shown: &Shown) -> Result<String, ReportError> {
    let record = shown.record;
    let none = |why: String| ReportError::NoReproducer(why);
    let part = PARTS.iter().find(|part| part.scenario == record.scenario).ok_or_else(|| {
        let there: Vec<&str> = PARTS.iter().map(|part| part.scenario).collect();
        let scenario = plain(&record.scenario);
        none(format!("{scenario} has none; these scenarios have one: {}", there.join(", ")))
    })?;
    if let Some(why) = shows_none(record) {
        return Err(none(why));
    }
    let (control, case) =
        arms(record).ok_or_else(|| none("the record has no arm with the cause".into()))?;
    let meta = shown.meta.ok_or_else(|| none("this version does not know the scenario".into()))?;
    let [control, case] = [control, case].map(|arm| Read::new(arm, &record.trials));
    let defines = (part.defines)(control, case).map_err(none)?;
    let judging = &record.plan.judging;
    let seed = record.plan.seed | 1;
    let unit = meta.measure(&judging.measure).map(|one| one.unit);
    let common = [
        ("NAME", quoted(&record.scenario)),
        ("UNIT", quoted(unit.map_or("", Unit::symbol))),
        ("MARGIN", judging.margin.to_string()),
        ("LOOKS", part.language.looks()),
        ("SEED", part.language.seed(seed)),
    ];
    let defines = common.into_iter().chain(defines);
    let defines: String = defines.map(|(name, value)| part.language.define(name, &value)).collect();
    let (before, behind) = language::around(part);
    let head = head(shown, case.arm(), part);
    Ok([head.as_str(), before, defines.as_str(), behind.as_str()].concat())
}

/// How to run the program of a scenario, if that takes more than a compiler or an OTP.
pub fn need(scenario: &str) -> Option<&'static str> {
    PARTS.iter().find(|part| part.scenario == scenario)?.groups.need()
}

/// Why the record has nothing to reproduce.
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

/// The worst arm with the cause, which is the one to reproduce, and its control.
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

/// The OTP release of an arm, as part of a sentence.
fn with_otp(record: &Judged, case: &str) -> String {
    let mut trials = record.trials.iter().filter(|trial| trial.arm == case);
    let vm = trials.find_map(|trial| trial.observation.vm.as_ref());
    vm.map(|vm| format!(", OTP {} (erts {})", plain(&vm.otp), plain(&vm.erts))).unwrap_or_default()
}

/// The comment at the top: what the program shows, and the record that it is made from.
fn head(shown: &Shown, case: &str, part: &Part) -> String {
    let (record, prose) = (shown.record, shown.prose());
    let title = shown.meta.map_or_else(|| plain(&record.scenario), |meta| meta.title.to_owned());
    let mut lines = vec![
        format!("{}: {title}.", plain(&record.scenario)),
        String::new(),
        prose.brief(),
        format!(
            "Measured {} on {}{}, arm {}: {}",
            plain(&record.started),
            crate::text::host(&record.machine),
            with_otp(record, case),
            plain(case),
            repro::command(record)
        ),
        String::new(),
        part.language.how_to_run().to_owned(),
    ];
    lines.extend(part.groups.need().map(str::to_owned));
    lines.extend([
        "Exit codes and output are as in kselftest. 0: no stall, or in less than 30% of blocks. \
         1: a stall in more than half. 4: skipped or undecided. 128: the test itself broke."
            .to_owned(),
        format!("Written by tailback {} from that record.", plain(&record.tool.version)),
    ]);
    // Text from a record must not end the comment.
    let lines: Vec<String> =
        lines.iter().map(|line| line.replace("*/", "* /").replace("/*", "/ *")).collect();
    // The command can be copied: lines break only between words.
    let options = textwrap::Options::new(WIDTH)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .word_separator(textwrap::WordSeparator::AsciiSpace);
    let wrapped = lines.iter().flat_map(|line| textwrap::wrap(line, &options));
    part.language.comment(&wrapped.map(String::from).collect::<Vec<String>>())
}

#[cfg(test)]
mod tests {
    use super::part::Language;
    use super::*;
    use crate::testing;

    fn part(scenario: &str) -> Part {
        PARTS.into_iter().find(|part| part.scenario == scenario).unwrap()
    }

    #[test]
    fn a_scenario_without_a_part_says_which_have_one() {
        let record = testing::record();
        let error = reproducer(&Shown::new(&record, None, "x")).unwrap_err().to_string();
        assert!(
            error.contains("some-stall has none; these scenarios have one: mmap-lock"),
            "{error}"
        );
    }

    #[test]
    fn what_a_record_says_stays_in_the_comment_and_in_quotes() {
        let mut record = testing::record();
        record.machine.kernel =
            "6.1 */ int main(void) { /* \\\n#include \"/etc/passwd\"".to_owned();
        let shown = Shown::new(&record, None, "x");
        let text = head(&shown, "case", &part("mmap-lock"));
        assert_eq!((text.matches("*/").count(), text.matches("/*").count()), (1, 1), "{text}");
        let inside = text.lines().skip(2).all(|line| line.starts_with(" *"));
        assert!(inside && text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let text = head(&shown, "case", &part("mailbox-flood"));
        assert!(text.lines().skip(1).all(|line| line.starts_with("%%")), "{text}");
        assert_eq!(quoted("a\"; system(\"b\\\n"), "\"a systemb\"");
    }

    #[test]
    fn no_word_of_the_command_is_broken() {
        let mut record = testing::record();
        let command = repro::command(&record);
        assert!(command.contains(" --"), "{command}");
        for length in 1..100 {
            record.machine.kernel = "6".repeat(length);
            let text = head(&Shown::new(&record, None, "x"), "case", &part("mmap-lock"));
            let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "*").collect();
            assert!(words.join(" ").contains(&command), "{text}");
        }
    }

    #[test]
    fn a_program_that_makes_control_groups_says_that_it_needs_root() {
        let record = testing::record();
        let shown = Shown::new(&record, None, "x");
        for part in PARTS {
            let text = head(&shown, "case", &part);
            let is_said = text.contains(" Run it as root");
            let makes_them = part.source.contains("make_group");
            assert_eq!(is_said, makes_them, "{text}");
            assert_eq!(text.contains("with cgroup v2: it"), part.scenario == "memory-high");
            assert_eq!(need(part.scenario).is_some(), makes_them, "{}", part.scenario);
        }
    }

    /// gcc or escript accepts each part without a warning. A C program is short enough for a mail.
    #[test]
    fn a_compiler_takes_each_part() {
        const COMMON: &str = "NAME=\"x\" UNIT=\"%\" MARGIN=3 SEED=1";
        const OWN: [(&str, &str); 9] = [
            (
                "mmap-lock",
                "CPUS=2 PROCFILE=\"smaps\" READERS=1 SPINNERS=1 NICE=1 LEAD_MS=1 DURATION_MS=1 \
                 HANG_MS=1 PAUSE_US=1 REGION_BYTES=65536ULL",
            ),
            (
                "cpu-quota",
                "CPUS=2 SPREAD=2 NARROW=1 THREADS=3 FAST=1 QUOTA_US=8000 PERIOD_US=10000 \
                 WAKE_US=3000 DURATION_MS=400",
            ),
            (
                "held-mutex",
                "CPUS=2 IDLE=0 NICE=19 INHERIT=0 RIVALS=1 INSIDE_US=5000 REST_US=20000 \
                 EVERY_US=1000 DURATION_MS=700",
            ),
            ("group-move", "CPUS=1 GAP_US=100000 DURATION_MS=1000"),
            ("preempted-holder", "CPUS=2 THREADS=8 INSIDE_US=20 OUTSIDE_US=60 DURATION_MS=400"),
            (
                "memory-high",
                "CPUS=2 LIMIT_BYTES=65536ULL NEED_BYTES=65536ULL UNIT_BYTES=4096ULL EVERY_US=1 \
                 DURATION_MS=1",
            ),
            ("blocking-nif", "BUSY=0 PROCESSES=14 CALLS=1 WORK_US=10000 ITERATIONS=5"),
            (
                "mailbox-flood",
                "SINK=port SENDERS=10 MESSAGES=100 BYTES=20 WRITES=300 \
                 MESSAGE_QUEUE_DATA=on_heap DURATION_MS=150 MEMORY_LIMIT=536870912",
            ),
            (
                "busy-wait",
                "LOAD=port RATE=4400 WORKERS=32 BACKGROUND=2 QUOTA_US=50000 PERIOD_US=100000 \
                 SETTLE_MS=200 DURATION_MS=700",
            ),
        ];
        const FLAGS: &str = "CONTROL_FLAGS=[\"+S\"] CASE_FLAGS=[] OTP=\"25\" TRIAL_MS=900";
        let folder = tempfile::tempdir().unwrap();
        for part in PARTS {
            let own = OWN.iter().find(|(scenario, _)| *scenario == part.scenario).unwrap().1;
            let (compiler, words, more) = match part.language {
                Language::C => {
                    ("gcc", "-O2 -Wall -Wextra -Werror -fsyntax-only -x c".split(' '), "")
                }
                Language::Escript => ("escript", "-s".split(' '), FLAGS),
            };
            let defines = COMMON.split(' ').chain(own.split_whitespace());
            let defines = defines.chain(more.split_whitespace()).map(|one: &str| {
                let (name, value) = one.split_once('=').unwrap();
                part.language.define(name, value)
            });
            let defines = defines.chain([part.language.define("LOOKS", &part.language.looks())]);
            let (before, behind) = language::around(&part);
            let head = part.language.comment(&[]);
            let text = [&head, before, &defines.collect::<String>(), &behind].concat();
            let lines = text.lines().count();
            assert!(part.language != Language::C || (100..=440).contains(&lines), "{lines}");
            let path = folder.path().join("part");
            std::fs::write(&path, text).unwrap();
            let ran = std::process::Command::new(compiler).args(words).arg(&path).output();
            let Ok(ran) = ran else {
                ::testing::skipped("no gcc or no escript");
                continue;
            };
            let said = [ran.stdout, ran.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(ran.status.success() && said.is_empty(), "{}: {said}", part.scenario);
        }
    }
}
