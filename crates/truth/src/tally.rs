//! Counts the runs of a row and compares them with its allowed answers.

use crate::history::Line;
use crate::{Answer, Row};
use std::collections::BTreeMap;

/// The runs of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// The number of runs.
    pub runs: u32,
    /// The number of runs with each answer.
    pub answers: BTreeMap<Answer, u32>,
    /// Answers that occurred more often than allowed.
    pub wrong: Vec<Answer>,
    /// Runs with a forbidden answer.
    pub forbidden: u32,
    /// Undecided runs. If the row has a wanted answer, these are runs with neither the wanted nor
    /// a forbidden answer. Otherwise they are runs whose answer leaves the question open.
    pub undecided: u32,
    /// Median duration of a run, in seconds. None without runs, and for simulated rows.
    pub seconds: Option<f64>,
    /// Mean number of blocks of a simulated study.
    pub blocks: Option<f64>,
}

impl Tally {
    /// Counts the runs of a row.
    pub fn of(row: &Row, lines: &[&Line]) -> Self {
        let mut answers = BTreeMap::new();
        for (answer, count) in lines.iter().flat_map(|line| &line.answers) {
            let sum: &mut u32 = answers.entry(*answer).or_default();
            *sum = sum.saturating_add(*count);
        }
        let added = |sum: u32, count: &u32| sum.saturating_add(*count);
        let runs: u32 = answers.values().fold(0, added);
        // The share refers to all planned runs of the row. Otherwise the first of them could
        // exceed it.
        let all = f64::from(runs.max(row.runs));
        let too_often = |(answer, count): (&Answer, &u32)| {
            // Rounding must not forbid 1 of 20 runs at a limit of 5%.
            (f64::from(*count) > row.most(*answer) * all + 1e-9).then_some(*answer)
        };
        let sum = |counts: &dyn Fn(Answer) -> bool| {
            answers
                .iter()
                .filter(|(answer, _)| counts(**answer))
                .map(|(_, count)| count)
                .fold(0, added)
        };
        let forbidden = |answer: Answer| row.forbidden.contains(&answer);
        let undecided = |answer: Answer| match row.wanted {
            Some(wanted) => answer != wanted && !forbidden(answer),
            None => answer.is_open() && !forbidden(answer),
        };
        let mut seconds: Vec<f64> = lines.iter().filter_map(|line| line.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        Tally {
            runs,
            wrong: answers.iter().filter_map(too_often).collect(),
            forbidden: sum(&forbidden),
            undecided: sum(&undecided),
            seconds: seconds.get(seconds.len() / 2).copied(),
            blocks: lines.iter().find_map(|line| line.blocks),
            answers,
        }
    }

    /// The answers with their counts, the most frequent first.
    pub fn words(&self) -> String {
        let mut answers: Vec<_> = self.answers.iter().collect();
        answers.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let words: Vec<String> = answers.iter().map(|(a, count)| format!("{a} {count}")).collect();
        if words.is_empty() { "not run yet".to_owned() } else { words.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::line;
    use crate::row::{parse, tests::ROW};

    fn tally(row: &Row, answers: &[Answer]) -> Tally {
        let lines: Vec<Line> = answers.iter().map(|answer| line(row, *answer)).collect();
        Tally::of(row, &lines.iter().collect::<Vec<_>>())
    }

    #[test]
    fn answers_are_counted_and_one_that_is_forbidden_is_wrong() {
        use Answer::{Affected, Inconclusive, NotAffected};
        let mut row = parse(ROW).unwrap().remove(0);
        let good = tally(&row, &[NotAffected, Inconclusive, NotAffected]);
        assert_eq!(good.words(), "not-affected 2, inconclusive 1");
        assert_eq!((good.undecided, good.wrong.len(), good.seconds), (1, 0, Some(2.0)));
        assert_eq!(tally(&row, &[NotAffected, Affected]).wrong, [Affected]);
        let one_of_twenty = [[NotAffected; 19].as_slice(), &[Affected]].concat();
        row.at_most.insert(Affected, 0.05);
        assert_eq!(tally(&row, &one_of_twenty).wrong, []);
        assert_eq!(
            tally(&row, &[one_of_twenty.as_slice(), &[Affected]].concat()).wrong,
            [Affected]
        );
        row.runs = 20;
        assert_eq!(tally(&row, &one_of_twenty[18..]).wrong, []);
        let whole = tally(&row, &one_of_twenty);
        assert_eq!((whole.undecided, whole.forbidden), (0, 1));
        assert_eq!(tally(&row, &[]).words(), "not run yet");
    }

    #[test]
    fn where_nothing_is_wanted_only_what_leaves_it_open_is_undecided() {
        use Answer::{Affected, Inconclusive, NotAffected};
        let row = Row { wanted: None, ..parse(ROW).unwrap().remove(0) };
        let answers = [NotAffected, Inconclusive, Inconclusive, Affected];
        assert_eq!(tally(&row, &answers).undecided, 2);
    }

    #[test]
    fn a_line_may_count_many_runs() {
        let row = parse(ROW).unwrap().remove(0);
        let answers = BTreeMap::from([(Answer::NotAffected, 195), (Answer::Affected, 5)]);
        let line = Line { answers, seconds: None, ..line(&row, Answer::NotAffected) };
        let tally = Tally::of(&row, &[&line]);
        assert_eq!((tally.runs, tally.forbidden, tally.seconds), (200, 5, None));
    }
}
