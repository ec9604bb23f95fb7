//! Studies that take turns, one block each. They share one error rate, which is split by their
//! claims ([`analysis::together`]).

use crate::commands::run::{Done, Running};
use analysis::together::{self, Claims};
use model::State;
use model::record::Share;
use runner::End;
use std::time::{Duration, Instant};

/// Blocks of a study that may begin after the time is up, if they would settle its verdict.
const OVERTIME: u32 = 2;

/// Most blocks that one study may run before all take turns. Usually it has a verdict by then, so
/// that the user soon sees one.
const FIRST: u32 = 16;

/// What the turns need of a study.
pub trait TakesTurns {
    /// Runs the next block. Returns how the study ended if that was the last block.
    fn run_block(&mut self) -> Option<End>;
    /// Shows how many studies are settled, and how much time is left.
    fn show(&mut self, settled: usize, of: usize, left: Duration);
    /// Blocks so far.
    fn blocks(&self) -> u32;
    /// Number of blocks that would settle the verdict.
    fn blocks_left(&self) -> u32;
    /// Expected time of one block.
    fn block_time(&self) -> Duration;
    /// Whether the verdict stands, or no block is left.
    fn is_settled(&self) -> bool;
    /// Says that the verdict stands, after this time, and how many studies have none yet.
    fn say_settled(&mut self, after: Duration, open: usize);
    /// The verdict with another share of the error rate.
    fn state_with(&mut self, share: Share) -> State;
    /// Sets the share of the error rate.
    fn share_error_rate(&mut self, share: Share);
}

impl TakesTurns for Running<'_> {
    fn run_block(&mut self) -> Option<End> {
        self.turn()
    }

    fn show(&mut self, settled: usize, of: usize, left: Duration) {
        self.show_place(settled, of, left);
    }

    fn blocks(&self) -> u32 {
        self.underway().blocks()
    }

    fn blocks_left(&self) -> u32 {
        self.underway().blocks_left()
    }

    fn block_time(&self) -> Duration {
        self.underway().block_time()
    }

    fn is_settled(&self) -> bool {
        self.underway().is_settled()
    }

    fn say_settled(&mut self, after: Duration, open: usize) {
        self.show_settled(after, open);
    }

    fn state_with(&mut self, share: Share) -> State {
        self.underway_mut().state_with(share)
    }

    fn share_error_rate(&mut self, share: Share) {
        self.underway_mut().share_error_rate(share);
    }
}

/// The studies that take turns.
pub struct Turns<S> {
    all: Vec<Turn<S>>,
    share: Share,
    began: Instant,
    until: Instant,
}

/// A study and the state of its turns.
struct Turn<S> {
    study: S,
    claims: Claims,
    /// How the study ended, if it cannot continue.
    end: Option<End>,
    overtime: u32,
    /// Whether the user knows the verdict.
    said: bool,
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

impl<S: TakesTurns> Turns<S> {
    /// Lets these studies take turns until this moment. `check` began at `began`.
    pub fn new(all: Vec<S>, began: Instant, until: Instant) -> Self {
        let studies = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let share = Share { studies, affected: 1, not_affected: 1 };
        let all = all.into_iter().map(Turn::new).collect();
        let mut turns = Turns { all, share, began, until };
        // Earlier results of a study that is continued count too.
        turns.all.iter_mut().for_each(|turn| turn.claim(studies));
        turns.share_out();
        turns
    }

    /// Runs the next block. Returns false if there was none to run, or if it was interrupted.
    pub fn run_block(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        let Some(place) = self.next(left) else { return false };
        let (settled, studies) = (self.settled(), self.all.len());
        let all = self.share.studies;
        let Some(turn) = self.all.get_mut(place) else { return false };
        turn.overtime += u32::from(left.is_zero());
        turn.study.show(settled, studies, left);
        let mut interrupted = false;
        match turn.study.run_block() {
            None | Some(End::Complete) => {}
            Some(End::Interrupted) => interrupted = true,
            Some(end) => turn.end = Some(end),
        }
        // A trial of an interrupted block may have hung and withdraw a claim. Then the claims of
        // the other studies have to hold with a smaller share.
        turn.claim(all);
        self.share_out();
        if !interrupted {
            self.say_settled();
        }
        !interrupted
    }

    /// Says each verdict that stands now. It may stand by the claims of other studies. The end of a
    /// single study says enough.
    fn say_settled(&mut self) {
        if self.all.len() == 1 {
            return;
        }
        let (open, after) = (self.all.len() - self.settled(), self.began.elapsed());
        for turn in &mut self.all {
            if turn.end.is_none() && turn.study.is_settled() && !turn.said {
                turn.said = true;
                turn.study.say_settled(after, open);
            }
        }
    }

    fn settled(&self) -> usize {
        self.all.iter().filter(|turn| !turn.is_open()).count()
    }

