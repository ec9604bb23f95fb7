//! Parses the JSON of a full or a brief record into an answer. No input causes a panic. A brief
//! record takes little more memory than its text. The facts of a full record take several times
//! as much, so only one large record is judged at a time.

use crate::answer::Answer;
use crate::file_host::Hashing;
use crate::kinds::{HostKind, Kinds};
use crate::long_names::check_names;
use crate::options::Options;
use crate::trials;
use analysis::sufficient;
use jiff::Timestamp;
use model::brief::{Ground, LeftOutOfBrief, MOST_BYTES};
use model::census::Why;
use model::identity::HostName;
use model::record::RecordError;
use model::tested::{CaseTested, Wins};
use model::{Facts, Identity, Judgement, Role, State, Tested, Unit};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest name of a host, a version or a scenario, in bytes.
const LONGEST_NAME: usize = 255;

/// The longest brief record that is read, in bytes: twice the size on one line, for users who
/// wrap its lines. It limits the work of judging.
const LONGEST_BRIEF: usize = 2 * MOST_BYTES;

/// Longer records are judged one at a time, in bytes. Their facts take several times as much
/// memory as their text, in each thread.
const LARGE_RECORD: usize = 1 << 20;

/// The most work for judging a record: arms times trials times judged figures. A study of 500
/// arms and 30 blocks takes 8 million. It limits the time that one host can take from the others.
const MOST_WORK: usize = 20_000_000;

/// The longest JSON description of a machine, in bytes: enough for thousands of CPUs.
const LONGEST_MACHINE: usize = 1 << 20;

/// Most test results that are remembered, by all readers together.
const MOST_REMEMBERED: usize = 1 << 16;

/// The longest key of counts that is remembered, in numbers: about ten arms. It limits the
/// memory.
const LONGEST_REMEMBERED: usize = 64;

/// The parts of a brief record that are read; the rest is skipped. Of a full record only its
/// schema and its scenario are used.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    schema: Cow<'a, str>,
    #[serde(borrow)]
    scenario: Cow<'a, str>,
    #[serde(borrow, default)]
    started: Cow<'a, str>,
    /// The name of its machine.
    #[serde(borrow, default)]
    host: Option<&'a RawValue>,
    #[serde(borrow, default)]
    version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    identity: Option<&'a RawValue>,
    #[serde(default)]
    otp: Option<String>,
    #[serde(default)]
    plan: Option<PlanHead>,
    /// The conclusion of its host.
    #[serde(default)]
    verdict: Option<VerdictHead>,
    #[serde(default)]
    ground: Ground,
    #[serde(borrow, default)]
    tests: Option<&'a RawValue>,
    #[serde(default)]
    review: Option<State>,
    #[serde(default)]
    left_out: Option<LeftOutOfBrief>,
    #[serde(borrow, default)]
    arms: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct PlanHead {
    seed: u64,
    #[serde(default)]
    blocks: u32,
}

#[derive(Deserialize)]
struct VerdictHead {
    state: State,
    #[serde(default)]
    measure: Option<String>,
}

impl Head<'_> {
    /// The conclusion of the host.
    fn verdict(&self) -> Result<&VerdictHead, Why> {
        self.verdict.as_ref().ok_or(Why::Damaged)
    }
}

#[derive(Deserialize)]
struct ArmHead {
    role: Role,
    #[serde(default)]
    against_control: BTreeMap<String, ShiftHead>,
}

#[derive(Deserialize)]
struct ShiftHead {
    unit: Unit,
    shift: f64,
}

/// Locks for work that takes much memory, so that one reader at a time does it.
#[derive(Debug, Default)]
pub struct Turns {
    /// For unpacking a small file, which may grow to the largest size of a record.
    pub unpacking: Mutex<()>,
    /// For judging a large record.
    judging: Mutex<()>,
}

/// Reads records of these scenarios.
pub struct Reader<'a> {
    scenarios: &'a [&'a str],
    judge: fn(&Facts) -> Judgement,
    kinds: &'a Kinds,
    turns: &'a Turns,
    /// Whether the trials of records are wanted.
    trials: bool,
    /// The hash of host names.
    pub hashing: Option<Hashing<'a>>,
    /// Remembered results of judged counts: most hosts of a fleet have the same counts.
    judged: HashMap<Vec<u64>, State>,
    /// The number of results that may be remembered.
    most: usize,
}

