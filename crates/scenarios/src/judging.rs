//! Turns facts into a judgement, with one pure function that is called once.

use crate::review::{self, Objection, Results, TakenBack, set_back};
use crate::{AnyScenario, control_fix, factors, find, suggest};
use analysis::carry_over::{self, may_explain};
use analysis::{Ground, Outcome, sufficient};
use model::record::{Cause, Ended};
use model::{
    Amount, Arm, ArmResult, Caveat, Facts, Fix, FixOutcome, Headline, Judged, Judgement, Judging,
    Live, Need, Plan, Reason, Role, State, Suggestion, Test, Trial, Unit, What,
};

/// The judgement of a study or a watch. It depends only on the facts, so the same facts always
/// give the same judgement.
pub fn judge(facts: &Facts) -> Judgement {
    if let Some(live) = &facts.live {
        return watched(live);
    }
    let Some(scenario) = find(&facts.scenario) else { return unknown(facts) };
    let stopped = match &facts.ended {
        Ended::Running | Ended::Complete | Ended::Interrupted => return by_trials(scenario, facts),
        Ended::NotRun(cause) => not_run(cause),
        Ended::Broken(cause) if facts.trials.is_empty() => broken(cause, None),
        Ended::Broken(cause) => broken(cause, Some(by_trials(scenario, facts))),
    };
    let mut arms = analysis::estimate_arms(&facts.plan, &facts.trials);
    set_back(&mut arms, stopped.state, TakenBack::Nothing);
    Judgement { arms, effects: factors::effects(scenario, facts), ..stopped }
}

/// Facts together with their judgement.
pub fn judged(facts: Facts) -> Judged {
    let judgement = judge(&facts);
    Judged { facts, judgement }
}

/// The judgement of a watch. Its findings are in its facts. Only the crate `watch` knows whether a
/// watch without a finding lost much, or did not see everything: the binary corrects the state.
fn watched(live: &Live) -> Judgement {
    let state = if live.findings.is_empty() { State::NotAffected } else { State::Affected };
    let kind = live.findings.first().map(|first| first.stall.clone());
    Judgement { kind, ..Judgement::new(state, Headline::Watched) }
}

/// The judgement of a scenario that this version does not know. The trials are shown, but nothing
/// is concluded.
fn unknown(facts: &Facts) -> Judgement {
    let mut arms = analysis::estimate_arms(&facts.plan, &facts.trials);
    set_back(&mut arms, State::Inconclusive, TakenBack::Study);
    Judgement { arms, ..Judgement::new(State::Inconclusive, Headline::UnknownScenario) }
}

/// The judgement of a study without any trial.
fn not_run(cause: &Cause) -> Judgement {
    let next = match cause {
        Cause::Missing(need) => grant(need),
        _ => What::RunAgain.into(),
    };
    Judgement {
        reasons: vec![reason(cause)],
        suggestions: vec![next],
        ..Judgement::new(State::Skipped, Headline::Skipped)
    }
}

/// The judgement of a study that stopped during its trials, with the judgement of the trials until
/// then.
fn broken(cause: &Cause, until_then: Option<Judgement>) -> Judgement {
    let grant = match cause {
        Cause::Missing(need) => Some(grant(need)),
        _ => None,
    };
    if until_then.is_none() && !matches!(cause, Cause::Broke(_)) {
        return Judgement {
            reasons: vec![reason(cause)],
            suggestions: grant.into_iter().collect(),
            ..Judgement::new(State::Skipped, Headline::Skipped)
        };
    }
    let again = until_then.is_some().then(|| What::RunAgain.into());
    let before = until_then.map(|before| Reason::WouldHaveBeen {
        blocks: before.test.map_or(0, |test| test.blocks),
        state: before.state,
        headline: Box::new(before.headline),
    });
    Judgement {
        reasons: std::iter::once(reason(cause)).chain(before).collect(),
        suggestions: grant.into_iter().chain(again).collect(),
        ..Judgement::new(State::Untrustworthy, Headline::Broken)
    }
}

fn reason(cause: &Cause) -> Reason {
    match cause {
        Cause::Missing(need) => Reason::Missing { what: Box::new(need.clone()) },
        Cause::Unusable(why) => Reason::Unusable { why: Box::new(why.clone()) },
        Cause::Broke(error) => Reason::Broke { error: Box::new(error.clone()) },
        Cause::Interrupted => Reason::Interrupted,
    }
}