    /// The next study. Until one has a verdict, it is the one nearest to a verdict. Then it is,
    /// among the studies nearest to a verdict for which time is left, the one with the fewest
    /// blocks. Among equals, it is the one with the shortest block: each claim makes claims easier
    /// for the other studies, so the cheapest studies come first.
    fn next(&self, left: Duration) -> Option<usize> {
        let is_late = left.is_zero();
        let waiting = |(place, turn): (usize, &Turn<S>)| {
            let (blocks, more) = (turn.study.blocks(), turn.study.blocks_left());
            let late = is_late && blocks > 0 && more.saturating_add(turn.overtime) > OVERTIME;
            let block = turn.study.block_time();
            let left = block.saturating_mul(more);
            (turn.is_open() && !late).then_some(Waiting { place, blocks, block, left })
        };
        let waiting: Vec<Waiting> = self.all.iter().enumerate().filter_map(waiting).collect();
        match self.settled() {
            0 => first(&waiting).or_else(|| next(waiting, left)),
            _ => next(waiting, left),
        }
    }

    /// Gives each study its part of the error rate, according to the claims of all studies.
    fn share_out(&mut self) {
        let claims = self.all.iter().map(|turn| &turn.claims);
        self.share = together::share(self.share.studies, claims);
        let share = self.share;
        self.all.iter_mut().for_each(|turn| turn.study.share_error_rate(share));
    }
}

impl Turns<Running<'_>> {
    /// Ends all studies and returns them in order.
    pub fn end(self, interrupted: bool) -> Vec<Done> {
        let end = |turn: Turn<Running>| {
            let open = interrupted && !turn.study.is_settled();
            let end = turn.end.unwrap_or(if open { End::Interrupted } else { End::Complete });
            turn.study.end(end)
        };
        self.all.into_iter().map(end).collect()
    }
}

impl<S: TakesTurns> Turn<S> {
    fn new(study: S) -> Self {
        Turn { study, claims: Claims::default(), end: None, overtime: 0, said: false }
    }

    /// Whether the study can continue and has no verdict yet.
    fn is_open(&self) -> bool {
        self.end.is_none() && !self.study.is_settled()
    }

    /// Finds the claims of this study, as one of `studies`.
    fn claim(&mut self, studies: u32) {
        // A study that broke has no verdict, whatever its trials show.
        self.claims = match self.end.is_none() && self.study.blocks() > 0 {
            true => Claims::of(studies, |share| self.study.state_with(share)),
            false => Claims::default(),
        };
    }
}

/// The place of the study nearest to a verdict, unless it has had all of its blocks.
fn first(all: &[Waiting]) -> Option<usize> {
    let nearest = all.iter().min_by_key(|one| (one.left, one.place))?;
    (all.len() > 1 && nearest.blocks < FIRST).then_some(nearest.place)
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

    /// A study that says `not-affected` with two parts of the error rate, until a trial hangs.
    struct Fake {
        /// Whether the next block is interrupted because one of its trials hangs.
        hangs: bool,
        has_hung: bool,
        share: Option<Share>,
        /// How many studies had no verdict when this one had.
        said: Vec<usize>,
    }

    impl TakesTurns for Fake {
        fn run_block(&mut self) -> Option<End> {
            self.has_hung = self.hangs;
            self.hangs.then_some(End::Interrupted)
        }

        fn show(&mut self, _: usize, _: usize, _: Duration) {}

        fn blocks(&self) -> u32 {
            9
        }

        fn blocks_left(&self) -> u32 {
            1
        }

        fn block_time(&self) -> Duration {
            Duration::from_secs(1)
        }

        fn is_settled(&self) -> bool {
            !self.hangs
        }

        fn say_settled(&mut self, _: Duration, open: usize) {
            self.said.push(open);
        }

        fn state_with(&mut self, share: Share) -> State {
            match !self.has_hung && share.not_affected >= 2 {
                true => State::NotAffected,
                false => State::Inconclusive,
            }
        }

        fn share_error_rate(&mut self, share: Share) {
            self.share = Some(share);
        }
    }

    fn fake(hangs: bool) -> Fake {
        Fake { hangs, has_hung: false, share: None, said: Vec::new() }
    }

    #[test]
    fn each_verdict_is_said_once() {
        let began = Instant::now();
        let mut turns = Turns::new(vec![fake(true), fake(false), fake(false)], began, began);
        turns.say_settled();
        turns.say_settled();
        let said: Vec<&[usize]> = turns.all.iter().map(|turn| &turn.study.said[..]).collect();
        assert_eq!(said, [&[][..], &[1], &[1]]);
    }

    #[test]
    fn a_claim_that_an_interrupted_block_withdraws_no_longer_counts_for_the_others() {
        let began = Instant::now();
        let until = began + Duration::from_secs(600);
        let mut turns = Turns::new(vec![fake(true), fake(false)], began, until);
        let share_of = |turns: &Turns<Fake>, place: usize| {
            turns.all[place].study.share.map(|share| share.not_affected)
        };
        assert_eq!(share_of(&turns, 1), Some(2));
        assert!(!turns.run_block());
        assert_eq!(share_of(&turns, 1), Some(1));
    }

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
    fn the_study_nearest_to_a_verdict_goes_on_until_it_has_one() {
        assert_eq!(first(&waiting(&[(3, 10), (9, 5), (0, 7)])), Some(1));
        // It has had its blocks, and there may be none that reaches a verdict.
        assert_eq!(first(&waiting(&[(3, 10), (FIRST, 5), (0, 7)])), None);
        assert_eq!(first(&waiting(&[(3, 10)])), None);
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
