//! The commands to the listening thread.

use crate::watched::Watched;
use std::sync::mpsc::{Receiver, Sender};

/// A command to the listening thread.
pub(super) enum Command {
    /// Watch these processes; answered once they are watched.
    Watch(Vec<Watched>, Sender<()>),
    /// The load was released just now.
    Release(Sender<()>),
    /// Detach the programs; answered once it is done.
    Stop(Sender<()>),
    /// End, and return the evidence.
    Finish,
}

/// The commands, in the order in which they arrive.
pub(super) type Commands = Receiver<Command>;