fn grant(need: &Need) -> Suggestion {
    What::Grant(Box::new(need.clone())).into()
}

/// The judgement of the trials.
fn by_trials(scenario: &dyn AnyScenario, facts: &Facts) -> Judgement {
    let (plan, trials) = (&facts.plan, &facts.trials);
    let mut arms = analysis::estimate_arms(plan, trials);
    let ground = ground(facts);
    let mut outcome = analysis::decide(plan, trials, &arms, ground);
    let mut figures = vec![arms.clone()];
    for judging in &plan.also {
        figures.push(judge_also(plan, judging, trials, &mut arms, &mut outcome, ground));
    }
    let mut review = scenario.review(&Results { plan, trials, arms: &arms, outcome: &outcome });
    if let Some(objection) = left_behind(plan, trials, &arms, &outcome) {
        // The objection already states this.
        outcome.caveats.retain(|caveat| !matches!(caveat, Caveat::CarryOver(_)));
        review.objections.push(objection);
    }
    let no_room = without_room(plan, &figures);
    if let (State::NotAffected, Some((_, reason))) = (outcome.state, no_room.first()) {
        review.objections.push(Objection { arm: None, reason: reason.clone() });
    }
    review.objections.extend(larger_margin(scenario, facts, &arms));
    review.caveats.extend(washed_out(facts));
    let doubted = review.objections.iter().filter_map(|objection| objection.arm.clone()).collect();
    review::apply(review, &mut arms, &mut outcome);
    if outcome.state != State::NotAffected {
        outcome.test.missed = None;
    }
    let judgement = put_together(scenario, facts, arms, doubted, outcome);
    by_all_figures(judgement, plan, &figures, &no_room)
}

/// Controls that leave so little room below the highest value of a figure that a stall of a case
/// would not show, with the reason. Shares, and time lost in each second, have a highest value.
fn without_room(plan: &Plan, figures: &[Vec<ArmResult>]) -> Vec<(String, Reason)> {
    let all = std::iter::once(&plan.judging).chain(&plan.also).zip(figures);
    all.flat_map(|(judging, arms)| arms.iter().map(move |arm| (judging, arm)))
        .filter(|(_, arm)| arm.role == Role::Control)
        .filter_map(|(judging, arm)| {
            let level = arm.measures.get(judging.measure.as_ref())?;
            let highest = match level.unit {
                Unit::Percent => 100.0,
                Unit::MillisecondsPerSecond => 1e3,
                _ => return None,
            };
            let most = (highest - judging.margin - judging.control_limit).max(0.0);
            let reason = Reason::ControlStalls {
                control: arm.id.clone(),
                measure: judging.measure.to_string(),
                level: Amount::exact(level.median, level.unit),
                most: Amount::exact(most, level.unit),
            };
            (level.median > most).then(|| (arm.id.clone(), reason))
        })
        .collect()
}

/// Objections to arms of a study of factors that are cleared by a larger margin than their own.
/// The arms of a study share one margin, the largest.
fn larger_margin(scenario: &dyn AnyScenario, facts: &Facts, arms: &[ArmResult]) -> Vec<Objection> {
    let plan = &facts.plan;
    let clear = |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::NotAffected);
    let objection = |result: &ArmResult| {
        let arm = plan.arms.iter().find(|arm| arm.id == result.id)?;
        let all = || std::iter::once(&plan.judging).chain(&plan.also);
        let is_larger = |own: &Judging| {
            all().any(|used| used.measure == own.measure && used.margin > own.margin)
        };
        let own = scenario.judging(&arm.settings).into_iter().find(is_larger)?;
        let used = all().find(|used| used.measure == own.measure)?;
        let unit = result.measures.get(own.measure.as_ref())?.unit;
        let [own, used] = [own.margin, used.margin].map(|margin| Amount::exact(margin, unit));
        let reason = Reason::LargerMargin { arm: result.id.clone(), own, used };
        Some(Objection::to_arm(&result.id, reason))
    };
    match facts.factorial {
        Some(_) => arms.iter().filter(clear).filter_map(objection).collect(),
        None => Vec::new(),
    }
}