impl<'a> Reader<'a> {
    /// A reader that shares kinds and locks with others.
    pub fn new(options: &Options<'a>, kinds: &'a Kinds, turns: &'a Turns) -> Self {
        Reader {
            scenarios: options.scenarios,
            judge: options.judge,
            kinds,
            turns,
            trials: options.trials.is_some(),
            hashing: options.hashing,
            judged: HashMap::new(),
            most: MOST_REMEMBERED,
        }
    }

    /// Divides the remembered results among this number of readers.
    pub fn share(&mut self, readers: usize) {
        self.most = MOST_REMEMBERED / readers.max(1);
    }

    /// Waits for the lock for unpacking.
    pub fn unpacks(&self) -> MutexGuard<'a, ()> {
        self.turns.unpacking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer of a record.
    ///
    /// # Errors
    /// The reason why the record does not count.
    pub fn read(&mut self, text: &[u8]) -> Result<Answer, Why> {
        let head: Head = serde_json::from_slice(text).map_err(|error| why(&error, text))?;
        let brief = is_brief(&head.schema)?;
        if brief && text.len() > LONGEST_BRIEF {
            return Err(Why::TooLarge);
        }
        let Some(scenario) = self.scenarios.iter().position(|known| *known == head.scenario) else {
            return Err(Why::UnknownScenario);
        };
        let scenario = u8::try_from(scenario).map_err(|_| Why::UnknownScenario)?;
        if brief { self.brief(&head, scenario) } else { self.record(text, scenario) }
    }

    fn brief(&mut self, head: &Head, scenario: u8) -> Result<Answer, Why> {
        let (Some(version), Some(plan)) = (&head.version, &head.plan) else {
            return Err(Why::Damaged);
        };
        let state = head.verdict()?.state;
        Ok(Answer {
            host: host_name(head.host, self.hashing)?,
            scenario,
            state,
            contradictory: !self.holds_together(head)?,
            started: started(&head.started)?,
            study: hash(plan.seed),
            blocks: plan.blocks,
            kind: self.kind_of_brief(head)?,
            shift: if state == State::Affected { shift_of_brief(head)? } else { None },
            version: name(version)?.to_owned(),
            brief: true,
            lost_trials: false,
            trials: None,
        })
    }

    /// The answer from the facts of a full record. The conclusion of its host is not read.
    fn record(&self, text: &[u8], scenario: u8) -> Result<Answer, Why> {
        let text = std::str::from_utf8(text).map_err(|_| Why::Damaged)?;
        let judging = &self.turns.judging;
        let _turn = (text.len() > LARGE_RECORD)
            .then(|| judging.lock().unwrap_or_else(PoisonError::into_inner));
        let facts = Facts::from_json(text).map_err(|error| why_no_facts(&error))?;
        if work(&facts) > MOST_WORK || check_names(&facts).is_err() {
            return Err(Why::TooLarge);
        }
        let judgement = (self.judge)(&facts);
        let state = judgement.state;
        // The figure that represents a trial.
        let measure = judgement.measure.as_deref().unwrap_or(&facts.plan.judging.measure);
        let trials = if self.trials { trials::packed(&facts.trials, measure) } else { None };
        Ok(Answer {
            host: None,
            scenario,
            state,
            contradictory: false,
            started: started(&facts.started)?,
            study: hash(facts.plan.seed),
            blocks: blocks(&facts),
            kind: self.kind_of(&facts)?,
            shift: if state == State::Affected { shift(&judgement) } else { None },
            version: name(&facts.tool.version)?.to_owned(),
            brief: false,
            lost_trials: self.trials && trials.is_none(),
            trials,
        })
    }

    /// The kind of the host of a full record, with the OTP of its trials.
    fn kind_of(&self, facts: &Facts) -> Result<u32, Why> {
        let vm = facts.trials.iter().find_map(|trial| trial.observation.vm.as_ref());
        let otp = vm.map(|vm| vm.otp.clone());
        if !otp.iter().all(|otp| is_sound(otp)) {
            return Err(Why::Damaged);
        }
        let identity = tidy(Identity::of(&facts.machine, Vec::new()))?;
        let raw = serde_json::to_string(&identity).map_err(|_| Why::Damaged)?;
        let text = text_of_kind(&raw, otp.as_deref());
        Ok(match self.kinds.known(&text) {
            Some(known) => known,
            None => self.kinds.number(&text, HostKind { identity, otp }),
        })
    }

