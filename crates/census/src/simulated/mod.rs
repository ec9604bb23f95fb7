//! Simulated fleets with a known truth: brief records as hosts would send them, for tests and for
//! planning.
//!
//! A fleet has kinds of hosts of different sizes. Their kernels, HZ and machines are combined
//! about as in reality. Hosts of some kinds are affected for a hidden reason, so kinds differ
//! even if no factor matters. In addition, a cause may be planted. The same options give the same
//! bytes.

mod hostile;
mod kinds;
mod world;

use analysis::sufficient;
use kinds::SimulatedKind;
use model::brief::{ArmBrief, Ground, MOST_BYTES, PlanBrief, SCHEMA, VerdictBrief};
use model::identity::HostName;
use model::record::Progress;
use model::tested::{CaseTested, Wins};
use model::{Brief, Comparison, Role, State, Tested, Unit};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::io::{self, Write};

pub use world::World;

/// The scenario of all brief records.
pub const SCENARIO: &str = "mmap-lock";

/// The judged figure.
const MEASURE: &str = "stall";

/// Time of the first host's study, in seconds since 1970: 2026-11-01.
const BEGAN: i64 = 1_793_491_200;

/// The probability that a host with the planted cause is affected.
const STRIKES: f64 = 0.97;

/// The truth about the fleet that was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Truth {
    /// Hosts with a trustworthy record that says that they are affected.
    pub affected: u64,
    /// Hosts with a trustworthy record that says that they are not affected.
    pub clear: u64,
    /// Records that were written twice.
    pub duplicates: u64,
    /// Records of hosts that also sent a later record.
    pub superseded: u64,
    /// Records with a wrong clock.
    pub wrong_clocks: u64,
    /// Verdicts that contradict their own counts.
    pub liars: u64,
    /// Lines that are not records.
    pub hostile: u64,
}

/// Writes the records of a fleet, one JSON line each, and returns the truth about it.
///
/// # Errors
/// If the output cannot be written.
pub fn write(world: World, out: &mut dyn Write) -> io::Result<Truth> {
    let mut rng = ChaCha8Rng::seed_from_u64(world.seed);
    let kinds = kinds::kinds(world, &mut rng);
    let mut truth = Truth::default();
    for number in 0..world.hosts {
        let kind = kinds::pick(&kinds, &mut rng);
        let state = answer(world, kind, &mut rng);
        let started = BEGAN + i64::from(rng.random_range(0..259_200));
        let mut brief = brief(number, kind, state, started, &mut rng);
        let settled = matches!(state, State::Affected | State::NotAffected);
        if settled && rng.random_bool(world.liars) {
            brief.verdict.state = opposite(state);
            truth.liars += 1;
        } else {
            truth.affected += u64::from(state == State::Affected);
            truth.clear += u64::from(state == State::NotAffected);
        }
        if rng.random_bool(world.wrong_clocks) {
            brief.started = time(started + 5 * 365 * 86_400);
            truth.wrong_clocks += 1;
        }
        let line = brief.to_line();
        out.write_all(line.as_bytes())?;
        if rng.random_bool(world.duplicates) {
            out.write_all(line.as_bytes())?;
            truth.duplicates += 1;
        }
        if rng.random_bool(world.duplicates / 2.0) {
            brief.started = time(started - 86_400);
            out.write_all(brief.to_line().as_bytes())?;
            truth.superseded += 1;
        }
        if rng.random_bool(world.hostile) {
            out.write_all(&hostile::line(&line, &mut rng))?;
            truth.hostile += 1;
        }
    }
    out.flush()?;
    Ok(truth)
}

fn answer(world: World, kind: &SimulatedKind, rng: &mut ChaCha8Rng) -> State {
    match rng.random_range(0.0..1.0) {
        share if share < 0.03 => return State::Inconclusive,
        share if share < 0.04 => return State::Untrustworthy,
        share if share < 0.05 => return State::Skipped,
        _ => {}
    }
    let struck = world.planted && kind.has_cause();
    let chance = if struck { STRIKES } else { kind.rate.max(world.noise) };
    if rng.random_bool(chance) { State::Affected } else { State::NotAffected }
}