/// Takes `not-affected` back from arms that another figure does not clear, and from arms whose
/// control has no room for a stall. What is said of an arm is otherwise said by the figure that
/// decided the study.
fn by_all_figures(
    mut judgement: Judgement,
    plan: &Plan,
    figures: &[Vec<ArmResult>],
    no_room: &[(String, Reason)],
) -> Judgement {
    let first = plan.arms.iter().find(|arm| arm.role == Role::Control);
    let has_room = |id: &str| {
        let own = plan.arms.iter().find(|arm| arm.id == id).and_then(|arm| arm.against.as_ref());
        let control = own.or(first.map(|arm| &arm.id));
        no_room.iter().all(|(full, _)| Some(full) != control)
    };
    let cleared = |arm: &&mut ArmResult| arm.state == Some(State::NotAffected);
    for arm in judgement.arms.iter_mut().filter(cleared) {
        let mut by_each = figures.iter().flatten().filter(|result| result.id == arm.id);
        let all_clear = by_each.all(|result| result.state == Some(State::NotAffected));
        if !all_clear || !has_room(&arm.id) {
            arm.state = Some(State::Inconclusive);
        }
    }
    judgement
}

/// An objection if the outcome may be caused only by what earlier trials leave behind. It checks
/// the figures on which the outcome rests.
fn left_behind(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    outcome: &Outcome,
) -> Option<Objection> {
    let decides = |judging: &&Judging| {
        let measure = judging.measure.as_ref();
        outcome.state == State::NotAffected || measure == outcome.measure
    };
    let all = std::iter::once(&plan.judging).chain(&plan.also);
    let found = all
        .filter(decides)
        .find_map(|judging| may_explain(&judged_by(plan, judging), trials, arms, outcome.state));
    found.map(|found| Objection { arm: None, reason: Reason::CarryOver(found) })
}

/// The caveat about carry-over that wash-outs kept out of the verdict, for the first figure that
/// shows it.
fn washed_out(facts: &Facts) -> Option<Caveat> {
    let plan = &facts.plan;
    let all = std::iter::once(&plan.judging).chain(&plan.also);
    let found = all.map(|judging| {
        carry_over::washed_out(&judged_by(plan, judging), &facts.trials, &facts.wash_outs)
    });
    found.flatten().next().map(Caveat::WashedOut)
}

/// The same plan, judged by another figure.
fn judged_by(plan: &Plan, judging: &Judging) -> Plan {
    Plan { judging: judging.clone(), ..plan.clone() }
}

/// Adds the judgement of another figure, and returns the results of the arms by it. A stall in one
/// figure is a stall, unless the first one is untrustworthy. The study is not affected only if no
/// figure shows one.
fn judge_also(
    plan: &Plan,
    judging: &Judging,
    trials: &[Trial],
    arms: &mut [ArmResult],
    outcome: &mut Outcome,
    ground: Ground,
) -> Vec<ArmResult> {
    let plan = judged_by(plan, judging);
    let results = analysis::estimate_arms(&plan, trials);
    let other = analysis::decide(&plan, trials, &results, ground);
    let together = sufficient::with_figure(outcome.state, other.state);
    match (outcome.state, other.state) {
        (State::Untrustworthy, _) => {}
        (State::Affected, State::Affected) => outcome.also.push(other.measure),
        (first, State::Affected) => {
            let mut open = std::mem::take(&mut outcome.open);
            open.extend((first == State::Inconclusive).then(|| outcome.measure.clone()));
            *outcome = Outcome { open, ..other };
            for (arm, result) in arms.iter_mut().zip(&results) {
                arm.state = result.state;
                arm.worse = result.worse.clone();
                arm.e_value = result.e_value;
            }
        }
        (State::NotAffected, State::NotAffected) => {
            let (measure, missed) = (other.measure, other.test.missed);
            outcome.reasons.push(Reason::NorIn { measure, missed });
        }
        (State::NotAffected, _) => {
            outcome.state = State::Inconclusive;
            let why = other.reasons.into_iter().next().map(Box::new);
            // A short answer has room for one reason, so the reason that keeps the verdict open
            // comes first.
            outcome.reasons.insert(0, Reason::NotSettledIn { measure: other.measure, why });
            outcome.caveats = other.caveats;
        }
        // More blocks may settle the other figure, even if they do not settle the first one.
        (State::Inconclusive, State::Inconclusive)
            if other.caveats.iter().any(Caveat::needs_blocks) =>
        {
            outcome.open.push(other.measure);
        }
        _ => {}
    }
    // A brief is judged by this rule alone.
    debug_assert_eq!(outcome.state, together);
    results
}

