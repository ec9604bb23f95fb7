//! Studies as data: a file names a scenario, factors with their levels, and how much to run. Each
//! combination of levels is one arm of one record.
//!
//! [`Design::read`] checks a file without looking at the machine, [`lay_out`] makes its arms on
//! this machine, and [`standing`] finds how far a record of it has come. `docs/studies.md`
//! explains the file to people who write one.

mod combinations;
mod design;
mod error;
mod factors;
mod kernels;
mod layout;
mod prior_findings;
mod read;
mod resume;
mod trust;

pub use combinations::MOST_ARMS;
pub use design::{Against, Blocks, Design, GuestSize, Output};
pub use error::StudyError;
pub use factors::{Factor, Level};
pub use kernels::together;
pub use layout::{Layout, lay_out, sketch};
pub use resume::{Standing, begin_sitting, standing};
pub use trust::Untrusted;
