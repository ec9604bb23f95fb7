//! Boots the versions of a bisection, each boot in a new guest.

use super::log::Log;
use super::tree::{Built, Tree};
use crate::commands::matrix::{Name, Way};
use crate::exit::{self, Failure};
use crate::output;
use bisect::{Boot, Boots};
use model::{Comparison, Identity, Judged, Meta, Role, State};
use report::prose::Prose;
use scenarios::AnyScenario;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Boots guests with the kernels of a list, or with the kernels that a tree builds.
pub struct Booted<'a> {
    /// The scenario.
    pub scenario: &'static dyn AnyScenario,
    /// Where guests run.
    pub way: Way<'a>,
    /// The words of `run` for a given seed.
    pub words: &'a dyn Fn(u64) -> Vec<String>,
    /// The seed of the bisection.
    pub seed: u64,
    /// The log of earlier boots.
    pub log: &'a mut Log,
    /// Builds a version that is a commit; None if the versions are kernels.
    pub building: Option<Building<'a>>,
    /// Whether the size of the effect is compared with a threshold.
    pub by_effect: bool,
    /// The version whose last boot gave no record.
    pub lost: Option<String>,
    /// Number of guests that were started, with those whose results are in the log.
    pub started: u32,
}

/// Why a boot gave no record.
enum Without {
    /// There is no kernel to boot.
    Kernel(String),
    /// The guest ended in another way.
    Record(String),
}

/// Builds commits.
pub struct Building<'a> {
    /// The tree of the commits.
    pub tree: &'a Tree<'a>,
    /// The build command.
    pub command: String,
    /// The kernel that the command builds.
    pub kernel: String,
    /// Finds the image of this kernel, if a guest can boot it.
    pub look: &'a dyn Fn(&str) -> Result<PathBuf, Failure>,
    /// The commit that was built last, and the result of the build.
    pub built: Option<(String, Built)>,
}

impl Building<'_> {
    /// Checks a commit out and builds it. A build that ends with success may write no kernel, for
    /// example if the commit changes only documentation. The user is told, because a script that
    /// hides an error looks the same.
    fn build(&self, commit: &str) -> Result<Built, Failure> {
        self.tree.check_out(commit)?;
        let before = self.image();
        let built = self.tree.build(&self.command)?;
        let unchanged = before.filter(|before| self.image().as_ref() == Some(before));
        if let (Built::Yes, Some((image, _))) = (&built, unchanged) {
            output::note(&format!(
                "{} ended with success and left {} as it was: {} has the verdict of the kernel \
                 that was there before",
                self.command,
                image.display(),
                self.tree.shown(commit)
            ));
        }
        Ok(built)
    }

    /// The kernel as `vm --kernel` takes it: a path, or a name such as built:plain.
    fn name(&self) -> String {
        let path = self.tree.folder().join(&self.kernel);
        match path.exists() || !self.kernel.contains(':') {
            true => path.display().to_string(),
            false => self.kernel.clone(),
        }
    }

    /// The image that a guest would boot, and when it was written; None if there is none.
    fn image(&self) -> Option<(PathBuf, Written)> {
        let image = (self.look)(&self.name()).ok()?;
        let written = written(&image)?;
        Some((image, written))
    }
}

/// Inode, time of the last change in seconds and nanoseconds, and size of a file.
type Written = (u64, i64, i64, u64);

/// When a file was written, if it exists.
fn written(path: &Path) -> Option<Written> {
    let file = std::fs::metadata(path).ok()?;
    Some((file.ino(), file.ctime(), file.ctime_nsec(), file.size()))
}

impl Boots for Booted<'_> {
    type Error = Failure;

    fn boot(&mut self, version: &str, number: u32) -> Result<Boot, Failure> {
        if let Some(came) = self.log.booted(version, number) {
            return Ok(came.clone());
        }
        let came = match self.run(version, number)? {
            Ok(record) => {
                self.lost = None;
                let threshold = self.log.threshold().filter(|_| self.by_effect);
                answer(&record, self.scenario.meta(), threshold)
            }
            // A failed build may work when the bisection continues later, so it is not logged.
            Err(Without::Kernel(why)) => return Ok(Boot::Untestable(why)),
            // One guest without a record may be chance. If it happens twice, the kernel is the
            // cause.
            Err(Without::Record(why)) if self.lost.as_deref() == Some(version) => {
                Boot::Untestable(why)
            }
            Err(Without::Record(why)) => {
                self.lost = Some(version.to_owned());
                Boot::Nothing(why)
            }
        };
        self.log.add_boot(version, number, &came)?;
        Ok(came)
    }
}