    /// The kind of the host of a brief record.
    fn kind_of_brief(&self, head: &Head) -> Result<u32, Why> {
        let raw = head.identity.map(RawValue::get).ok_or(Why::Damaged)?;
        if raw.len() > LONGEST_MACHINE || !head.otp.iter().all(|otp| is_sound(otp)) {
            return Err(Why::Damaged);
        }
        let text = text_of_kind(raw, head.otp.as_deref());
        if let Some(known) = self.kinds.known(&text) {
            return Ok(known);
        }
        let identity: Identity = serde_json::from_str(raw).map_err(|_| Why::Damaged)?;
        Ok(self.kinds.number(&text, HostKind { identity: tidy(identity)?, otp: head.otp.clone() }))
    }

    /// Whether the verdict of a brief record follows from its counts.
    fn holds_together(&mut self, head: &Head) -> Result<bool, Why> {
        let raw = head.tests.map_or("[]", RawValue::get);
        let tests: Vec<Tested> = serde_json::from_str(raw).map_err(|_| Why::Damaged)?;
        let state = head.verdict()?.state;
        let settled = matches!(state, State::Affected | State::NotAffected);
        if tests.is_empty() {
            // A record of `watch` has no tests. A study of many arms has no room for its counts.
            let excused = head.left_out.is_some_and(|left_out| left_out.tests);
            return Ok(!settled || excused || head.scenario == "watch");
        }
        if !tests.iter().all(can_be_of_a_study) {
            return Ok(false);
        }
        let tainted = head.ground.tainted != 0;
        let by_test = tests.iter().map(|tested| self.judge(tested, tainted));
        let by_test = by_test.reduce(sufficient::with_figure);
        // A review may withdraw a verdict, but never adds one.
        Ok(match head.review {
            Some(review) => !settled && review == state,
            None => by_test == Some(state),
        })
    }

    /// The verdict that follows from the counts of one figure.
    fn judge(&mut self, tested: &Tested, tainted: bool) -> State {
        let key = key(tested, tainted);
        if let Some(state) = self.judged.get(&key) {
            return *state;
        }
        let state = sufficient::state(tested, tainted);
        if self.judged.len() < self.most && key.len() <= LONGEST_REMEMBERED {
            self.judged.insert(key, state);
        }
        state
    }
}

/// The text by which a kind is remembered: the JSON of its identity, and its OTP.
fn text_of_kind<'a>(identity: &'a str, otp: Option<&str>) -> Cow<'a, str> {
    match otp {
        Some(otp) => Cow::Owned(format!("{identity}\n{otp}")),
        None => Cow::Borrowed(identity),
    }
}

/// Whether these counts can come from one study. Without the time without a CPU, robbed arms do not
/// count, and the list of controls ends with the last one that has another arm.
fn can_be_of_a_study(tested: &Tested) -> bool {
    let (all, there) = (tested.together.len(), tested.together_net.len());
    let counts = |case: &CaseTested| !case.robbed && case.control as usize >= there;
    if there >= all || tested.cases.iter().any(counts) {
        return tested.holds_together();
    }
    let mut whole = tested.clone();
    whole.together_net.resize(all, Wins::default());
    whole.holds_together()
}

/// Everything that the verdict of some counts depends on.
fn key(tested: &Tested, tainted: bool) -> Vec<u64> {
    let coarse = tested.shows_above.is_some_and(|s| s > tested.margin + tested.control_limit);
    let flags = u64::from(tainted) | u64::from(coarse) << 1 | u64::from(tested.tells) << 2;
    let rates = [tested.error_rate.to_bits(), tested.error_rate_not_affected.to_bits()];
    let lengths = [tested.cases.len(), tested.together.len()].map(|length| length as u64);
    let mut key = vec![flags, rates[0], rates[1], lengths[0], lengths[1]];
    for wins in tested.together.iter().chain(&tested.together_net) {
        key.push(u64::from(wins.control) << 32 | u64::from(wins.other));
    }
    for case in &tested.cases {
        let flags = u64::from(case.hung_more_often) << 1 | u64::from(case.robbed);
        key.push(u64::from(case.control) << 32 | flags);
        key.push(u64::from(case.plain.control) << 32 | u64::from(case.plain.other));
        key.push(u64::from(case.net.control) << 32 | u64::from(case.net.other));
        key.push(u64::from(case.worse) << 32 | u64::from(case.better));
        key.push(u64::from(case.alike));
        key.push(u64::from(case.far_worse) << 32 | u64::from(case.far_better));
    }
    key
}

