//! What the listening thread is told.

use crate::watched::Watched;
use std::sync::mpsc::{Receiver, Sender};

/// What the listening thread is told.
pub(super) enum Command {
    /// Watch these; answered once they are.
    Watch(Vec<Watched>, Sender<()>),
    /// The load was released just now.
    Release(Sender<()>),
    /// Detach; answered once it is done.
    Stop(Sender<()>),
    /// Tell what was seen.
    Finish,
}

/// Commands as they come in.
pub(super) type Commands = Receiver<Command>;
