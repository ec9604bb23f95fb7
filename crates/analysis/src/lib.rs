//! Statistics and judging: pure functions from trials to estimates and a verdict.
//!
//! [`arms::estimate_arms`] says what each arm did, [`judge::decide`] what follows from it. The methods stand in modules of their own,
//! each with its paper; `docs/statistics.md` explains them to people who run studies.

pub mod arms;
pub mod arrival;
pub mod bet;
pub mod blocks;
pub mod bootstrap;
pub mod compare;
pub mod evidence;
pub mod fixes;
pub mod judge;
mod limits;
pub mod proportion;
pub mod quantile;
pub mod rank_sum;
pub mod reading;
mod shift;
mod superiority;
pub mod trust;
mod words;

pub use arms::estimate_arms;
pub use fixes::fixes;
pub use judge::{Outcome, decide};
pub use reading::Reading;
pub use trust::Ground;
