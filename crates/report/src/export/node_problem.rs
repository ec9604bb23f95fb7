//! The line and the exit code of a plugin for Kubernetes' node-problem-detector.
//!
//! Its custom plugin monitor uses the first 80 characters of standard output as the message of an
//! event or a condition, and the exit code as its state.

use crate::prose::plain;
use model::State;

/// The format's name on the command line.
pub const NAME: &str = "node-problem-detector";

/// The longest line that the monitor shows in full, in bytes.
const LONGEST: usize = 80;

/// Exit code for a node without the problem.
const OK: u8 = 0;

/// Exit code for a node with the problem.
const NON_OK: u8 = 1;

/// Exit code if nothing is known.
const UNKNOWN: u8 = 2;

/// The order of the states in the line.
const ORDER: [State; 5] = [
    State::Affected,
    State::Untrustworthy,
    State::Inconclusive,
    State::Skipped,
    State::NotAffected,
];

/// The exit code: NON_OK if any stall was found, OK if a scenario is not affected, else UNKNOWN.
pub fn code(answers: &[(&str, State)]) -> u8 {
    let has = |state: State| answers.iter().any(|(_, own)| *own == state);
    match (has(State::Affected), has(State::NotAffected)) {
        (true, _) => NON_OK,
        (false, true) => OK,
        (false, false) => UNKNOWN,
    }
}

/// The line, with a line feed: `affected: mmap-lock; inconclusive: 1; not-affected: 3`.
pub fn line(answers: &[(&str, State)]) -> String {
    let of = |state: State| answers.iter().filter(move |(_, own)| *own == state);
    let present = ORDER.into_iter().filter(|state| of(*state).next().is_some());
    let counts: Vec<String> =
        present.map(|state| format!("{}: {}", state.word(), of(state).count())).collect();
    let affected: Vec<String> = of(State::Affected).map(|(name, _)| plain(name)).collect();
    let mut text = match answers {
        [] => "not a record of tailback".to_owned(),
        _ if affected.is_empty() => counts.join("; "),
        _ => {
            let others = counts[1..].iter().map(|count| format!("; {count}")).collect::<String>();
            format!("affected: {}{others}", affected.join(", "))
        }
    };
    if text.len() > LONGEST {
        // The names do not fit.
        text = counts.join("; ");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_a_problem_and_nothing_settled_is_unknown() {
        use State::{Affected, Inconclusive, NotAffected, Skipped};
        for (states, expected) in [
            (vec![], UNKNOWN),
            (vec![Skipped, Inconclusive], UNKNOWN),
            (vec![Skipped, NotAffected], OK),
            (vec![NotAffected, Affected], NON_OK),
        ] {
            let answers: Vec<(&str, State)> = states.into_iter().map(|one| ("x", one)).collect();
            assert_eq!(code(&answers), expected, "{answers:?}");
        }
    }

    #[test]
    fn the_line_fits_whatever_stands_in_it() {
        let some = [
            ("mmap-lock", State::Affected),
            ("cpu-quota", State::NotAffected),
            ("io", State::Skipped),
        ];
        assert_eq!(line(&some), "affected: mmap-lock; skipped: 1; not-affected: 1\n");
        assert_eq!(line(&some[1..]), "skipped: 1; not-affected: 1\n");
        assert_eq!(line(&[]), "not a record of tailback\n");
        let long = "a\u{1b}[2J\n".repeat(20);
        let many: Vec<(&str, State)> =
            std::iter::repeat_n((long.as_str(), State::Affected), 30).chain(some).collect();
        assert_eq!(line(&many), "affected: 31; skipped: 1; not-affected: 1\n");
        let all: Vec<(&str, State)> = ORDER
            .into_iter()
            .flat_map(|state| std::iter::repeat_n((long.as_str(), state), 99))
            .collect();
        let text = line(&all);
        assert!(text.len() <= LONGEST + 1 && text.lines().count() == 1, "{text}");
    }
}
