//! Erlang nodes.

mod app;
mod error;
mod node;
mod nursery;
mod otp;
mod reap;
mod run;
pub mod term;
mod text;
mod wire;

pub use app::App;
pub use error::{BeamError, CallError, Death};
pub use eetf::Term;
pub use node::{Hello, Node, NodeOptions};
pub use otp::{Flags, OLDEST, Otp};