/// The effect of each fix on the affected case. Leaves out arms that are `doubted`, and arms with
/// too few trials for a result.
fn fixes(facts: &Facts, arms: &[ArmResult], doubted: &[String], outcome: &Outcome) -> Vec<Fix> {
    if outcome.state != State::Affected {
        return Vec::new();
    }
    let mut tried = analysis::fixes(&facts.plan, &facts.trials, arms, &outcome.measure);
    let few =
        |id: &str| arms.iter().any(|arm| arm.id == id && arm.trials < analysis::FEWEST_OF_FIX);
    let says_nothing = |fix: &Fix| fix.outcome == FixOutcome::NotShown && few(&fix.arm);
    tried.retain(|fix| !doubted.contains(&fix.arm));
    tried.retain(|fix| !says_nothing(fix));
    let control = control_fix::control_fix(facts, arms, outcome);
    let control = control.filter(|fix| tried.iter().all(|other| other.arm != fix.arm));
    control.into_iter().chain(tried).collect()
}

/// The baselines run in one of this many blocks. They are shown, but never judged.
const BASELINE_EVERY: u32 = 3;

/// Whether block number `block` runs this arm in a study with these facts.
///
/// A verdict needs only controls and cases, so they run in every block. A study that continues
/// after its verdict, to settle its fixes, runs fixes once the verdict stands. A study that ends
/// with its verdict runs fixes from the first block. If it judges by one figure, it pauses them
/// while the evidence is against a stall. Whether a fix runs depends on earlier blocks, so its own
/// blocks are as fair as all others. A study with a fixed number of blocks, or with factors, runs
/// every arm.
pub fn is_due(arm: &Arm, block: u32, facts: &Facts, judgement: &Judgement) -> bool {
    if facts.factorial.is_some() || !facts.plan.stop_when_settled {
        return true;
    }
    match arm.role {
        Role::Control | Role::Case => true,
        Role::Baseline => block.is_multiple_of(BASELINE_EVERY),
        Role::Fix => fixes_are_due(&facts.plan, judgement),
    }
}

/// The arms that run until the verdict stands. They include baselines, which run only in some
/// blocks.
pub fn arms_of_verdict(plan: &Plan) -> Vec<Arm> {
    let waits = |arm: &Arm| arm.role == Role::Fix && plan.stop_when_settled && plan.settle_fixes;
    plan.arms.iter().filter(|arm| !waits(arm)).cloned().collect()
}

fn fixes_are_due(plan: &Plan, judgement: &Judgement) -> bool {
    if plan.settle_fixes {
        return judgement.state == State::Affected && stands(plan, judgement);
    }
    let against = |test: &Test| test.e_value_not_affected > test.e_value_affected;
    // The test covers one figure. A stall may show in another figure.
    !plan.also.is_empty() || !judgement.test.as_ref().is_some_and(against)
}

/// Whether a study may stop: it has run the least number of blocks, its verdict stands, and, if it
/// settles its fixes, none of them is open.
///
/// The least number is needed for the intervals of medians, not for the test. A study whose time
/// is over ends before it. A disturbed machine does not end the study, because a disturbance may
/// pass.
pub fn settled(plan: &Plan, judgement: &Judgement) -> bool {
    stands(plan, judgement) && !(plan.settle_fixes && fixes_are_open(plan, judgement))
}

/// Whether more blocks could show more about the fixes.
fn fixes_are_open(plan: &Plan, judgement: &Judgement) -> bool {
    let trials = |arm: &Arm| {
        let result = judgement.arms.iter().find(|result| result.id == arm.id);
        result.map_or(0, |result| result.trials)
    };
    let says = |arm: &Arm| judgement.fixes.iter().any(|fix| fix.arm == arm.id);
    let mut fixes = plan.arms.iter().filter(|arm| arm.role == Role::Fix);
    let early = fixes.any(|arm| !says(arm) && trials(arm) < analysis::FEWEST_OF_FIX);
    judgement.state == State::Affected && (early || judgement.fixes.iter().any(analysis::is_open))
}

/// Whether the verdict stands, even if the fixes are not settled yet.
pub fn stands(plan: &Plan, judgement: &Judgement) -> bool {
    let blocks = judgement.test.as_ref().map_or(0, |test| test.blocks);
    let says = matches!(judgement.state, State::Affected | State::NotAffected);
    // The most important figure is waited for, as long as the study may continue.
    let first_open = judgement.open.iter().any(|name| *name == plan.judging.measure);
    says && !first_open && blocks >= plan.min_blocks
}

