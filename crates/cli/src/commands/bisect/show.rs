//! What a bisection prints.

use super::flags::Bisect;
use crate::exit;
use crate::session::Session;
use bisect::{Answer, Boot, Outcome, Step};
use std::fmt::Write as _;
use std::path::Path;

/// Prints the result of a bisection and returns the exit code.
pub fn outcome(
    session: &Session,
    outcome: &Outcome,
    shown: &dyn Fn(&str) -> String,
    log: &Path,
    flags: &Bisect,
) -> u8 {
    let code = match outcome {
        Outcome::EndDiffers { step, .. } if step.answer.is_some() => 1,
        Outcome::Found { found, .. } if found.among.len() == 1 => 0,
        _ => exit::BROKEN,
    };
    if flags.json {
        session.out.value(&as_json(outcome, shown, log));
    } else {
        session.out.print(&text(outcome, shown, flags.by_effect));
        let again = if code == exit::BROKEN { AGAIN } else { "" };
        crate::output::note(&format!("log: {}{again}", log.display()));
    }
    code
}

/// What the log of a bisection without an answer means for the next one.
const AGAIN: &str = "; the same command takes its answers from there; --fresh boots all versions \
    again";

fn text(outcome: &Outcome, shown: &dyn Fn(&str) -> String, by_effect: bool) -> String {
    let mut text = String::new();
    match outcome {
        Outcome::Found { found, error_rate, steps } => {
            let names: Vec<String> = found.among.iter().map(|one| shown(one)).collect();
            let (changes, before) = match found.begins {
                true => ("begins", "without it"),
                false => ("ends", "with it"),
            };
            let _ = match names.as_slice() {
                [one] => writeln!(text, "The stall {changes} with {one}."),
                _ => {
                    let names = names.join("\n  ");
                    writeln!(text, "The stall {changes} with one of these:\n  {names}")
                }
            };
            let _ = writeln!(text, "The last version {before} is {}.", shown(&found.before));
            let percent = (error_rate * 1000.0).ceil() / 10.0;
            let provided = match by_effect {
                false => "",
                true => {
                    ", if the effect of each boot is on the correct side of the middle with a \
                     probability of at least one half"
                }
            };
            let _ = writeln!(text, "At most {percent}% of such bisections are wrong{provided}.\n");
            steps.iter().for_each(|step| line(&mut text, step, shown));
        }
        Outcome::EndDiffers { step, said } => {
            let (flag, has) = match said {
                Answer::Good => ("--good", "has the stall"),
                Answer::Bad => ("--bad", "does not have the stall"),
            };
            let has = if step.answer.is_some() { has } else { "has no verdict" };
            let version = shown(&step.version);
            let _ = writeln!(text, "{flag} {version} {has}, so nothing was bisected.\n");
            line(&mut text, step, shown);
        }
    }
    text
}

/// Adds a line for a version: its answer, and the results of its boots.
fn line(text: &mut String, step: &Step, shown: &dyn Fn(&str) -> String) {
    let (version, answer, boots) = (shown(&step.version), answer(step.answer), boots(&step.boots));
    let _ = writeln!(text, "{version}: {answer} ({boots})");
    let why = step.boots.iter().rev().find_map(|boot| match boot {
        Boot::Nothing(why) | Boot::Untestable(why) => Some(why),
        Boot::Bad | Boot::Good => None,
    });
    if let (Some(why), None) = (why, step.answer) {
        let _ = writeln!(text, "  {}", os::terminal::line(why));
    }
}

/// The results of boots, in order. A result that comes more than three times in a row is counted.
fn boots(boots: &[Boot]) -> String {
    let words: Vec<&str> = boots.iter().map(boot).collect();
    let counted = words.chunk_by(|one, other| one == other).map(|same| match same.len() {
        many @ 4.. => format!("{} {many} times", same[0]),
        _ => same.join(", "),
    });
    counted.collect::<Vec<_>>().join(", ")
}

fn answer(answer: Option<Answer>) -> &'static str {
    match answer {
        Some(Answer::Bad) => "bad",
        Some(Answer::Good) => "good",
        None => "skipped",
    }
}

