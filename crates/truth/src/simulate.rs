//! Simulated studies: trials with known stalls, judged like those of a real study.
//!
//! Every study is determined by its seed, so each run of a row gives the same answer on every
//! machine.

use crate::Answer;
use crate::census::{self, Drawn, Fleet};
use crate::checks::Check;
use crate::ladders::{self, Ladders};
use crate::pairs::{self, Compare};
use host::Roots;
use host::disturbance::Snapshot;
use model::machine::Cpu;
use model::record::Plan;
use model::{
    Arm, Changed, Disturbance, Ended, Facts, Judged, Machine, Measure, Observation, Role, Trial,
    Unit,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scenarios::mmap_lock::{META, MmapLockParams};
use scenarios::params::{Counts, Params};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The number of blocks after which a study without a verdict ends, unless its row says otherwise.
/// A real study may run 40 blocks, and then settles more often, whether rightly or wrongly.
const USUAL_BLOCKS: u32 = 24;

/// The minimum number of blocks before a verdict ends a study, as in a real study.
const LEAST_BLOCKS: u32 = 6;

/// The measured time of a trial, in milliseconds.
const WINDOW_MS: f64 = 250.0;

/// The largest loss of an undisturbed trial, in ms/s.
const REST: f64 = 0.5;

/// The largest loss of a trial without a cause, in ms/s: twice the margin. Idle controls of
/// mmap-lock on 2 CPUs lost 13 to 37 ms/s in about one trial of eight.
const MOST_BLIP: f64 = 40.0;

/// Disturbances that are injected into the trials of a study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Simulation {
    /// The exact number of blocks. If None, as many as the verdict needs.
    pub blocks: Option<u32>,
    /// The maximum number of blocks, if the number is not exact.
    pub most_blocks: Option<u32>,
    /// A stall in the arm with the cause only.
    pub stall: Option<Hit>,
    /// A disturbance of every trial, such as another program. The measured thread shows it as its
    /// own run delay.
    pub disturbance: Option<Hit>,
    /// The largest random loss of trials in any arm, in ms/s; 0.5 if None.
    pub noise: Option<f64>,
    /// The probability that a trial of any arm loses up to 40 ms/s without a cause.
    pub blips: f64,
    /// The probability that a trial of the arm with the cause hangs.
    pub hangs: f64,
    /// The probability that a trial with the fix keeps the whole stall. If None, no fix is tried.
    /// The answer is then the outcome of the fix.
    pub fix_fails: Option<f64>,
    /// The part of every stall that remains if the fix does not fail.
    pub fix_leaves: f64,
    /// The additional loss of a trial after a trial with the cause, in ms/s. If it is negative,
    /// that trial loses less, and every trial has a base loss of this size that can be reduced.
    pub next: f64,
    /// Whether a trial of the control that is not judged runs at the start of each block, and
    /// after each trial with the cause.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wash_out: bool,
    /// Time that a hypervisor takes from one CPU.
    pub steal: Option<Steal>,
    /// The block in which the kernel becomes tainted.
    pub tainted_in: Option<u32>,
    /// A comparison of records, with or without a change between them. The answer is the verdict
    /// of the comparison.
    pub compare: Option<Compare>,
    /// A ladder in which each version is compared with the next. The answer is whether a boundary
    /// is named.
    pub ladder: Option<Ladders>,
    /// A fleet without studies of its own. The answer is that of its census.
    pub census: Option<Fleet>,
    /// Studies that are reported together; the first of them have the stall. The answer is about
    /// all of them.
    pub check: Option<Check>,
}

impl Simulation {
    /// The injected disturbances on one line, without those that are at their defaults.
    pub fn injected(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        let keys = value.as_object().into_iter().flatten();
        // A value of 0 is the default here. For a fix, a failure rate of 0 is shown, since the
        // fix exists.
        let usual = ["blips", "hangs", "fix_leaves", "next"];
        let zero = |key: &str, value: &serde_json::Value| {
            usual.contains(&key) && value.as_f64() == Some(0.0)
        };
        let kept = keys.filter(|(key, value)| !value.is_null() && !zero(key, value));
        let injected: Vec<String> = kept.map(|(key, value)| format!("{key} {value}")).collect();
        if injected.is_empty() {
            "nothing".to_owned()
        } else {
            injected.join(", ").replace('"', "")
        }
    }
}

/// A random disturbance of trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hit {
    /// The probability that it disturbs a trial.
    pub rate: f64,
    /// The smallest loss of such a trial, in ms/s.
    pub least: f64,
    /// The largest loss.
    pub most: f64,
}