fn opposite(state: State) -> State {
    if state == State::Affected { State::NotAffected } else { State::Affected }
}

fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

fn brief(
    number: u32,
    kind: &SimulatedKind,
    state: State,
    started: i64,
    rng: &mut ChaCha8Rng,
) -> Brief {
    let tests: Vec<Tested> = counts(state, rng).into_iter().collect();
    let lost = if state == State::Affected { rng.random_range(300.0..999.0) } else { 0.2 };
    let ground = Ground {
        tainted: if state == State::Untrustworthy { 512 } else { 0 },
        ..Ground::default()
    };
    let brief = Brief {
        schema: SCHEMA.to_owned(),
        host: Some(HostName::Name(format!("host{number:07}"))),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: SCENARIO.to_owned(),
        started: time(started),
        elapsed_s: 14.5,
        progress: if state == State::Skipped { Progress::NotRun } else { Progress::Complete },
        identity: kind.identity.clone(),
        otp: None,
        plan: PlanBrief {
            seed: rng.random_range(0..1 << 53),
            sha256: "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef".to_owned(),
            blocks: tests.first().map_or(0, |tested| tested.blocks),
            trials: tests.first().map_or(0, |tested| 2 * tested.blocks),
            arms: 2,
            confidence: 0.95,
        },
        ground,
        verdict: VerdictBrief {
            state,
            kind: None,
            headline: None,
            reason: None,
            measure: (state != State::Skipped).then(|| MEASURE.to_owned()),
            also: Vec::new(),
            open: Vec::new(),
            test: None,
        },
        arms: if tests.is_empty() { Vec::new() } else { vec![arm(state, lost)] },
        tests,
        review: None,
        fixes: Vec::new(),
        left_out: None,
    };
    debug_assert!(brief.to_line().len() <= MOST_BYTES);
    debug_assert!(sufficient::judge_brief(&brief).is_none_or(|judged| judged == state));
    brief
}

fn arm(state: State, lost: f64) -> ArmBrief {
    let shift = Comparison {
        unit: Unit::MillisecondsPerSecond,
        shift: lost,
        shift_at_least: false,
        low: Some(lost * 0.98),
        high: Some(lost * 1.01),
        confidence: 0.95,
        superiority: 1.0,
        superiority_low: None,
        superiority_high: None,
        p_value: None,
    };
    ArmBrief {
        id: "busy-10".to_owned(),
        role: Role::Case,
        state: Some(state),
        trials: 6,
        hung: 0,
        e_value: None,
        measures: [].into(),
        against_control: [(MEASURE.to_owned(), shift)].into(),
    }
}

/// Counts with which a study reaches this verdict. None if the study was not run.
fn counts(state: State, rng: &mut ChaCha8Rng) -> Option<Tested> {
    let (worse, alike) = match state {
        State::Affected => (rng.random_range(6..9), 0),
        State::NotAffected => (0, rng.random_range(10..14)),
        State::Inconclusive | State::Untrustworthy => (1, 3),
        State::Skipped => return None,
    };
    let wins = Wins { control: worse, other: 0 };
    Some(Tested {
        measure: MEASURE.to_owned(),
        margin: 1.0,
        control_limit: 50.0,
        error_rate: 0.05,
        error_rate_not_affected: 0.05,
        blocks: worse + alike,
        cases: vec![CaseTested {
            arm: "busy-10".to_owned(),
            control: 0,
            plain: wins,
            net: wins,
            worse,
            alike,
            better: 0,
            far_worse: 0,
            far_better: 0,
            hung_more_often: false,
            robbed: false,
        }],
        together: vec![wins],
        together_net: vec![wins],
        shows_above: Some(rng.random_range(1.0..3.0)),
        tells: true,
    })
}
