//! How far a study has come, according to its record.

use super::error::StudyError;
use model::factorial::Sitting;
use model::record::Plan;
use model::{Arm, Ended, Factorial, Facts, Machine};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How far a study has come.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// Nothing has been measured that could be continued.
    New,
    /// This many blocks are over: each is whole, or one of its trials hung. The record holds only
    /// those.
    After(u32, Box<Facts>),
    /// The study is complete.
    Complete(Box<Facts>),
}

/// How far a study has come, if it is the same study on the same machine.
///
/// Trials of an incomplete block are dropped: the block is run again, in the same order. An
/// incomplete block in which a trial hung is kept and not run again: otherwise a study that is
/// interrupted whenever a trial hangs would show no hang. The test uses whole blocks, but counts
/// every trial that hung.
///
/// # Errors
/// If the record is of another study, another text of its file, another machine or another
/// version, or has another seed or other arms.
pub fn standing(
    old: Facts,
    path: &Path,
    factorial: &Factorial,
    plan: &Plan,
    machine: &Machine,
) -> Result<Standing, StudyError> {
    let stale = |why: String| StudyError::Stale { path: path.to_owned(), why };
    let blocks = blocks_over(&old, &plan.arms);
    if old.trials.is_empty() && old.factorial.is_some() {
        return Ok(Standing::New);
    }
    if let Some(why) = changed(&old, factorial, blocks) {
        return Err(stale(why));
    }
    if let Some(why) = moved(&old, plan, machine) {
        return Err(stale(why));
    }
    // A study that was to run until settled may have ended before its most blocks.
    let settled = old.plan.stop_when_settled == plan.stop_when_settled;
    let enough = blocks >= plan.max_blocks || settled && blocks >= plan.min_blocks;
    if old.ended == Ended::Complete && enough {
        return Ok(Standing::Complete(Box::new(old)));
    }
    if blocks == 0 {
        return Ok(Standing::New);
    }
    let mut record = old;
    record.trials.retain(|trial| trial.block < blocks);
    record.wash_outs.retain(|trial| trial.block < blocks);
    Ok(Standing::After(blocks, Box::new(record)))
}

/// Why it is another study; None if it is the same.
fn changed(old: &Facts, now: &Factorial, blocks: u32) -> Option<String> {
    let Some(before) = &old.factorial else {
        return Some(format!("a record of {} that no study file made", old.scenario));
    };
    if before.name != now.name {
        return Some(format!("a record of study {}, and not of {}", before.name, now.name));
    }
    if before.quick != now.quick {
        let how = if before.quick { "with" } else { "without" };
        return Some(format!("the study was begun {how} --quick"));
    }
    (before.content != now.content).then(|| {
        format!(
            "the study file has changed since {blocks} blocks were run; put it back as it was to go \
             on"
        )
    })
}

/// Why new blocks could not be combined with the earlier ones; None if they could.
fn moved(old: &Facts, plan: &Plan, machine: &Machine) -> Option<String> {
    let cpus = |machine: &Machine| machine.cpus.iter().map(|cpu| cpu.id).collect::<BTreeSet<_>>();
    let version = env!("CARGO_PKG_VERSION");
    if old.tool.version != version {
        return Some(format!(
            "the study was begun by tailback {}, and this is {version}",
            old.tool.version
        ));
    }
    if old.machine.kernel != machine.kernel || cpus(&old.machine) != cpus(machine) {
        return Some(format!(
            "the study was begun on Linux {} with {} CPUs, and this is {} with {}",
            old.machine.kernel,
            old.machine.cpus.len(),
            machine.kernel,
            machine.cpus.len()
        ));
    }
    if old.plan.seed != plan.seed {
        return Some(format!("the study was begun with seed {}", old.plan.seed));
    }
    (old.plan.arms != plan.arms).then(|| {
        "the arms that can be had here are not those that the study was begun with".to_owned()
    })
}

/// How many blocks, counted from the first, hold exactly one trial of each arm, or a trial that
/// hung.
fn blocks_over(record: &Facts, arms: &[Arm]) -> u32 {
    let mut counts: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    for trial in &record.trials {
        *counts.entry((trial.block, trial.arm.as_str())).or_default() += 1;
    }
    let hung = record.trials.iter().filter(|trial| trial.observation.hang);
    let hung: BTreeSet<u32> = hung.map(|trial| trial.block).collect();
    let whole =
        |block: u32| arms.iter().all(|arm| counts.get(&(block, arm.id.as_str())) == Some(&1));
    let most =
        record.trials.iter().map(|trial| trial.block).max().map_or(0, |b| b.saturating_add(1));
    let most = most.min(u32::try_from(record.trials.len()).unwrap_or(u32::MAX));
    let over = (0..most).take_while(|block| whole(*block) || hung.contains(block));
    over.count().try_into().unwrap_or(u32::MAX)
}

/// Notes in a study's record that a sitting begins with this block.
pub fn begin_sitting(record: &mut Facts, first_block: u32) {
    if let Some(factorial) = &mut record.factorial {
        let now = jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default();
        factorial.sittings.push(Sitting { started: now.to_string(), first_block });
    }
}
