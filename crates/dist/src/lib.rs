//! Asks Erlang nodes over their own distribution protocol.
//!
//! A client is a hidden node. It starts processes on the node, which call functions of kernel,
//! stdlib and erts. No module is loaded into the node, nothing is traced, and no message's content
//! is read. The flags `scheduler_wall_time` and `microstate_accounting` must stay on meanwhile; a
//! process holds each of them. All these processes are linked to us: they end with the connection,
//! however it ends, and send us nothing that would make the node connect to us again.
//!
//! Only the node itself gets a proof of the cookie: the owner of the other end and the name of
//! the node are checked first ([`Target`], [`Cookie`]).
//!
//! What a node sends is not trusted: the size of frames and the depth and memory of terms are
//! bounded, and each wait for bytes ends. The answers of all nodes together have a [`Budget`].

mod budget;
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

pub use budget::Budget;
pub use cookie::{Cookie, Owner};
pub use error::DistError;
pub use look::{FLOODED, Look, State, Watcher};
pub use micro::Micro;
pub use target::Target;
pub use view::{Frame, Inside, Mailbox, Memory, Use};