/// The reason why a text is not a record.
fn why(error: &serde_json::Error, text: &[u8]) -> Why {
    /// A record whose fields this version does not know.
    #[derive(Deserialize)]
    struct SchemaOnly<'a> {
        #[serde(borrow)]
        schema: Cow<'a, str>,
    }
    if error.is_eof() {
        return Why::Truncated;
    }
    match serde_json::from_slice::<SchemaOnly>(text).map(|only| is_brief(&only.schema)) {
        Ok(Err(why)) => why,
        _ => Why::Damaged,
    }
}

/// The number of blocks that were run, as in a brief record of the study.
fn blocks(facts: &Facts) -> u32 {
    let blocks = facts.trials.iter().map(|trial| trial.block.saturating_add(1));
    blocks.max().unwrap_or(0)
}

/// The work of judging facts: each figure of each arm is looked up in all trials.
fn work(facts: &Facts) -> usize {
    let figures = facts.plan.also.len().saturating_add(1);
    facts.plan.arms.len().saturating_mul(facts.trials.len()).saturating_mul(figures)
}

/// The reason why a text has no facts of a record.
fn why_no_facts(error: &RecordError) -> Why {
    match error {
        RecordError::Torn(_) => Why::Truncated,
        RecordError::TooLarge => Why::TooLarge,
        RecordError::Newer(_) => Why::Newer,
        RecordError::Foreign | RecordError::Inconsistent(_) => Why::Damaged,
    }
}

/// Whether a schema is that of a brief record; false for a full record.
fn is_brief(schema: &str) -> Result<bool, Why> {
    let number = |prefix: &str| schema.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok());
    match (number("tailback/brief/"), number("tailback/record/")) {
        (Some(1), _) => Ok(true),
        (_, Some(1..=3)) => Ok(false),
        (Some(2..), _) | (_, Some(4..)) => Err(Why::Newer),
        _ => Err(Why::Damaged),
    }
}

/// The name of a host, or its hash. Where host names are hashed, a plain name is hashed too, so
/// that it is not shown, and is the same host as in the inventory.
fn host_name(raw: Option<&RawValue>, hashing: Option<Hashing>) -> Result<Option<String>, Why> {
    let Some(raw) = raw else { return Ok(None) };
    let host: HostName = serde_json::from_str(raw.get()).map_err(|_| Why::Damaged)?;
    let text = name(host.text())?;
    Ok(Some(match (&host, hashing) {
        (HostName::Name(_), Some(Hashing(hash))) => hash(text),
        _ => text.to_owned(),
    }))
}

/// A name that is neither empty nor too long, without control characters.
fn name(name: &str) -> Result<&str, Why> {
    if !name.is_empty() && is_sound(name) { Ok(name) } else { Err(Why::Damaged) }
}

/// Whether a text is not too long and has no control characters.
fn is_sound(text: &str) -> bool {
    text.len() <= LONGEST_NAME && !text.chars().any(os::terminal::steers)
}

/// An identity with acceptable names. The kernel series is computed again, since it repeats the
/// kernel.
fn tidy(mut identity: Identity) -> Result<Identity, Why> {
    identity.series = model::identity::series(&identity.kernel);
    let names = [Some(&identity.kernel), Some(&identity.arch), identity.preemption.as_ref()];
    let more = [&identity.cpu_model, &identity.product, &identity.cgroup, &identity.distribution];
    let some = names.into_iter().flatten().chain(more.into_iter().flatten());
    let sound = some.chain(&identity.otps).all(|text| is_sound(text));
    if sound && identity.otps.len() <= 64 { Ok(identity) } else { Err(Why::Damaged) }
}

