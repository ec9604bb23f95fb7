//! What a study cannot tell, and what would settle it.

use crate::blocks::Study;
use crate::evidence::Evidence;
use crate::quantile::count;
use crate::rank_sum::differences_to_leave_out;
use crate::words::{figure, judged_unit, percent, plural};
use model::record::Plan;
use model::{ArmResult, Role, State};

/// The most blocks that are worth suggesting.
const MOST_BLOCKS: u32 = 1000;

/// What the study cannot tell, a sentence each.
pub(crate) fn limits(
    plan: &Plan,
    arms: &[ArmResult],
    study: &Study,
    evidence: &Evidence,
    state: State,
) -> Vec<String> {
    let mut limits = match state {
        State::Affected => of_affected(plan, arms),
        State::NotAffected => vec![of_not_affected(plan, arms)],
        State::Inconclusive => vec![what_would_settle(plan, study, evidence)],
        State::Untrustworthy | State::Skipped => {
            vec!["it is not known what the arms would do on a quiet machine".to_owned()]
        }
    };
    if study.left_out > 0 {
        limits.push(format!(
            "{} of blocks that are not whole had no part in the test",
            plural(count(study.left_out), "trial")
        ));
    }
    limits
}

fn of_affected(plan: &Plan, arms: &[ArmResult]) -> Vec<String> {
    let open: Vec<&str> = arms
        .iter()
        .filter(|arm| arm.role == Role::Case && arm.state == Some(State::Inconclusive))
        .map(|arm| arm.id.as_str())
        .collect();
    let measure = plan.judging.measure.as_ref();
    let sized = |arm: &ArmResult| {
        arm.against_control.get(measure).is_some_and(|c| c.low.is_some() || c.high.is_some())
    };
    let mut limits = Vec::new();
    if !open.is_empty() {
        limits.push(format!("it is not settled whether {} stalled", open.join(", ")));
    }
    if arms.iter().any(|arm| arm.role == Role::Case && !sized(arm)) {
        limits.push(format!(
            "that there is a stall is settled, but so few blocks give its size no {} interval; {} \
             or more do",
            percent(plan.judging.confidence),
            least_trials(plan.judging.confidence)
        ));
    }
    limits
}

/// The fewest trials an arm that give a shift an interval.
fn least_trials(confidence: f64) -> usize {
    let tail = (1.0 - confidence) / 2.0;
    (1..50).find(|n| differences_to_leave_out(*n, *n, tail).0.is_some()).unwrap_or(50)
}

fn of_not_affected(plan: &Plan, arms: &[ArmResult]) -> String {
    let judging = &plan.judging;
    format!(
        "a difference of up to {} counts as none",
        figure(judging.margin, judged_unit(judging, arms))
    )
}

fn what_would_settle(plan: &Plan, study: &Study, evidence: &Evidence) -> String {
    if study.cases.is_empty() {
        return "a study of the control alone cannot tell anything; add an arm with the cause"
            .to_owned();
    }
    let thresholds = crate::blocks::thresholds(plan);
    if evidence.blocks() == 0 {
        return format!(
            "a verdict takes whole blocks, usually {} or more: --samples {}",
            plan.min_blocks, plan.max_blocks
        );
    }
    if evidence.state(thresholds) != State::Inconclusive {
        return "the test alone would say not-affected, and the reason above does not allow it; run more \
                blocks on a quieter machine"
            .to_owned();
    }
    match evidence.blocks_to_settle(thresholds, MOST_BLOCKS) {
        Some(blocks) => {
            let more = plural(blocks - evidence.blocks(), "more block");
            let how = match plan.stop_when_settled {
                true => "run it again, and it goes on where it ended".to_owned(),
                false => format!("--samples {blocks}"),
            };
            format!(
                "if the blocks to come are like those so far, about {more} would settle it: {how}"
            )
        }
        None => format!(
            "the arms differ from the control too often for `not-affected` and not steadily \
             enough for `affected`; even {MOST_BLOCKS} blocks like these would not settle it: \
             stop other programs or run longer trials"
        ),
    }
}
