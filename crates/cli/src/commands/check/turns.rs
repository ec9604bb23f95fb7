//! Studies that take turns, a block each, and share one error rate by what they claim
//! ([`analysis::together`]).

use crate::commands::run::{Done, Running};
use analysis::together::{least_claims, most_claims};
use model::State;
use model::record::Share;
use runner::End;
use std::time::{Duration, Instant};

/// Blocks of a study that may begin after the time, where so many would settle it.
const OVERTIME: u32 = 2;

/// Studies that were begun together.
pub struct Turns<'a> {
    all: Vec<Turn<'a>>,
    share: Share,
    until: Instant,
}

/// A study, and how its turns went.
struct Turn<'a> {
    running: Running<'a>,
    /// The least number of claims with which it is one of them.
    affected: Option<u32>,
    not_affected: Option<u32>,
    /// How it ended, where it cannot go on.
    end: Option<End>,
    overtime: u32,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    place: usize,
    blocks: u32,
    left: Duration,
}

impl<'a> Turns<'a> {
    /// Of these studies, until then.
    pub fn new(all: Vec<Running<'a>>, until: Instant) -> Self {
        let studies = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let turn =
            |running| Turn { running, affected: None, not_affected: None, end: None, overtime: 0 };
        let share = Share { studies, affected: 1, not_affected: 1 };
        let mut turns = Turns { all: all.into_iter().map(turn).collect(), share, until };
        // What a study that goes on has measured before counts.
        turns.all.iter_mut().for_each(|turn| turn.claim(share));
        turns.share_out();
        turns
    }

    /// Runs the next block; whether there was one.
    pub fn take(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        let Some(place) = self.next(left) else { return false };
        let (settled, studies) = (self.settled(), self.all.len());
        let share = self.share;
        let Some(turn) = self.all.get_mut(place) else { return false };
        turn.overtime += u32::from(left.is_zero());
        turn.running.tell_place(settled, studies, left);
        match turn.running.turn() {
            None | Some(End::Complete) => {}
            Some(End::Interrupted) => return false,
            Some(end) => turn.end = Some(end),
        }
        turn.claim(share);
        self.share_out();
        true
    }

    /// Ends all studies that ran a block, in their order.
    pub fn end(self, interrupted: bool) -> Vec<Done> {
        let ran = self
            .all
            .into_iter()
            .filter(|turn| turn.running.underway().blocks() > 0 || turn.end.is_some());
        let end = |turn: Turn| {
            let open = interrupted && !turn.running.underway().is_settled();
            let end = turn.end.unwrap_or(if open { End::Interrupted } else { End::Complete });
            turn.running.end(end)
        };
        ran.map(end).collect()
    }

    fn settled(&self) -> usize {
        self.all.iter().filter(|turn| !turn.is_open()).count()
    }

    /// The study whose turn it is: of those that time is left for, which are nearest to a verdict,
    /// the one with the fewest blocks.
    fn next(&self, left: Duration) -> Option<usize> {
        let is_late = left.is_zero();
        let waiting = |(place, turn): (usize, &Turn)| {
            let underway = turn.running.underway();
            let (blocks, more) = (underway.blocks(), underway.blocks_left());
            let late = is_late && blocks > 0 && more.saturating_add(turn.overtime) > OVERTIME;
            let left = underway.block_time().saturating_mul(more);
            (turn.is_open() && !late).then_some(Waiting { place, blocks, left })
        };
        next(self.all.iter().enumerate().filter_map(waiting).collect(), left)
    }

    /// Gives each study the part of the error rate that the claims of all allow.
    fn share_out(&mut self) {
        let studies = self.share.studies;
        let affected = most_claims(studies, self.all.iter().map(|turn| turn.affected));
        if affected != self.share.affected {
            self.share.affected = affected;
            let share = self.share;
            self.all.iter_mut().for_each(|turn| turn.claim(share));
        }
        self.share.not_affected =
            most_claims(studies, self.all.iter().map(|turn| turn.not_affected));
        let share = self.share;
        self.all.iter_mut().for_each(|turn| turn.running.underway_mut().share_error_rate(share));
    }
}

impl Turn<'_> {
    /// Whether it can go on, and has no verdict.
    fn is_open(&self) -> bool {
        self.end.is_none() && !self.running.underway().is_settled()
    }

    /// Finds with how many claims it would be one of them.
    fn claim(&mut self, share: Share) {
        let underway = self.running.underway_mut();
        if underway.blocks() == 0 {
            return;
        }
        let mut says = |share: Share, state| underway.state_with(share) == state;
        let all = share.studies;
        self.affected =
            least_claims(all, |affected| says(Share { affected, ..share }, State::Affected));
        self.not_affected = least_claims(all, |not_affected| {
            says(Share { not_affected, ..share }, State::NotAffected)
        });
    }
}

/// Whose turn it is, where so much time is left.
fn next(mut all: Vec<Waiting>, left: Duration) -> Option<usize> {
    all.sort_by_key(|one| (one.left, one.place));
    let mut needed = Duration::ZERO;
    let fits = all.iter().take_while(|one| {
        let first = needed.is_zero();
        needed = needed.saturating_add(one.left);
        first || needed <= left
    });
    fits.min_by_key(|one| (one.blocks, one.place)).map(|one| one.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(all: &[(u32, u64)]) -> Vec<Waiting> {
        let one = |(place, (blocks, left)): (usize, &(u32, u64))| Waiting {
            place,
            blocks: *blocks,
            left: Duration::from_secs(*left),
        };
        all.iter().enumerate().map(one).collect()
    }

    #[test]
    fn those_that_time_is_left_for_take_turns() {
        let seconds = Duration::from_secs;
        let all = waiting(&[(3, 10), (2, 20), (0, 90)]);
        assert_eq!(next(all.clone(), seconds(200)), Some(2));
        assert_eq!(next(all.clone(), seconds(40)), Some(1));
        assert_eq!(next(all.clone(), seconds(15)), Some(0));
        assert_eq!(next(all, seconds(0)), Some(0));
        assert_eq!(next(Vec::new(), seconds(9)), None);
    }
}
