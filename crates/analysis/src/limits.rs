//! What a study cannot tell, and what would settle it.

use crate::blocks::{Study, judged_unit};
use crate::evidence::Evidence;
use crate::missed::{control_hung, figure_lacking};
use crate::quantile::count;
use crate::rank_sum::differences_to_leave_out;
use model::record::Plan;
use model::{Amount, ArmResult, Caveat, Role, State};

/// The largest number of blocks that is worth suggesting.
const MOST_BLOCKS: u32 = 1000;

/// What the study cannot tell, and what would settle it. `hung` says whether an arm with the cause
/// hung more often than its control.
pub(crate) fn limits(
    plan: &Plan,
    arms: &[ArmResult],
    study: &Study,
    evidence: &Evidence,
    state: State,
    hung: bool,
) -> Vec<Caveat> {
    let mut limits = match state {
        State::Affected => of_affected(plan, arms),
        State::NotAffected => vec![margin(plan, arms)],
        State::Inconclusive => vec![what_would_settle(plan, study, evidence, hung)],
        State::Untrustworthy | State::Skipped => vec![Caveat::QuietMachineUnknown],
    };
    if study.left_out > 0 {
        limits.push(Caveat::LeftOut { trials: count(study.left_out) });
    }
    limits
}

fn of_affected(plan: &Plan, arms: &[ArmResult]) -> Vec<Caveat> {
    let open: Vec<String> = arms
        .iter()
        .filter(|arm| arm.role == Role::Case && arm.state == Some(State::Inconclusive))
        .map(|arm| arm.id.clone())
        .collect();
    let measure = plan.judging.measure.as_ref();
    let sized = |arm: &ArmResult| {
        arm.against_control.get(measure).is_some_and(|c| c.low.is_some() || c.high.is_some())
    };
    let mut limits = Vec::new();
    if !open.is_empty() {
        limits.push(Caveat::ArmsOpen { arms: open });
    }
    if arms.iter().any(|arm| arm.role == Role::Case && !sized(arm)) {
        let confidence = plan.judging.confidence;
        limits.push(Caveat::NoInterval { confidence, blocks: least_trials(confidence) });
    }
    limits
}

/// The least number of trials in each arm that gives a shift an interval.
fn least_trials(confidence: f64) -> u32 {
    let tail = (1.0 - confidence) / 2.0;
    let enough = |n: &usize| differences_to_leave_out(*n, *n, tail).0.is_some();
    count((1..50).find(enough).unwrap_or(50))
}

fn margin(plan: &Plan, arms: &[ArmResult]) -> Caveat {
    let judging = &plan.judging;
    Caveat::Margin(Amount::exact(judging.margin, judged_unit(judging, arms)))
}

fn what_would_settle(plan: &Plan, study: &Study, evidence: &Evidence, hung: bool) -> Caveat {
    if study.cases.is_empty() {
        return Caveat::NeedsCase;
    }
    let thresholds = crate::blocks::thresholds(plan);
    if evidence.blocks() == 0 {
        return Caveat::NeedsBlocks { least: plan.min_blocks, most: plan.max_blocks };
    }
    if evidence.state(thresholds) != State::Inconclusive {
        if hung {
            return Caveat::HangRulesOut;
        }
        let hidden = figure_lacking(plan, study).or_else(|| control_hung(plan, study));
        return hidden.unwrap_or(Caveat::NeedsQuietBlocks);
    }
    match evidence.blocks_to_settle(thresholds, MOST_BLOCKS) {
        Some(blocks) => Caveat::MoreBlocks {
            more: blocks - evidence.blocks(),
            blocks,
            goes_on: plan.stop_when_settled,
        },
        None => Caveat::NeverSettles { blocks: MOST_BLOCKS },
    }
}
