//! KTAP version 1, the format of the kernel developers' tools. It has a test for each record; a
//! subtest for each arm comes before the test's result.
//!
//! The format is from Documentation/dev-tools/ktap.rst, the exit codes are from
//! tools/testing/selftests/kselftest.h, both in the Linux sources.

use super::figure;
use crate::Shown;
use crate::advice::Sure;
use crate::prose::{fix, plain};
use model::{ArmResult, FixOutcome, Judged, Role, State};
use std::fmt::Write as _;

/// Exit code if no test failed and at least one passed.
const PASS: u8 = 0;

/// Exit code if a test failed.
const FAIL: u8 = 1;

/// Exit code if all tests were skipped.
const SKIP: u8 = 4;

/// The outcome of a study without a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undecided {
    /// A failure, since it is not known whether there is a stall.
    #[default]
    Fail,
    /// A skipped test.
    Skip,
}

/// A test.
pub struct Test<'a> {
    /// Its name: a scenario or a version.
    pub name: String,
    /// The record, or the reason why there is none.
    pub came: Result<Shown<'a>, String>,
}

/// The outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Pass,
    Fail,
    Skip,
}

/// A result line, and the comment beside it.
struct Line {
    name: String,
    outcome: Outcome,
    why: Option<String>,
}

impl<'a> Test<'a> {
    /// The test of a record, named after its scenario.
    pub fn of(shown: Shown<'a>) -> Self {
        Test { name: shown.record.scenario.clone(), came: Ok(shown) }
    }

    fn outcome(&self, undecided: Undecided) -> Outcome {
        let state = self.came.as_ref().map(|shown| shown.record.judgement.state);
        state.map_or(Outcome::Fail, |state| outcome(state, undecided))
    }

    fn line(&self, undecided: Undecided) -> Line {
        let why = match &self.came {
            Ok(shown) => format!("{}: {}", shown.record.judgement.state, shown.prose().brief()),
            Err(why) => why.clone(),
        };
        let (name, outcome) = (self.name.clone(), self.outcome(undecided));
        Line { name, outcome, why: Some(why) }
    }

    /// The subtests of the arms; empty if nothing was measured.
    fn arms(&self, undecided: Undecided) -> Vec<Line> {
        let Ok(shown) = &self.came else { return Vec::new() };
        if shown.record.judgement.state == State::Skipped {
            return Vec::new();
        }
        let arms = shown.record.judgement.arms.iter();
        arms.map(|result| arm(shown, result, undecided)).collect()
    }
}

/// The tests in the KTAP format.
pub fn ktap(tests: &[Test], undecided: Undecided) -> String {
    let mut text = String::new();
    write(&mut text, tests.len(), "", None);
    for (number, test) in (1..).zip(tests) {
        let arms = test.arms(undecided);
        if !arms.is_empty() {
            let name = of_line(&test.name);
            write(&mut text, arms.len(), "  ", Some(&name));
        }
        for (number, arm) in (1..).zip(&arms) {
            result(&mut text, number, arm, "  ");
        }
        result(&mut text, number, &test.line(undecided), "");
    }
    text
}

/// The output if nothing could be run. If the machine lacks something that the tests need,
/// everything is skipped; else the run is aborted. Also returns the exit code.
pub fn nothing(why: &str, is_need: bool) -> (String, u8) {
    let why = plain(why);
    match is_need {
        true => (format!("KTAP version 1\n1..0 # SKIP {why}\n"), SKIP),
        false => (format!("KTAP version 1\nBail out! {why}\n"), FAIL),
    }
}

/// The exit code of these tests.
pub fn code(tests: &[Test], undecided: Undecided) -> u8 {
    let has = |outcome| tests.iter().any(|test| test.outcome(undecided) == outcome);
    match (has(Outcome::Fail), has(Outcome::Pass)) {
        (true, _) => FAIL,
        (false, true) => PASS,
        (false, false) => SKIP,
    }
}

/// The header of a list of tests. Parsers before Linux 6.2 recognise subtests only by the line
/// with the name of their test.
fn write(text: &mut String, tests: usize, indent: &str, below: Option<&str>) {
    let _ = writeln!(text, "{indent}KTAP version 1");
    if let Some(name) = below {
        let _ = writeln!(text, "{indent}# Subtest: {name}");
    }
    let _ = writeln!(text, "{indent}1..{tests}");
}

/// A name that is safe in a result line.
fn of_line(name: &str) -> String {
    plain(name).replace('#', " ")
}

/// A result. As the format requires, a skipped test has its reason on the result line; any other
/// reason is on the line before.
fn result(text: &mut String, number: usize, line: &Line, indent: &str) {
    let name = of_line(&line.name);
    let why = line.why.as_deref().map(plain);
    let (word, skipped) = match line.outcome {
        Outcome::Pass => ("ok", None),
        Outcome::Fail => ("not ok", None),
        Outcome::Skip => ("ok", Some(why.as_deref().unwrap_or_default())),
    };
    if let (None, Some(why)) = (skipped, &why) {
        let _ = writeln!(text, "{indent}# {name}: {why}");
    }
    let skipped = skipped.map(|why| format!(" # SKIP {why}")).unwrap_or_default();
    let _ = writeln!(text, "{indent}{word} {number} {name}{skipped}");
}

