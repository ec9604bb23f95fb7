//! Runs this binary under another kernel, and returns its results.
//!
//! [`kernel`] finds and checks a kernel, and [`initramfs`] packs the binary. [`Guest`] boots both
//! in QEMU and reports events until the end. Without a result, the end is always one of
//! [`Ending`]. In the guest the same binary is process 1: [`init`].

mod accel;
mod catalogue;
mod console;
mod deadline;
mod ending;
mod error;
pub mod frame;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod guest;
pub mod init;
pub mod initramfs;
mod job;
pub mod kernel;
mod kvm;
mod libraries;
mod mkfs;
mod qemu;
mod size;
pub mod versions;

pub use accel::{Accel, Choice, Clock};
pub use catalogue::clock_of;
pub use debian::Cache;
pub use ending::Ending;
pub use error::{ErrorKind, GuestError};
pub use guest::{Event, Guest, Limits, Outcome, ROOT_TAG, Setup};
pub use job::{Hello, Job, events, inside};
pub use kernel::{Kernel, Search, checksum as kernel_checksum, find as find_kernel};
pub use kvm::choose as choose_accel;
pub use libraries::arch_of;
pub use qemu::Qemu;
pub use size::check as check_size;