fn started(text: &str) -> Result<i64, Why> {
    text.parse::<Timestamp>().map(|started| started.as_second()).map_err(|_| Why::Damaged)
}

/// How much more the worst arm of a brief record loses than its control, in the figure that
/// decided.
fn shift_of_brief(head: &Head) -> Result<Option<(f32, Unit)>, Why> {
    let (Some(raw), Some(measure)) = (head.arms, &head.verdict()?.measure) else {
        return Ok(None);
    };
    let arms: Vec<ArmHead> = serde_json::from_str(raw.get()).map_err(|_| Why::Damaged)?;
    let cases = arms.iter().filter(|arm| arm.role == Role::Case);
    let shifts = cases.filter_map(|arm| arm.against_control.get(measure));
    Ok(worst(shifts.map(|shift| (shift.shift, shift.unit))))
}

/// The same for a full record.
fn shift(judgement: &Judgement) -> Option<(f32, Unit)> {
    let measure = judgement.measure.as_ref()?;
    let cases = judgement.arms.iter().filter(|arm| arm.role == Role::Case);
    let shifts = cases.filter_map(|arm| arm.against_control.get(measure));
    worst(shifts.map(|shift| (shift.shift, shift.unit)))
}

fn worst(shifts: impl Iterator<Item = (f64, Unit)>) -> Option<(f32, Unit)> {
    let worst = shifts.max_by(|(a, _), (b, _)| a.total_cmp(b));
    // A figure of a damaged record may be too large.
    worst.map(|(shift, unit)| (shift as f32, unit)).filter(|(shift, _)| shift.is_finite())
}

/// A short hash of the seed of a study.
fn hash(seed: u64) -> u32 {
    // The hasher has fixed keys: the same study has the same hash in each run.
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tested() -> Tested {
        let wins = Wins { control: 1, other: 0 };
        let case = |control, robbed| CaseTested {
            arm: format!("busy-{control}"),
            control,
            plain: wins,
            net: wins,
            worse: 1,
            alike: 0,
            better: 0,
            far_worse: 1,
            far_better: 0,
            hung_more_often: false,
            robbed,
        };
        Tested {
            measure: "stall".to_owned(),
            margin: 1.0,
            control_limit: 50.0,
            error_rate: 0.05,
            error_rate_not_affected: 0.05,
            blocks: 1,
            cases: vec![case(0, false), case(1, true)],
            together: vec![wins, wins],
            together_net: vec![wins, wins],
            shows_above: None,
            tells: true,
        }
    }

    #[test]
    fn counts_that_decide_differently_have_keys_of_their_own() {
        let changes: [fn(&mut Tested); 6] = [
            |tested| tested.cases[0].worse = 2,
            |tested| tested.cases[0].alike = 2,
            |tested| tested.cases[0].better = 2,
            |tested| tested.cases[0].far_worse = 0,
            |tested| tested.cases[0].far_better = 1,
            |tested| tested.tells = false,
        ];
        for (place, change) in changes.into_iter().enumerate() {
            let mut changed = tested();
            change(&mut changed);
            assert_ne!(key(&changed, false), key(&tested(), false), "{place}");
        }
    }

    #[test]
    fn a_figure_that_is_too_large_is_none() {
        let unit = Unit::Milliseconds;
        let of = |shift| worst([(1.0, unit), (shift, unit)].into_iter());
        assert_eq!(of(2.0), Some((2.0, unit)));
        assert_eq!((of(1e300), of(f64::NAN)), (None, None));
    }

    #[test]
    fn a_control_whose_arms_were_all_robbed_has_no_counts_of_its_own() {
        let whole = tested();
        assert!(can_be_of_a_study(&whole));
        let of = |change: &dyn Fn(&mut Tested)| {
            let mut changed = tested();
            changed.together_net.truncate(1);
            change(&mut changed);
            can_be_of_a_study(&changed)
        };
        assert!(of(&|_| {}));
        assert!(!of(&|tested| tested.cases[1].robbed = false));
        assert!(!of(&|tested| tested.together_net.clear()), "the first control counts");
        assert!(!of(&|tested| tested.blocks = 0));
        let nobody = |tested: &mut Tested| {
            tested.together_net.clear();
            tested.cases[0].robbed = true;
        };
        assert!(of(&nobody));
    }
}
