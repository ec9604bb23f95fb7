//! Statistics and judging: pure functions from trials to estimates and a verdict.
//!
//! [`arms::estimate_arms`] makes the estimates for each arm, and [`judge::decide`] makes the
//! verdict from them. Each statistical method has its own module, with its paper.
//! `docs/statistics.md` explains the methods to people who run studies.

pub mod absence;
pub mod arms;
pub mod arrival;
pub mod bet;
pub mod blocks;
mod cache;
pub mod carry_over;
pub mod change;
pub mod compare;
pub mod effects;
pub mod evidence;
mod explain;
mod fixes;
pub mod fleet;
pub mod judge;
pub mod ladder;
mod limits;
mod lower_tail;
pub mod missed;
mod paired;
pub mod proportion;
pub mod quantile;
pub mod rank_sum;
pub mod reading;
mod shift;
pub mod signed_rank;
pub mod sufficient;
mod superiority;
pub mod theil_sen;
pub mod together;
pub mod trust;

pub use arms::estimate_arms;
pub use blocks::blocks_to_not_affected;
pub use change::{Sides, change};
pub use effects::effects;
pub use explain::explain;
pub use fixes::{FEWEST as FEWEST_OF_FIX, fixes, is_open};
pub use judge::{Outcome, decide};
pub use reading::Reading;
pub use trust::Ground;