/// The result of a boot, in a word or two.
pub fn boot(boot: &Boot) -> &'static str {
    match boot {
        Boot::Bad => "bad",
        Boot::Good => "good",
        Boot::Nothing(_) => "no verdict",
        Boot::Untestable(_) => "cannot be tested",
    }
}

fn as_json(outcome: &Outcome, shown: &dyn Fn(&str) -> String, log: &Path) -> serde_json::Value {
    let step = |step: &Step| {
        serde_json::json!({
            "version": step.version,
            "shown": shown(&step.version),
            "answer": answer(step.answer),
            "boots": step.boots,
        })
    };
    let (found, error_rate, steps) = match outcome {
        Outcome::Found { found, error_rate, steps } => (Some(found), Some(*error_rate), &steps[..]),
        Outcome::EndDiffers { step, .. } => (None, None, std::slice::from_ref(step)),
    };
    let differs = match outcome {
        Outcome::EndDiffers { said, .. } => Some(answer(Some(*said))),
        Outcome::Found { .. } => None,
    };
    serde_json::json!({
        "schema": "tailback/bisected/1",
        "begins": found.map(|found| found.begins),
        "before": found.map(|found| &found.before),
        "among": found.map(|found| &found.among),
        "error_rate": error_rate,
        "end_that_differs": differs,
        "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "log": log,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bisect::Found;

    fn step(version: &str, answer: Option<Answer>, boots: Vec<Boot>) -> Step {
        Step { version: version.to_owned(), answer, boots }
    }

    #[test]
    fn many_boots_that_came_to_the_same_are_counted() {
        let none = || Boot::Nothing(String::new());
        let all: Vec<Boot> = [Boot::Bad, Boot::Bad, Boot::Good]
            .into_iter()
            .chain((0..12).map(|_| none()))
            .chain([Boot::Bad])
            .collect();
        assert_eq!(boots(&all), "bad, bad, good, no verdict 12 times, bad");
    }

    #[test]
    fn what_was_found_is_said_with_its_error_rate_and_what_was_gone_round() {
        let shown = |version: &str| format!("<{version}>");
        let found = |among: &[&str]| Outcome::Found {
            found: Found {
                begins: true,
                before: "a".to_owned(),
                among: among.iter().map(|one| (*one).to_owned()).collect(),
            },
            error_rate: 0.0412,
            steps: vec![
                step("a", Some(Answer::Good), vec![Boot::Good, Boot::Good]),
                step("b", None, vec![Boot::Untestable("the build ended with 2".to_owned())]),
            ],
        };
        assert_eq!(
            text(&found(&["c"]), &shown, false),
            "The stall begins with <c>.\nThe last version without it is <a>.\nAt most 4.2% of such \
             bisections are wrong.\n\n<a>: good (good, good)\n<b>: skipped (cannot be tested)\n  \
             the build ended with 2\n"
        );
        let two = text(&found(&["b", "c"]), &shown, true);
        let rate =
            "At most 4.2% of such bisections are wrong, if the effect of each boot is on the";
        assert!(two.contains(rate), "{two}");
        assert!(two.starts_with("The stall begins with one of these:\n  <b>\n  <c>\n"), "{two}");
        let ends = Outcome::Found {
            found: Found { begins: false, before: "a".to_owned(), among: vec!["b".to_owned()] },
            error_rate: 0.01,
            steps: Vec::new(),
        };
        let said = "The stall ends with <b>.\nThe last version with it is <a>.\n";
        assert!(text(&ends, &shown, false).starts_with(said));
        let differs = Outcome::EndDiffers {
            step: step("z", Some(Answer::Good), vec![Boot::Good, Boot::Good]),
            said: Answer::Bad,
        };
        let data = |outcome: &Outcome| as_json(outcome, &shown, Path::new("l"));
        assert_eq!(data(&differs)["end_that_differs"], "bad");
        assert_eq!(data(&ends)["error_rate"], 0.01);
        let said = text(&differs, &shown, false);
        assert!(said.starts_with("--bad <z> does not have the stall, so nothing"), "{said}");
    }
}
