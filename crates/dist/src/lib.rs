//! Asks Erlang nodes by their own distribution protocol.
//!
//! A client is a hidden node. What it asks are calls of kernel, stdlib and erts, by the server that
//! every node has for such calls: no module is loaded into the node, nothing is traced, and no
//! message's content is read. What has to stay while it looks on, processes that hold
//! `scheduler_wall_time` and `microstate_accounting`, is linked to the connection and ends with it,
//! however it ends.
//!
//! A proof of the cookie is sent to nobody but the node: before it, the owner of the other end and
//! the name of the node are looked at ([`Target`], [`Cookie`]).
//!
//! What a node sends is not trusted: frames, depth and memory of terms are bounded, and each wait
//! ends.

mod calls;
mod client;
mod cookie;
mod error;
mod frames;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod hello;
mod links;
mod look;
mod mailboxes;
mod micro;
mod name;
mod peer;
mod receives;
mod sockets;
mod target;
mod timed;
mod view;

pub use cookie::{Cookie, Owner};
pub use error::DistError;
pub use look::{Look, State, Watcher};
pub use micro::Micro;
pub use target::Target;
pub use view::{Frame, Inside, Mailbox, Memory, Use};
