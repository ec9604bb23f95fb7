//! The workload of a control group, in the words of those who run it: a unit, a container, a pod,
//! a task.
//!
//! The path of a group tells its kind (`path.rs`). Its name is in files that its engine or the
//! kubelet keeps for itself (`state.rs`). No container and no user can write these files.

mod path;
mod state;
mod words;

pub use path::workload;
pub use state::{NameSource, Names, names, places};
#[cfg(any(test, feature = "testing"))]
pub use words::samples;
pub use words::{sentence, with_image};
