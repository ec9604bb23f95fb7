//! The data types of tailback, with no I/O and no operating system in them.
//!
//! A [`scenario::Meta`] declares a known stall and its [`Parameter`]s. An [`arm::Arm`] is one
//! setting of all parameters. A [`record::Trial`] is one run of one arm. [`record::Facts`] hold
//! all trials of a study and the machine that they ran on. A [`judgement::Judgement`] follows
//! from these facts.

pub mod arm;
pub mod at_work;
pub mod brief;
pub mod census;
pub mod change;
pub mod estimate;
pub mod evidence;
pub mod explanation;
pub mod fact;
pub mod factorial;
pub mod fix;
pub mod generator;
pub mod group;
pub mod identity;
pub mod judgement;
pub mod ladder;
pub mod latency;
pub mod live;
pub mod machine;
pub mod measure;
pub mod median;
mod missed;
pub mod not_seen;
mod older;
pub mod pair;
pub mod parameter;
pub mod problem;
pub mod prose;
mod read;
pub mod reason;
pub mod record;
pub mod reported;
pub mod role;
pub mod scenario;
pub mod series;
pub mod state;
pub mod suggestion;
pub mod tested;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod units;
pub mod vm;
pub mod worst;

pub use arm::{Arm, Changed, LeftOut, Settings, WhyLeftOut};
pub use at_work::AtWork;
pub use brief::Brief;
pub use census::Census;
pub use change::{ArmChange, Basis, Change, ChangeState, Difference, Side};
pub use estimate::{ArmResult, Comparison, Estimate, Proportion};
pub use evidence::Evidence;
pub use explanation::Explanation;
pub use fact::{Amount, Fact, Name, Note, Sentence};
pub use factorial::Factorial;
pub use fix::{Fix, FixOutcome};
pub use group::GroupProblem;
pub use identity::Identity;
pub use judgement::{Judged, Judgement, Test};
pub use latency::Latency;
pub use live::Live;
pub use machine::{Disturbance, Machine};
pub use measure::{Measure, Unit};
pub use missed::Missed;
pub use pair::Pair;
pub use parameter::{Parameter, ParameterKind, Parameters, Value};
pub use problem::{Need, Problem};
pub use reason::{Caveat, Doubt, Headline, Reason};
pub use record::{Cause, Ended, Facts, Observation, Plan, Trial};
pub use role::Role;
pub use scenario::{FixMeta, Judging, Meta, Needs, SeriesMeta};
pub use series::Series;
pub use state::State;
pub use suggestion::{Run, Suggestion, What};
pub use tested::Tested;
pub use vm::{OtpOrigin, Vm};
pub use worst::worst_case;
