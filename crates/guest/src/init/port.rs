//! The guest's end of the second serial port.

use crate::frame::{Kind, encode};
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

const DEVICE: &str = "/dev/ttyS1";

/// The port; clones write to the same one, a frame at a time.
#[derive(Debug, Clone)]
pub(super) struct Port(Arc<Mutex<File>>);

impl Port {
    /// Opens it, for bytes as they are.
    pub fn open() -> std::io::Result<Self> {
        let file = File::options().read(true).write(true).open(DEVICE)?;
        let mut settings = tcgetattr(&file)?;
        settings.make_raw();
        settings.set_speed(115_200)?;
        tcsetattr(&file, OptionalActions::Now, &settings)?;
        Ok(Port(Arc::new(Mutex::new(file))))
    }

    /// Says something; where nobody can hear, the host's limits end the guest.
    pub fn say(&self, kind: Kind, payload: &[u8]) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(&encode(kind, payload));
    }

    /// Hears what the host says, on a thread of its own, to the end of the machine.
    ///
    /// # Errors
    /// If the port cannot be opened once more.
    pub fn listen(&self, hear: impl Fn(u8) + Send + 'static) -> std::io::Result<()> {
        // A descriptor of its own: whoever reads must not keep anybody from speaking.
        let mut port = File::open(DEVICE)?;
        std::thread::spawn(move || {
            let mut byte = [0];
            while let Ok(1) = port.read(&mut byte) {
                hear(byte[0]);
            }
        });
        Ok(())
    }

    /// Waits until all of it has left the machine.
    pub fn drain(&self) {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = tcdrain(&*file);
    }
}
