//! Erlang nodes.

mod app;
mod error;
mod nursery;
mod otp;
mod reap;
mod run;
mod text;

pub use app::App;
pub use error::{BeamError, CallError, Death};
pub use otp::{Flags, OLDEST, Otp};