impl Hit {
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        let lost = self.least + (self.most - self.least) * rng.random_range(0.0..1.0);
        if rng.random_bool(self.rate.clamp(0.0, 1.0)) { lost } else { 0.0 }
    }
}

/// Time that a hypervisor takes from one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steal {
    /// The CPU; it is the measured one.
    pub cpu: u32,
    /// The number of online CPUs.
    pub of: u32,
    /// The share of that CPU's time.
    pub share: f64,
    /// Whether it happens only in trials of the case, as it could by chance.
    #[serde(default)]
    pub case_alone: bool,
}

/// The result of one run of a simulated row.
pub struct Simulated {
    /// The answer.
    pub answer: Answer,
    /// The number of blocks of its study, or the mean of several studies. None for comparisons,
    /// ladders and fleets.
    pub blocks: Option<f64>,
    /// The data behind the answer.
    pub record: Record,
}

/// The data behind an answer.
pub enum Record {
    /// A study. For a comparison it is the last one; for a check it is one with the answer of the
    /// check.
    Study(Box<Judged>),
    /// A fleet.
    Fleet(Drawn),
}

impl Record {
    /// The data as JSON.
    pub fn to_json(&self) -> String {
        match self {
            Record::Study(study) => study.to_json(),
            Record::Fleet(fleet) => fleet.to_json(),
        }
    }
}

