//! The counts behind a verdict, and the verdict that follows from them.
//!
//! The test uses nothing else from the trials. A brief has these counts and no trials. The same
//! function judges a brief and a record: [`state`], which [`crate::decide`] calls.

use crate::bet::{AbsenceBet, AbsenceBets, EffectBet};
use crate::blocks::{Figure, Study, hung_more_often, study_error_rate};
use crate::evidence::{Evidence, Thresholds};
use crate::missed::{missed, widest};
use crate::trust::robbed;
use model::record::Plan;
use model::tested::{CaseTested, Wins};
use model::{Arm, ArmResult, Brief, State, Tested, Trial};

/// The counts of a study by the judged figure of its plan; `None` for a plan without a control.
///
/// `arms` are the estimates of the arms.
pub fn tested(plan: &Plan, trials: &[Trial], arms: &[ArmResult]) -> Option<Tested> {
    Some(of_study(plan, trials, arms, &Study::of(plan, trials)?))
}

pub(crate) fn of_study(plan: &Plan, trials: &[Trial], arms: &[ArmResult], study: &Study) -> Tested {
    let plain = study.evidence(Figure::Plain);
    let net = study.evidence(Figure::Net);
    let is_robbed = |case: &Arm| robbed(trials, case, study.control_of(case));
    let sound: Vec<&Arm> = study.cases.iter().copied().filter(|case| !is_robbed(case)).collect();
    let together_net = study.evidence_on(&sound, Figure::Net);
    let counted = plain.counted().zip(net.counted());
    let cases = study.cases.iter().zip(counted).map(|(arm, ((control, plain, absence), net))| {
        let [worse, alike, better] = absence.near().counts();
        let [far_worse, _, far_better] = absence.far().counts();
        CaseTested {
            arm: arm.id.clone(),
            control: control as u32,
            plain: wins(plain),
            net: wins(net.1),
            worse,
            alike,
            better,
            far_worse,
            far_better,
            hung_more_often: hung_more_often(trials, &arm.id, &study.control_of(arm).id),
            robbed: is_robbed(arm),
        }
    });
    Tested {
        measure: plan.judging.measure.to_string(),
        margin: plan.judging.margin,
        control_limit: plan.judging.control_limit,
        error_rate: plan.judging.error_rate,
        error_rate_not_affected: study_error_rate(plan),
        blocks: plain.blocks(),
        cases: cases.collect(),
        together: plain.together().iter().map(wins).collect(),
        together_net: together_net.together().iter().map(wins).collect(),
        shows_above: widest(plan, study).map(|(_, shows)| shows),
        tells: missed(plan, trials, arms, study).is_some(),
    }
}

fn wins(bet: &EffectBet) -> Wins {
    // These are counts of blocks, which a record numbers with 32 bits.
    Wins { control: bet.wins() as u32, other: bet.losses() as u32 }
}

/// The verdict from the counts of one figure. `tainted` says that the kernel became tainted
/// during the study.
///
/// No counts make this panic.
pub fn state(tested: &Tested, tainted: bool) -> State {
    let says = plain(tested).state(thresholds(tested));
    // A result without an effect needs no explanation by disturbances.
    if tainted || says == State::Affected && is_explained(tested) {
        return State::Untrustworthy;
    }
    let most = tested.margin + tested.control_limit;
    let coarse = tested.shows_above.is_some_and(|shows| shows > most);
    let hung = tested.cases.iter().any(|case| case.hung_more_often);
    match says {
        State::NotAffected if !tested.tells || coarse || hung => State::Inconclusive,
        says => says,
    }
}

/// The verdict from all judged figures. A stall in any of them is a stall, unless the first one is
/// untrustworthy. There is no stall only if none of them shows one. `None` if nothing was judged.
pub fn state_by_all(tests: &[Tested], tainted: bool) -> Option<State> {
    tests.iter().map(|tested| state(tested, tainted)).reduce(with_figure)
}

/// Judges a brief from its counts alone; `None` if it has none.
pub fn judge_brief(brief: &Brief) -> Option<State> {
    let by_test = state_by_all(&brief.tests, brief.ground.tainted != 0)?;
    Some(brief.review.unwrap_or(by_test))
}

/// The verdict on a study from its figures so far and one more figure.
pub fn with_figure(first: State, other: State) -> State {
    match (first, other) {
        (State::Untrustworthy, _) => State::Untrustworthy,
        (_, State::Affected) => State::Affected,
        (State::NotAffected, State::NotAffected) => State::NotAffected,
        (State::NotAffected, _) => State::Inconclusive,
        (first, _) => first,
    }
}

fn thresholds(tested: &Tested) -> Thresholds {
    let wealth = |rate: f64| 1.0 / rate.max(1e-12);
    Thresholds {
        affected: wealth(tested.error_rate),
        not_affected: wealth(tested.error_rate_not_affected),
    }
}

/// Whether a disturbance explains a shown effect. That is the case if no effect is left, in any arm
/// or in all arms together, once the time without a CPU is subtracted from every trial. Arms from
/// which the hypervisor took clearly more than from their control are left out.
pub fn is_explained(tested: &Tested) -> bool {
    let needed = thresholds(tested).affected;
    let plain = plain(tested);
    let named = plain.named(needed);
    let stands = |(place, case): (usize, &CaseTested)| {
        named.get(place) == Some(&true) && !case.robbed && bet(1, case.net).wealth() >= needed
    };
    plain.effect() >= needed
        && net(tested).effect() < needed
        && !tested.cases.iter().enumerate().any(stands)
}

/// The evidence of the figures as measured.
fn plain(tested: &Tested) -> Evidence {
    evidence(tested, &tested.together, |_| true, |case| case.plain)
}

/// The evidence that is left without the time in which there was no CPU, from the arms that were
/// not robbed.
fn net(tested: &Tested) -> Evidence {
    evidence(tested, &tested.together_net, |case| !case.robbed, |case| case.net)
}

fn evidence(
    tested: &Tested,
    together: &[Wins],
    takes_part: impl Fn(&CaseTested) -> bool,
    wins: impl Fn(&CaseTested) -> Wins,
) -> Evidence {
    let cases = || tested.cases.iter().filter(|case| takes_part(case));
    let among = |place: usize| cases().filter(|case| case.control as usize == place).count();
    let bets = together.iter().enumerate().map(|(place, wins)| bet(among(place), *wins));
    let of_case = cases().map(|case| (case.control as usize, bet(1, wins(case)), absences(case)));
    Evidence::of(tested.margin, tested.blocks, bets.collect(), of_case.collect())
}

fn absences(case: &CaseTested) -> AbsenceBets {
    let all = case.worse.saturating_add(case.alike).saturating_add(case.better);
    let far_alike = all.saturating_sub(case.far_worse).saturating_sub(case.far_better);
    let near = AbsenceBet::of(case.worse, case.alike, case.better);
    AbsenceBets::of(near, AbsenceBet::of(case.far_worse, far_alike, case.far_better))
}

fn bet(among: usize, wins: Wins) -> EffectBet {
    EffectBet::of(among, wins.control, wins.other)
}