fn outcome(state: State, undecided: Undecided) -> Outcome {
    match (state, undecided) {
        (State::NotAffected, _) => Outcome::Pass,
        (State::Affected, _) => Outcome::Fail,
        (State::Skipped, _) | (_, Undecided::Skip) => Outcome::Skip,
        (State::Inconclusive | State::Untrustworthy, Undecided::Fail) => Outcome::Fail,
    }
}

/// The subtest of an arm. An arm with the cause fails if it shows the stall. A fix never fails;
/// it is skipped if it was not shown to help.
fn arm(shown: &Shown, arm: &ArmResult, undecided: Undecided) -> Line {
    let (record, prose) = (shown.record, shown.prose());
    let figure = figure::judged(record, &prose, arm);
    let (outcome, why) = match arm.role {
        Role::Control | Role::Baseline => (Outcome::Pass, figure),
        Role::Case => {
            let state = of_case(record, arm);
            let said = figure.map_or_else(|| state.to_string(), |said| format!("{state}: {said}"));
            (outcome(state, undecided), Some(said))
        }
        Role::Fix => of_fix(record, &arm.id),
    };
    Line { name: arm.id.clone(), outcome, why }
}

/// The verdict on an arm with the cause. If the study as a whole is not affected or has no
/// verdict, that holds for every arm: a test that passes may not have a failed subtest.
fn of_case(record: &Judged, arm: &ArmResult) -> State {
    match record.judgement.state {
        State::Affected => arm.state.unwrap_or(State::Inconclusive),
        whole => whole,
    }
}

fn of_fix(record: &Judged, arm: &str) -> (Outcome, Option<String>) {
    let tried = record.judgement.fixes.iter().find(|fix| fix.arm == arm);
    let Some(tried) = tried else {
        return (Outcome::Skip, Sure::Try.mark().map(str::to_owned));
    };
    let said = Some(fix::outcome(tried.outcome).to_owned());
    match tried.outcome {
        FixOutcome::Fixed | FixOutcome::Helped => (Outcome::Pass, said),
        FixOutcome::NotShown => (Outcome::Skip, said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn of(state: State, undecided: Undecided) -> (String, u8) {
        let mut record = testing::record();
        record.judgement.state = state;
        let tests = [Test::of(Shown::new(&record, None, "x"))];
        (ktap(&tests, undecided), code(&tests, undecided))
    }

    #[test]
    fn each_verdict_has_its_result_and_its_exit_code() {
        use State::{Affected, Inconclusive, NotAffected, Skipped, Untrustworthy};
        let last = |state, undecided| {
            let (text, code) = of(state, undecided);
            (text.lines().next_back().unwrap().to_owned(), code)
        };
        assert_eq!(last(Affected, Undecided::Skip), ("not ok 1 some-stall".to_owned(), FAIL));
        assert_eq!(last(NotAffected, Undecided::Fail), ("ok 1 some-stall".to_owned(), PASS));
        for state in [Inconclusive, Untrustworthy] {
            assert_eq!(last(state, Undecided::Fail), ("not ok 1 some-stall".to_owned(), FAIL));
            let (line, code) = last(state, Undecided::Skip);
            assert!(line.starts_with(&format!("ok 1 some-stall # SKIP {state}: ")), "{line}");
            assert_eq!(code, SKIP);
        }
        let (line, code) = last(Skipped, Undecided::Fail);
        assert!(line.starts_with("ok 1 some-stall # SKIP skipped: ") && code == SKIP, "{line}");
    }

    /// The format requires that a test fails if one of its subtests fails.
    #[test]
    fn a_subtest_fails_only_where_its_test_does() {
        for state in State::ALL {
            for undecided in [Undecided::Fail, Undecided::Skip] {
                let (text, _) = of(state, undecided);
                let fails = |indent: &str| {
                    text.lines().any(|line| line.starts_with(&format!("{indent}not ok ")))
                };
                assert!(fails("") || !fails("  "), "{text}");
            }
        }
    }

    #[test]
    fn lines_stand_as_the_format_has_them() {
        let mut record = testing::record();
        record.scenario = "some # \n not ok 2 stall".to_owned();
        let tests = [
            Test::of(Shown::new(&record, None, "x")),
            Test { name: "debian:9".to_owned(), came: Err("the guest did not boot".to_owned()) },
        ];
        let text = ktap(&tests, Undecided::Fail);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["KTAP version 1", "1..2", "  KTAP version 1"], "{text}");
        assert!(lines[3].starts_with("  # Subtest: some ") && lines[4] == "  1..2", "{text}");
        assert!(lines[5].starts_with("  # control: ") && lines[6] == "  ok 1 control", "{text}");
        assert!(lines[7].starts_with("  # case: affected: ") && lines[8] == "  not ok 2 case");
        assert!(lines[10].starts_with("not ok 1 some") && !lines[10].contains('#'), "{text}");
        assert_eq!(lines[11..], ["# debian:9: the guest did not boot", "not ok 2 debian:9"]);
        assert_eq!(code(&tests, Undecided::Skip), FAIL);
        assert_eq!(code(&[], Undecided::Skip), SKIP);
    }
}
