//! The runs of a row counted, and held against what it allows.

use crate::results::Line;
use crate::{Answer, Row};
use std::collections::BTreeMap;

/// The runs of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// How many.
    pub runs: usize,
    /// How often each answer came.
    pub answers: BTreeMap<Answer, usize>,
    /// Answers that came more often than they may.
    pub wrong: Vec<Answer>,
    /// Runs without the wanted answer, where there is one, that were not forbidden either.
    pub undecided: Option<usize>,
    /// Median of how long a run took, in seconds; none without runs.
    pub seconds: Option<f64>,
}

impl Tally {
    /// Counts the runs of a row.
    pub fn of(row: &Row, lines: &[&Line]) -> Self {
        let mut answers = BTreeMap::new();
        lines.iter().for_each(|line| *answers.entry(line.answer).or_insert(0) += 1);
        let runs = lines.len();
        // A share is one of all runs that the row has, else the first of them could exceed it.
        let all = runs.max(row.runs as usize) as f64;
        let too_often = |(answer, count): (&Answer, &usize)| {
            // Rounding must not forbid one in twenty of 5%.
            (*count as f64 > row.most(*answer) * all + 1e-9).then_some(*answer)
        };
        let wrong = answers.iter().filter_map(too_often).collect();
        let undecided = row.wanted.map(|wanted| {
            let open = |answer: &Answer| *answer != wanted && !row.forbidden.contains(answer);
            answers.iter().filter(|(answer, _)| open(answer)).map(|(_, count)| count).sum()
        });
        let mut seconds: Vec<f64> = lines.iter().map(|line| line.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        Tally { runs, answers, wrong, undecided, seconds: seconds.get(runs / 2).copied() }
    }

    /// The answers with their counts, most often first.
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
    use crate::results::tests::line;
    use crate::row::{parse, tests::ROW};

    fn tally(row: &Row, answers: &[Answer]) -> Tally {
        let lines: Vec<Line> = (0..).zip(answers).map(|(run, a)| line(row, run, *a)).collect();
        Tally::of(row, &lines.iter().collect::<Vec<_>>())
    }

    #[test]
    fn answers_are_counted_and_one_that_is_forbidden_is_wrong() {
        use Answer::{Affected, Inconclusive, NotAffected};
        let mut row = parse(ROW).unwrap().remove(0);
        let good = tally(&row, &[NotAffected, Inconclusive, NotAffected]);
        assert_eq!(good.words(), "not-affected 2, inconclusive 1");
        assert_eq!((good.undecided, good.wrong.len(), good.seconds), (Some(1), 0, Some(2.0)));
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
        assert_eq!(tally(&row, &one_of_twenty).undecided, Some(0));
        assert_eq!(tally(&row, &[]).words(), "not run yet");
    }
}
