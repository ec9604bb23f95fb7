//! Studies that take turns, one block each. They share one error rate, which is split by their
//! claims ([`analysis::together`]).

use crate::commands::run::{Done, Running};
use analysis::together::{self, Claims};
use model::record::Share;
use runner::End;
use std::time::{Duration, Instant};

/// Blocks of a study that may begin after the time is up, if they would settle its verdict.
const OVERTIME: u32 = 2;

/// The studies that take turns.
pub struct Turns<'a> {
    all: Vec<Turn<'a>>,
    share: Share,
    until: Instant,
}

/// A study and the state of its turns.
struct Turn<'a> {
    running: Running<'a>,
    claims: Claims,
    /// How the study ended, if it cannot continue.
    end: Option<End>,
    overtime: u32,
}

/// A study that waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    place: usize,
    blocks: u32,
    /// Expected time of one block.
    block: Duration,
    /// Expected time until the study has a verdict.
    left: Duration,
}

impl<'a> Turns<'a> {
    /// Lets these studies take turns until this moment.
    pub fn new(all: Vec<Running<'a>>, until: Instant) -> Self {
        let studies = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let turn = |running| Turn { running, claims: Claims::default(), end: None, overtime: 0 };
        let share = Share { studies, affected: 1, not_affected: 1 };
        let mut turns = Turns { all: all.into_iter().map(turn).collect(), share, until };
        // Earlier results of a study that is continued count too.
        turns.all.iter_mut().for_each(|turn| turn.claim(studies));
        turns.share_out();
        turns
    }

    /// Runs the next block. Returns false if there was none to run.
    pub fn run_block(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        let Some(place) = self.next(left) else { return false };
        let (settled, studies) = (self.settled(), self.all.len());
        let all = self.share.studies;
        let Some(turn) = self.all.get_mut(place) else { return false };
        turn.overtime += u32::from(left.is_zero());
        turn.running.show_place(settled, studies, left);
        match turn.running.turn() {
            None | Some(End::Complete) => {}
            Some(End::Interrupted) => return false,
            Some(end) => turn.end = Some(end),
        }
        turn.claim(all);
        self.share_out();
        true
    }

    /// Ends all studies and returns them in order.
    pub fn end(self, interrupted: bool) -> Vec<Done> {
        let end = |turn: Turn| {
            let open = interrupted && !turn.running.underway().is_settled();
            let end = turn.end.unwrap_or(if open { End::Interrupted } else { End::Complete });
            turn.running.end(end)
        };
        self.all.into_iter().map(end).collect()
    }

    fn settled(&self) -> usize {
        self.all.iter().filter(|turn| !turn.is_open()).count()
    }

    /// The next study: among the studies nearest to a verdict for which time is left, the one
    /// with the fewest blocks. Among equals, the one with the shortest block: each claim makes
    /// claims easier for the other studies, so the cheapest studies come first.
    fn next(&self, left: Duration) -> Option<usize> {
        let is_late = left.is_zero();
        let waiting = |(place, turn): (usize, &Turn)| {
            let underway = turn.running.underway();
            let (blocks, more) = (underway.blocks(), underway.blocks_left());
            let late = is_late && blocks > 0 && more.saturating_add(turn.overtime) > OVERTIME;
            let block = underway.block_time();
            let left = block.saturating_mul(more);
            (turn.is_open() && !late).then_some(Waiting { place, blocks, block, left })
        };
        next(self.all.iter().enumerate().filter_map(waiting).collect(), left)
    }

    /// Gives each study its part of the error rate, according to the claims of all studies.
    fn share_out(&mut self) {
        let claims = self.all.iter().map(|turn| turn.claims);
        self.share = together::share(self.share.studies, claims);
        let share = self.share;
        self.all.iter_mut().for_each(|turn| turn.running.underway_mut().share_error_rate(share));
    }
}

impl Turn<'_> {
    /// Whether the study can continue and has no verdict yet.
    fn is_open(&self) -> bool {
        self.end.is_none() && !self.running.underway().is_settled()
    }

    /// Finds the claim of this study, as one of `studies`.
    fn claim(&mut self, studies: u32) {
        let underway = self.running.underway_mut();
        // A study that broke has no verdict, whatever its trials show.
        self.claims = match self.end.is_none() && underway.blocks() > 0 {
            true => Claims::of(studies, |share| underway.state_with(share)),
            false => Claims::default(),
        };
    }
}

/// The place of the study whose turn is next, if `left` is the time left.
fn next(mut all: Vec<Waiting>, left: Duration) -> Option<usize> {
    all.sort_by_key(|one| (one.left, one.place));
    let mut needed = Duration::ZERO;
    let fits = all.iter().take_while(|one| {
        let first = needed.is_zero();
        needed = needed.saturating_add(one.left);
        first || needed <= left
    });
    fits.min_by_key(|one| (one.blocks, one.block, one.place)).map(|one| one.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(all: &[(u32, u64)]) -> Vec<Waiting> {
        let one = |(place, (blocks, left)): (usize, &(u32, u64))| Waiting {
            place,
            blocks: *blocks,
            block: Duration::from_secs(1),
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

    #[test]
    fn of_studies_with_as_many_blocks_the_one_with_the_shortest_is_next() {
        let of = |blocks: [u64; 3]| {
            let mut all = waiting(&[(6, 10), (6, 10), (6, 10)]);
            for (one, seconds) in all.iter_mut().zip(blocks) {
                one.block = Duration::from_secs(seconds);
            }
            next(all, Duration::from_secs(200))
        };
        assert_eq!(of([3, 1, 2]), Some(1));
        assert_eq!(of([2, 2, 2]), Some(0));
    }
}