impl Booted<'_> {
    /// Finds the threshold, which is the middle of the effects of both ends. It boots each end
    /// once. These boots count for nothing else.
    ///
    /// # Errors
    /// If it finds no threshold, or the user interrupts.
    pub fn find_threshold(&mut self, ends: &[String; 2]) -> Result<(), Failure> {
        if self.log.threshold().is_some() {
            return Ok(());
        }
        let (mut sizes, mut margin) = (Vec::new(), 0.0);
        for (end, is_bad) in ends.iter().zip([false, true]) {
            let size = match self.run(end, 0)? {
                Ok(record) => {
                    margin = record.plan.judging.margin;
                    clear_effect(&record, is_bad)
                        .ok_or_else(|| "its first boot shows no effect that can be used".to_owned())
                }
                Err(Without::Kernel(why) | Without::Record(why)) => Err(why),
            };
            sizes.push(size.map_err(|why| {
                Failure::broken(format!("--by-effect: {}: {why}", self.shown(end)))
            })?);
        }
        let (good, bad) = (&sizes[0], &sizes[1]);
        // A smaller difference may be chance, and its middle would tell nothing. A bad end that
        // hung lost more than its figure says.
        let least = if bad.is_at_least { 0.0 } else { margin };
        match bad.size - good.size > least {
            true => self.log.add_threshold(f64::midpoint(good.size, bad.size)),
            false => Err(Failure::broken(
                "--by-effect: the effect of --bad has to be larger than that of --good, by more \
                 than the margin of the verdict; in their first boots it is not",
            )),
        }
    }

    /// The name of a version for messages.
    pub fn shown(&self, version: &str) -> String {
        match &self.building {
            Some(building) => building.tree.shown(version),
            None => version.to_owned(),
        }
    }

    /// Boots a version. Returns its record, or why there is none.
    fn run(&mut self, version: &str, number: u32) -> Result<Result<Judged, Without>, Failure> {
        let asked = match self.kernel(version)? {
            Ok(kernel) => kernel,
            Err(why) => return Ok(Err(Without::Kernel(why))),
        };
        let shown = match number {
            0 => format!("{}, first boot", self.shown(version)),
            number => format!("{}, boot {number}", self.shown(version)),
        };
        self.started += 1;
        let seed = runner::seed_of_trial(self.seed, self.started) >> 11;
        let words = (self.words)(seed);
        let rows = self.way.rows(&[Name { asked, shown }], self.scenario, &words)?;
        let row = rows.into_iter().next();
        let row = row.ok_or_else(|| Failure::broken("the guest returned no result"))?;
        // The way a guest ended is a result of its kernel; a failure of the host is not.
        let is_ending = row.is_ending();
        match row.into_record() {
            Ok(record) => Ok(Ok(record)),
            Err(why) if is_ending => Ok(Err(Without::Record(why))),
            Err(why) => Err(Failure::broken(why)),
        }
    }

    /// The kernel of a version, or why there is none.
    fn kernel(&mut self, version: &str) -> Result<Result<String, String>, Failure> {
        let Some(building) = &mut self.building else { return Ok(Ok(version.to_owned())) };
        if building.built.as_ref().is_none_or(|(commit, _)| commit != version) {
            building.built = Some((version.to_owned(), building.build(version)?));
        }
        if let Some((_, Built::No(why))) = &building.built {
            return Ok(Err(why.clone()));
        }
        let kernel = building.name();
        match (building.look)(&kernel) {
            Ok(_) => Ok(Ok(kernel)),
            // The file is no kernel, or the kernel lacks something that a guest needs.
            Err(failure) if failure.code == exit::USAGE => Ok(Err(failure.line)),
            Err(failure) => Err(failure),
        }
    }
}

/// The answer of a record about its version. Without a threshold it is the verdict. With one, the
/// effect is compared with the threshold.
fn answer(record: &Judged, meta: &Meta, threshold: Option<f64>) -> Boot {
    let brief = || Prose::new(record, Some(meta)).brief();
    match (record.judgement.state, threshold) {
        (State::Skipped, _) => Boot::Untestable(brief()),
        (State::Untrustworthy, _) => Boot::Nothing(brief()),
        (state, Some(threshold)) => match effect(record) {
            Some(effect) if effect.shift > threshold => Boot::Bad,
            // A trial that hung has no figure that could be compared, and loses more than any.
            Some(effect) if effect.shift_at_least || hung_more_often(record) => match state {
                State::Affected => Boot::Bad,
                _ => Boot::Nothing(brief()),
            },
            // A cause that was not there has no effect either.
            Some(_) if is_withdrawn(record) => Boot::Nothing(brief()),
            Some(_) => Boot::Good,
            None => Boot::Nothing("the boot shows no effect".to_owned()),
        },
        (State::Affected, None) => Boot::Bad,
        (State::NotAffected, None) => Boot::Good,
        (State::Inconclusive, None) => Boot::Nothing(brief()),
    }
}

/// Whether an arm with the cause hung in a larger share of its trials than its control.
fn hung_more_often(record: &Judged) -> bool {
    let first = record.control().map(|control| &control.id);
    let cases = record.plan.arms.iter().filter(|arm| arm.role == Role::Case);
    cases
        .filter_map(|arm| Some((&arm.id, arm.against.as_ref().or(first)?)))
        .any(|(arm, control)| analysis::blocks::hung_more_often(&record.trials, arm, control))
}

/// Whether the scenario's review took a verdict back that the test alone gives.
fn is_withdrawn(record: &Judged) -> bool {
    let by_test = scenarios::brief(record, Identity::default(), None).review.is_some();
    by_test && record.judgement.state == State::Inconclusive
}