/// How many blocks the verdict needs after the first `blocks`, if the next ones are like those. At
/// least 1. Before the first block, the fewest blocks that a verdict can need. So a study that was
/// not tried yet is not postponed for being long.
pub fn blocks_left(plan: &Plan, judgement: &Judgement, blocks: u32) -> u32 {
    if blocks == 0 {
        return plan.min_blocks.max(1);
    }
    let more = judgement.caveats.iter().find_map(|caveat| match caveat {
        Caveat::MoreBlocks { more, .. } => Some(*more),
        Caveat::NeverSettles { blocks } => Some(*blocks),
        Caveat::FigureLacking { blocks: lacking, control_blocks, .. } => {
            Some(more_beside(lacking.saturating_sub(*control_blocks), blocks))
        }
        Caveat::ControlHung { blocks: hung, lacking, .. } => {
            Some(more_beside(hung.saturating_add(*lacking), blocks))
        }
        _ => None,
    });
    let clean = analysis::blocks_to_not_affected(plan).saturating_sub(blocks);
    more.unwrap_or(clean).max(plan.min_blocks.saturating_sub(blocks)).max(1)
}

/// How many blocks that show a stall have to follow `blocks` of which this many do not.
fn more_beside(hidden: u32, blocks: u32) -> u32 {
    analysis::missed::blocks_beside(hidden).saturating_sub(blocks)
}

/// The reason that the time was over before the study was settled. This is the only reason for
/// which a study that runs until it is settled ends before its last block.
fn out_of_time(facts: &Facts) -> Option<Reason> {
    let run = facts.trials.iter().map(|trial| trial.block.saturating_add(1)).max().unwrap_or(0);
    let most = facts.plan.max_blocks;
    let ended = facts.ended == Ended::Complete && facts.plan.stop_when_settled;
    (ended && run < most).then_some(Reason::OutOfTime { blocks: run })
}

pub(crate) fn ground(facts: &Facts) -> Ground {
    let machine = &facts.machine;
    Ground {
        tainted: machine.tainted,
        shared: machine.hold == Some(model::machine::Hold::Shared),
        emulated: machine.guest.as_ref().is_some_and(model::machine::Guest::emulated),
    }
}

/// Reasons from the end of the study, not from the test.
fn of_the_end(facts: &Facts, state: State) -> impl Iterator<Item = Reason> {
    let open = state == State::Inconclusive;
    let interrupted = (facts.ended == Ended::Interrupted && open).then_some(Reason::Interrupted);
    let out_of_time = open.then(|| out_of_time(facts)).flatten();
    let running = (facts.ended == Ended::Running).then_some(Reason::NotEnded);
    interrupted.into_iter().chain(out_of_time).chain(running)
}

fn put_together(
    scenario: &dyn AnyScenario,
    facts: &Facts,
    mut arms: Vec<ArmResult>,
    doubted: Vec<String>,
    outcome: Outcome,
) -> Judgement {
    let plan = &facts.plan;
    // A fix or a baseline that did not run has nothing to show.
    let is_shown = |arm: &ArmResult| matches!(arm.role, Role::Control | Role::Case);
    arms.retain(|arm| arm.trials > 0 || is_shown(arm));
    let summary = scenario.summary(plan, &outcome, &arms);
    let headline = match &facts.factorial {
        _ if outcome.state == State::Untrustworthy => Headline::Untrustworthy,
        Some(factorial) => factors::headline(factorial, &outcome, &arms),
        None => Headline::Scenario(summary.headline),
    };
    // In a study of factors, a fix is a level of a factor, so it is not suggested.
    let own = summary.suggestions.into_iter().filter(|_| facts.factorial.is_none());
    let fixes = fixes(facts, &arms, &doubted, &outcome);
    let mut suggestions: Vec<Suggestion> = outcome.suggestions.into_iter().chain(own).collect();
    suggest::add_measured(&mut suggestions, plan, &fixes, scenario.meta());
    let of_the_end = of_the_end(facts, outcome.state);
    Judgement {
        state: outcome.state,
        kind: summary.kind,
        headline,
        reasons: outcome.reasons.into_iter().chain(of_the_end).collect(),
        caveats: outcome.caveats,
        suggestions,
        measure: Some(outcome.measure),
        also: outcome.also,
        open: outcome.open,
        fixes,
        test: Some(outcome.test),
        arms,
        effects: factors::effects(scenario, facts),
    }
}
