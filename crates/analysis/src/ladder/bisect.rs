//! Bisects a list of versions: runs only as many as are needed to find the two versions between
//! which the effect changed.

use model::ladder::{Ladder, Step};

/// Runs versions by their index, in addition to earlier runs.
pub trait Runs {
    /// Why no more versions can be run.
    type Error;

    /// Runs those of these versions that have not been run yet.
    ///
    /// # Errors
    /// If no more can be run, for example because the user interrupts.
    fn run(&mut self, places: &[usize]) -> Result<(), Self::Error>;

    /// Whether the version at this index has a record.
    fn has_record(&self, place: usize) -> bool;

    /// The ladder of only these versions.
    fn ladder(&self, places: &[usize]) -> Ladder;
}

/// The indices of the versions that were run, in order.
///
/// The first and the last version are run together. If they do not differ, there is nothing to
/// find. Otherwise the middle version is run, and the search continues in the half with the
/// larger part of the difference. If a version gives no record, its neighbour is used.
///
/// # Errors
/// The error of [`Runs::run`].
pub fn bisect<R: Runs>(count: usize, runs: &mut R) -> Result<Vec<usize>, R::Error> {
    let (mut low, mut high) = (0, count.saturating_sub(1));
    let mut done = vec![low, high];
    runs.run(&done)?;
    if !differ(runs, low, high) {
        return Ok(done);
    }
    while high - low > 1 {
        let Some(middle) = middle(low, high, runs, &mut done)? else { break };
        let ladder = runs.ladder(&[low, middle, high]);
        let [before, after] = ladder.steps.as_slice() else { break };
        match weight(before) >= weight(after) {
            true => high = middle,
            false => low = middle,
        }
    }
    done.sort_unstable();
    done.dedup();
    Ok(done)
}

/// The version nearest to the middle that gives a record.
fn middle<R: Runs>(
    low: usize,
    high: usize,
    runs: &mut R,
    done: &mut Vec<usize>,
) -> Result<Option<usize>, R::Error> {
    let half = low + (high - low) / 2;
    let mut between: Vec<usize> = (low + 1..high).collect();
    between.sort_by_key(|place| place.abs_diff(half));
    for place in between {
        done.push(place);
        runs.run(&[place])?;
        if runs.has_record(place) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

fn differ(runs: &impl Runs, low: usize, high: usize) -> bool {
    let ladder = runs.ladder(&[low, high]);
    ladder.steps.first().is_some_and(Step::differs)
}

/// How much of a change a step has. A change that was shown goes before one that was not; then
/// the size counts.
fn weight(step: &Step) -> (bool, u64) {
    let size = step.shift.as_ref().map_or(0.0, |shift| shift.shift.abs());
    // The size is in thousandths, so that it can be ordered. An effect is far below the limit of
    // this type.
    (step.differs(), (size * 1e3) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ChangeState, testing};

    /// Versions that change at `boundary`; some of them give no record.
    struct Fake {
        boundary: usize,
        broken: Vec<usize>,
        ran: Vec<usize>,
    }

    impl Runs for Fake {
        type Error = std::convert::Infallible;

        fn run(&mut self, places: &[usize]) -> Result<(), Self::Error> {
            self.ran.extend(places);
            Ok(())
        }

        fn has_record(&self, place: usize) -> bool {
            !self.broken.contains(&place)
        }

        fn ladder(&self, places: &[usize]) -> Ladder {
            let other = |two: &[usize]| (two[0] < self.boundary) != (two[1] < self.boundary);
            let step = |two: &[usize]| {
                let state = match other(two) {
                    true => ChangeState::Differs,
                    false => ChangeState::NoDifferenceShown,
                };
                testing::step(&two[0].to_string(), &two[1].to_string(), state)
            };
            testing::ladder(places.windows(2).map(step).collect())
        }
    }

    fn ran(count: usize, boundary: usize, broken: &[usize]) -> Vec<usize> {
        let mut fake = Fake { boundary, broken: broken.to_vec(), ran: Vec::new() };
        let Ok(ran) = bisect(count, &mut fake);
        ran
    }

    #[test]
    fn both_neighbours_of_the_boundary_are_run_and_few_others() {
        for boundary in 1..11 {
            let ran = ran(11, boundary, &[]);
            assert!(
                ran.contains(&boundary) && ran.contains(&(boundary - 1)),
                "{boundary}: {ran:?}"
            );
            assert!(ran.len() <= 6, "{boundary}: {ran:?}");
        }
    }

    #[test]
    fn where_the_ends_do_not_differ_nothing_else_is_run() {
        assert_eq!(ran(11, 99, &[]), [0, 10]);
    }

    #[test]
    fn a_version_without_a_record_gives_way_to_its_neighbour() {
        let ran = ran(5, 1, &[2]);
        assert!(ran.contains(&0) && ran.contains(&1), "{ran:?}");
        assert!(super::tests::ran(4, 1, &[1, 2]).len() == 4);
    }
}