/// Simulates a study, a comparison, a ladder, a check or a fleet with this seed.
///
/// # Errors
/// A sentence, if the simulated /proc tree cannot be created.
pub fn simulate(simulation: &Simulation, seed: u64) -> Result<Simulated, String> {
    if let Some(fleet) = &simulation.census {
        let (answer, drawn) = census::simulate(fleet, seed);
        return Ok(Simulated { answer, blocks: None, record: Record::Fleet(drawn) });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    if let Some(compare) = &simulation.compare {
        return Ok(comparison(simulation, compare, &mut rng, seed));
    }
    if let Some(ladder) = &simulation.ladder {
        let mut run = |more: f64, rng: &mut ChaCha8Rng| {
            study(simulation, None, Offsets { control: 0.0, case: more }, rng, seed)
        };
        let (answer, record) = ladders::simulate(ladder, &mut rng, &mut run);
        return Ok(Simulated { answer, blocks: None, record: Record::Study(Box::new(record)) });
    }
    if let Some(check) = &simulation.check {
        return Ok(checked(simulation, check, &mut rng, seed));
    }
    let stolen = match &simulation.steal {
        Some(steal) => Some(stolen(steal).map_err(|error| format!("the fake /proc: {error}"))?),
        None => None,
    };
    let record = study(simulation, stolen.as_ref(), Offsets::default(), &mut rng, seed);
    let fixes = &record.judgement.fixes;
    let answer = match simulation.fix_fails {
        Some(_) => fixes.first().map_or(Answer::NotShown, |fix| fix.outcome.into()),
        None => record.judgement.state.into(),
    };
    let blocks = record.trials.last().map(|trial| f64::from(trial.block) + 1.0);
    Ok(Simulated { answer, blocks, record: Record::Study(Box::new(record)) })
}

/// The offset of a day for each trial of an arm, in ms/s.
#[derive(Debug, Clone, Copy, Default)]
struct Offsets {
    control: f64,
    case: f64,
}

fn study(
    simulation: &Simulation,
    stolen: Option<&Disturbance>,
    offsets: Offsets,
    rng: &mut ChaCha8Rng,
    seed: u64,
) -> Judged {
    let mut facts = empty(simulation, seed);
    let fixes = facts.plan.arms.iter().any(|arm| arm.role == Role::Fix);
    let mut judgement = scenarios::judge(&facts);
    for block in 0..facts.plan.max_blocks {
        let arms = facts.plan.arms.iter();
        let due = |arm: &&Arm| scenarios::is_due(arm, block, &facts, &judgement);
        let due: Vec<String> = arms.filter(due).map(|arm| arm.id.clone()).collect();
        run_block(&mut facts, (block, &due), simulation.next, |arm| {
            trial(simulation, stolen, offsets, rng, (block, arm))
        });
        let may_end = facts.plan.stop_when_settled && block + 1 >= facts.plan.min_blocks;
        if may_end || fixes {
            judgement = scenarios::judge(&facts);
        }
        if may_end && scenarios::settled(&facts.plan, &judgement) {
            break;
        }
    }
    facts.ended = Ended::Complete;
    scenarios::judged(facts)
}

/// Runs the trials of the arms of a block in their random order. `next` is the additional loss of
/// a trial after one with the cause, in ms/s.
fn run_block(
    facts: &mut Facts,
    (block, due): (u32, &[String]),
    next: f64,
    mut trial: impl FnMut(&Arm) -> Trial,
) {
    let arms = facts.plan.arms.clone();
    let mut order = runner::order_of_block(facts.plan.seed, block, arms.len());
    order.retain(|place| due.contains(&arms[*place].id));
    for place in order {
        let is_case =
            |trial: &Trial| arms.iter().any(|a| a.id == trial.arm && a.role == Role::Case);
        let last = facts.trials.last();
        let (after_case, begins) =
            (last.is_some_and(is_case), last.is_none_or(|last| last.block != block));
        let washed = facts.plan.wash_out && (after_case || begins);
        if washed {
            let mut wash_out = trial(&arms[0]);
            carry(&mut wash_out, if after_case { next } else { 0.0 });
            wash_out.started_ms = (facts.trials.len() as f64 - 0.5) * WINDOW_MS;
            facts.wash_outs.push(wash_out);
        }
        let mut judged = trial(&arms[place]);
        carry(&mut judged, if after_case && !washed { next } else { 0.0 });
        judged.started_ms = facts.trials.len() as f64 * WINDOW_MS;
        facts.trials.push(judged);
    }
}

/// Adds the effect of the previous trial to the loss of a trial.
fn carry(trial: &mut Trial, left: f64) {
    if let Some(lost) = trial.observation.measures.get_mut(META.judging.measure.as_ref()) {
        lost.value += left;
    }
}

fn empty(simulation: &Simulation, seed: u64) -> Facts {
    let cpus = simulation.steal.as_ref().map_or(2, |steal| steal.of);
    let cpu = |id| Cpu { id, core: None, package: None, node: None };
    let machine = Machine {
        kernel: "simulated".to_owned(),
        cpus: (0..cpus).map(cpu).collect(),
        tainted: Some(0),
        ..Machine::default()
    };
    let started = "1970-01-01T00:00:00Z".to_owned();
    Facts::new(META.id, plan(simulation, seed), machine, Vec::new(), started)
}

/// The plan that a real study of the same arms has, but for the largest number of blocks.
fn plan(simulation: &Simulation, seed: u64) -> Plan {
    let fix = simulation.fix_fails.map(|_| arm("fix", Role::Fix, 10));
    let control = arm("control", Role::Control, 0);
    // The margin is the same as in a real study.
    let scenario = scenarios::find(META.id);
    let judging = scenario.and_then(|one| one.judging(&control.settings).into_iter().next());
    let most = simulation.most_blocks.unwrap_or(USUAL_BLOCKS);
    let mut plan = Plan {
        arms: [control, arm("case", Role::Case, 10)].into_iter().chain(fix).collect(),
        seed,
        min_blocks: simulation.blocks.unwrap_or(LEAST_BLOCKS),
        max_blocks: simulation.blocks.unwrap_or(most),
        stop_when_settled: simulation.blocks.is_none(),
        judging: judging.unwrap_or(META.judging),
        also: Vec::new(),
        left_out: Vec::new(),
        error_rate: None,
        settle_fixes: true,
        wash_out: simulation.wash_out,
    };
    plan.split_error_rate(1);
    plan
}

fn arm(id: &str, role: Role, busy: u32) -> Arm {
    let busy = Counts::one(busy);
    let settings = MmapLockParams { busy, ..MmapLockParams::default() }.settings();
    let change = (role == Role::Fix).then(|| Changed::Said("an injected fix".to_owned()));
    Arm { id: id.to_owned(), role, settings, against: None, change }
}

fn trial(
    simulation: &Simulation,
    stolen: Option<&Disturbance>,
    offsets: Offsets,
    rng: &mut ChaCha8Rng,
    (block, arm): (u32, &Arm),
) -> Trial {
    let mut lost = rng.random_range(0.0..=simulation.noise.unwrap_or(REST).max(0.0));
    if rng.random_bool(simulation.blips.clamp(0.0, 1.0)) {
        lost += rng.random_range(0.0..MOST_BLIP);
    }
    let disturbed = simulation.disturbance.as_ref().map_or(0.0, |hit| hit.draw(rng));
    lost += (-simulation.next).max(0.0);
    lost += disturbed + if arm.role == Role::Control { offsets.control } else { offsets.case };
    let stall = simulation.stall.as_ref().map_or(0.0, |hit| hit.draw(rng));
    let fails = rng.random_bool(simulation.fix_fails.unwrap_or(0.0).clamp(0.0, 1.0));
    lost += match arm.role {
        Role::Case => stall,
        Role::Fix if fails => stall,
        Role::Fix => stall * simulation.fix_leaves,
        Role::Control | Role::Baseline => 0.0,
    };
    let hang = arm.role == Role::Case && rng.random_bool(simulation.hangs.clamp(0.0, 1.0));
    let steals = |steal: &Steal| arm.role == Role::Case || !steal.case_alone;
    let robbed = simulation.steal.as_ref().filter(|steal| steals(steal));
    lost += robbed.map_or(0.0, |steal| steal.share * 1000.0);
    let mut disturbance = robbed.and(stolen).cloned().unwrap_or_default();
    disturbance.over_ms = Some(WINDOW_MS);
    // Stolen time is not run delay: for the guest, the thread is running.
    disturbance.run_delay_ms = Some(disturbed * WINDOW_MS / 1000.0);
    disturbance.tainted = Some(match simulation.tainted_in {
        Some(from) if block >= from => 1 << 9,
        _ => 0,
    });
    let number = f64::from(block);
    Trial {
        block,
        arm: arm.id.clone(),
        started_ms: number * 1000.0,
        took_ms: WINDOW_MS,
        observation: observation(lost.clamp(0.0, 1000.0), hang),
        disturbance,
    }
}

fn observation(lost: f64, hang: bool) -> Observation {
    let rate = Unit::MillisecondsPerSecond;
    let judged = if hang { Measure::at_least(1000.0, rate) } else { Measure::exact(lost, rate) };
    let mut observation = Observation { window_ms: WINDOW_MS, hang, ..Observation::default() };
    observation.measures.insert(META.judging.measure.to_string(), judged);
    // The review rejects readers that read nothing, so these report a positive amount.
    for (name, unit) in [("scan_bytes", Unit::Bytes), ("scans", Unit::Count)] {
        observation.measures.insert(name.to_owned(), Measure::exact(1e6, unit));
    }
    observation
}

/// The steal time of a trial, read from a simulated /proc tree before and after it.
fn stolen(steal: &Steal) -> std::io::Result<Disturbance> {
    let folder = tempfile::tempdir()?;
    let roots = Roots::at(folder.path());
    std::fs::create_dir_all(&roots.proc)?;
    // In clock ticks of 1/100 s.
    let taken = (steal.share * WINDOW_MS / 10.0).round();
    write_stat(&roots.proc, steal, 0.0)?;
    let before = Snapshot::take(&roots);
    write_stat(&roots.proc, steal, taken)?;
    Ok(before.until(&Snapshot::take(&roots)))
}

fn write_stat(proc: &Path, steal: &Steal, taken: f64) -> std::io::Result<()> {
    let mut text = format!("cpu  0 0 0 0 0 0 0 {taken} 0 0\n");
    for cpu in 0..steal.of {
        let taken = if cpu == steal.cpu { taken } else { 0.0 };
        text.push_str(&format!("cpu{cpu} 0 0 0 0 0 0 0 {taken} 0 0\n"));
    }
    std::fs::write(proc.join("stat"), text)
}

/// Two sides of a comparison. Each record has its own day offset.
fn comparison(
    simulation: &Simulation,
    compare: &Compare,
    rng: &mut ChaCha8Rng,
    seed: u64,
) -> Simulated {
    let stall = simulation.stall.as_ref();
    // The standard deviation of a uniform distribution.
    let spread = stall.map_or(REST, |stall| stall.most - stall.least) / 12.0_f64.sqrt();
    let mut sides = [Vec::new(), Vec::new()];
    for (place, run) in (0..).zip(compare.runs(rng, seed)) {
        let day = run.offset * spread;
        // A loss cannot be negative, and a control loses almost nothing, so its offset is
        // positive.
        let (control, day) = if compare.case_alone { (0.0, day) } else { (day.abs(), day.abs()) };
        let changed = if run.after { compare.change } else { 0.0 };
        let offsets = Offsets { control, case: day + changed };
        let mut record = study(simulation, None, offsets, rng, seed ^ place);
        (record.facts.started, record.facts.pair) = (run.started, run.pair);
        sides[usize::from(run.after)].push(record);
    }
    let answer = pairs::compared(&sides[0], &sides[1]);
    let [_, mut second] = sides;
    // There is always one, since `records` is at least one.
    let record = second.pop().unwrap_or_else(|| scenarios::judged(empty(simulation, seed)));
    Simulated { answer, blocks: None, record: Record::Study(Box::new(record)) }
}

/// Several studies that are reported together.
fn checked(simulation: &Simulation, check: &Check, rng: &mut ChaCha8Rng, seed: u64) -> Simulated {
    let clean = Simulation { stall: None, hangs: 0.0, ..simulation.clone() };
    let came = check.simulate(
        |number| empty(simulation, seed ^ u64::from(number)),
        |facts, block, stalls| {
            let injected = if stalls { simulation } else { &clean };
            let all: Vec<String> = facts.plan.arms.iter().map(|arm| arm.id.clone()).collect();
            run_block(facts, (block, &all), 0.0, |arm| {
                trial(injected, None, Offsets::default(), rng, (block, arm))
            });
        },
    );
    // A check without studies has measured nothing.
    let facts = came.study.unwrap_or_else(|| empty(simulation, seed));
    let record = scenarios::judged(Facts { ended: Ended::Complete, ..facts });
    let (answer, blocks) = (came.answer, Some(came.blocks));
    Simulated { answer, blocks, record: Record::Study(Box::new(record)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn always() -> Simulation {
        let stall = Hit { rate: 1.0, least: 200.0, most: 400.0 };
        Simulation { stall: Some(stall), ..Simulation::default() }
    }

    #[test]
    fn a_seed_repeats_its_study() {
        let simulation = always();
        let record = |seed| simulate(&simulation, seed).unwrap().record.to_json();
        assert_eq!(record(7), record(7));
        assert_ne!(record(7), record(8));
    }

    #[test]
    fn a_stall_that_always_strikes_is_found_and_none_is_not() {
        assert_eq!(simulate(&always(), 1).unwrap().answer, Answer::Affected);
        let none = simulate(&Simulation::default(), 1).unwrap().answer;
        assert_eq!(none, Answer::NotAffected);
    }

    #[test]
    fn steal_of_one_cpu_is_read_from_the_tree() {
        let steal = Steal { cpu: 3, of: 64, share: 0.6, case_alone: false };
        let disturbance = stolen(&steal).unwrap();
        assert_eq!(disturbance.steal_ms, Some(150.0));
        assert_eq!(disturbance.steal_by_cpu.len(), 1);
        assert_eq!(disturbance.steal_by_cpu[0].cpu, 3);
    }

    #[test]
    fn claims_that_share_a_rate_are_as_right_and_settle_sooner() {
        let checks = |stalling, apart| -> (Vec<Answer>, f64) {
            let check = Some(Check { studies: 8, stalling, apart });
            let simulation = Simulation { check, most_blocks: Some(32), blips: 0.1, ..always() };
            let all: Vec<Simulated> =
                (0..10).map(|seed| simulate(&simulation, seed).unwrap()).collect();
            let blocks = all.iter().filter_map(|one| one.blocks).sum();
            (all.into_iter().map(|one| one.answer).collect(), blocks)
        };
        for stalling in [0, 1, 4, 7] {
            let (shared, apart) = (checks(stalling, false), checks(stalling, true));
            let count = |all: &[Answer], which| all.iter().filter(|one| **one == which).count();
            assert!(count(&shared.0, Answer::WrongClaim) <= 1, "{shared:?}");
            let settled = |all: &[Answer]| count(all, Answer::AllSettled);
            assert!(settled(&shared.0) + 2 >= settled(&apart.0), "{shared:?} {apart:?}");
            assert!(shared.1 < apart.1, "{shared:?} {apart:?}");
        }
    }

    fn compared(compare: &str) -> Answer {
        let compare: Compare = toml::from_str(compare).unwrap();
        let simulation = Simulation { compare: Some(compare), blocks: Some(8), ..always() };
        simulate(&simulation, 1).unwrap().answer
    }

    #[test]
    fn a_large_change_is_seen_by_compare() {
        let large = |more: &str| compared(&format!("day_offset = 0.1\nchange = 400.0\n{more}"));
        let case_alone = "case_alone = true\n";
        assert_eq!(large(case_alone), Answer::Differs);
        let eight = format!("{case_alone}records = 8\n");
        assert_eq!(large(&eight), Answer::Differs, "in the same order eight times");
        for order in ["chance", "turned-round"] {
            assert_eq!(large(&format!("{eight}order = \"{order}\"")), Answer::Worse, "{order}");
        }
    }
}
