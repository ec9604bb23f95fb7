//! The counts that a verdict follows from, and the verdict that follows from them.
//!
//! They are all that the test takes from the trials. A brief has them and no trials, and is judged
//! by the same function as a record: [`state`], which [`crate::decide`] calls.

use crate::bet::{AbsenceBet, EffectBet};
use crate::blocks::{Figure, Study, hung_more_often, study_error_rate};
use crate::evidence::{Evidence, Thresholds};
use crate::missed::{missed, widest};
use crate::trust::robbed;
use model::record::Plan;
use model::tested::{CaseTested, Wins};
use model::{Arm, ArmResult, Brief, State, Tested, Trial};

/// The counts of a study by the figure that its plan judges by; `None` for a plan without a
/// control.
///
/// `arms` are its estimates.
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
        let [worse, alike, better] = absence.counts();
        CaseTested {
            arm: arm.id.clone(),
            control: control as u32,
            plain: wins(plain),
            net: wins(net.1),
            worse,
            alike,
            better,
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
    // Counts of blocks, which a record numbers with 32 bits.
    Wins { control: bet.wins() as u32, other: bet.losses() as u32 }
}

/// What follows from the counts of one figure; `tainted` says that the kernel became tainted
/// meanwhile.
///
/// Nothing in the counts makes this panic.
pub fn state(tested: &Tested, tainted: bool) -> State {
    let says = plain(tested).state(thresholds(tested));
    // What shows no effect needs no excuse.
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

/// What follows from all judged figures: a stall in any of them is a stall, and none is only where
/// none shows one. `None` where nothing was judged.
pub fn state_by_all(tests: &[Tested], tainted: bool) -> Option<State> {
    tests.iter().map(|tested| state(tested, tainted)).reduce(with_figure)
}

/// Judges a brief by its counts alone; `None` where it has none.
pub fn judge_brief(brief: &Brief) -> Option<State> {
    let by_test = state_by_all(&brief.tests, brief.ground.tainted != 0)?;
    Some(brief.review.unwrap_or(by_test))
}

/// What is said of a study by its figures so far and by one more.
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

/// Whether an effect is shown, and none is left in any arm, nor in all together, once the time
/// without a CPU is taken off every trial and the arms are left out that the hypervisor struck
/// more.
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

/// The evidence of the figures as they were measured.
fn plain(tested: &Tested) -> Evidence {
    evidence(tested, &tested.together, |_| true, |case| case.plain)
}

/// The evidence of what is left without the time in which there was no CPU, of the arms that were
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
    let of_case = cases().map(|case| {
        let absence = AbsenceBet::of(case.worse, case.alike, case.better);
        (case.control as usize, bet(1, wins(case)), absence)
    });
    Evidence::of(tested.margin, tested.blocks, bets.collect(), of_case.collect())
}

fn bet(among: usize, wins: Wins) -> EffectBet {
    EffectBet::of(among, wins.control, wins.other)
}