/// The size of the effect of an end.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Size {
    size: f64,
    /// Whether it may be larger.
    is_at_least: bool,
}

/// The effect of an end, if it can set the threshold. What hung lost more than its figure says. So
/// the threshold may lie below that figure, but not above it.
fn clear_effect(record: &Judged, is_bad: bool) -> Option<Size> {
    let doubted = matches!(record.judgement.state, State::Untrustworthy | State::Skipped);
    let effect = effect(record).filter(|_| !doubted && !is_withdrawn(record))?;
    let is_at_least = effect.shift_at_least || hung_more_often(record);
    (!is_at_least || is_bad).then_some(Size { size: effect.shift, is_at_least })
}

/// The largest effect in the judged figure, over all arms with the cause. Each is compared with
/// its control.
fn effect(record: &Judged) -> Option<&Comparison> {
    let measure = &*record.plan.judging.measure;
    let cases = record.judgement.arms.iter().filter(|arm| arm.role == Role::Case);
    let effects = cases.filter_map(|arm| arm.against_control.get(measure));
    effects.max_by(|one, other| one.shift.total_cmp(&other.shift))
}

/// Adds to the error line of an interruption where the log is, and how to continue.
pub fn interrupted(failure: Failure, log: &Log) -> Failure {
    match failure.code {
        exit::INTERRUPTED => Failure {
            line: format!(
                "{}; {} boots are in {}: run the same command to continue",
                failure.line,
                log.boots(),
                log.path.display()
            ),
            code: exit::INTERRUPTED,
        },
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Affected, Inconclusive, NotAffected, Skipped, Untrustworthy};
    use model::Judgement;

    fn of(state: State, threshold: Option<f64>) -> Boot {
        let meta = scenarios::find("mmap-lock").unwrap().meta();
        let mut record = crate::testing::affected_record();
        record.judgement.state = state;
        answer(&record, meta, threshold)
    }

    #[test]
    fn a_kernel_that_was_written_again_is_another_one() {
        let place = tempfile::tempdir().unwrap();
        let kernel = place.path().join("bzImage");
        assert_eq!(written(&kernel), None);
        std::fs::write(&kernel, "a").unwrap();
        let before = written(&kernel);
        assert_eq!(before, written(&kernel));
        let new = place.path().join("new");
        std::fs::write(&new, "a").unwrap();
        std::fs::rename(&new, &kernel).unwrap();
        assert_ne!(before, written(&kernel));
    }

    #[test]
    fn a_verdict_is_an_answer_or_none() {
        assert_eq!([Affected, NotAffected].map(|state| of(state, None)), [Boot::Bad, Boot::Good]);
        for state in [Inconclusive, Untrustworthy] {
            assert!(matches!(of(state, None), Boot::Nothing(_)), "{state:?}");
        }
        assert!(matches!(of(Skipped, None), Boot::Untestable(_)));
    }

    /// A record whose arm with the cause loses about 1000 ms/s, and hangs in no trial.
    fn without_hangs() -> Judged {
        let mut record = crate::testing::affected_record();
        record.facts.trials.iter_mut().for_each(|trial| trial.observation.hang = false);
        for arm in &mut record.judgement.arms {
            arm.against_control.values_mut().for_each(|shift| shift.shift_at_least = false);
        }
        record
    }

    #[test]
    fn by_effect_the_size_is_the_answer_whatever_the_verdict() {
        let meta = scenarios::find("mmap-lock").unwrap().meta();
        for state in [Affected, NotAffected] {
            let mut record = without_hangs();
            record.judgement.state = state;
            assert_eq!(answer(&record, meta, Some(500.0)), Boot::Bad);
            assert_eq!(answer(&record, meta, Some(2000.0)), Boot::Good);
        }
        assert!(matches!(of(Untrustworthy, Some(500.0)), Boot::Nothing(_)));
        assert!(matches!(of(Skipped, Some(500.0)), Boot::Untestable(_)));
    }

    #[test]
    fn by_effect_a_hang_is_no_good_answer_and_sets_no_threshold() {
        let mut record = without_hangs();
        let case = record.judgement.arms.iter_mut().find(|arm| arm.role == Role::Case).unwrap();
        let id = case.id.clone();
        assert!(!clear_effect(&record, false).unwrap().is_at_least);
        for trial in record.facts.trials.iter_mut().filter(|trial| trial.arm == id) {
            trial.observation.hang = true;
        }
        let meta = scenarios::find("mmap-lock").unwrap().meta();
        assert_eq!(answer(&record, meta, Some(1e6)), Boot::Bad);
        record.judgement.state = Inconclusive;
        assert!(matches!(answer(&record, meta, Some(1e6)), Boot::Nothing(_)));
        record.judgement.state = Affected;
        assert_eq!(clear_effect(&record, false), None);
        assert!(clear_effect(&record, true).unwrap().is_at_least, "it lost that and more");
        let doubted = Judged {
            judgement: Judgement { state: Untrustworthy, ..without_hangs().judgement },
            ..without_hangs()
        };
        assert_eq!([false, true].map(|is_bad| clear_effect(&doubted, is_bad)), [None; 2]);
    }
}
