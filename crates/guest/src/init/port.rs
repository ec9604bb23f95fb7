//! The guest's end of the second serial port.

use crate::frame::{FrameKind, encode};
use os::arch::Arch;
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// On arm64 the first port, with the console, has a driver of its own.
const DEVICE: &str = match Arch::OWN {
    Arch::X86_64 => "/dev/ttyS1",
    Arch::Aarch64 => "/dev/ttyS0",
};

/// The port. Clones write to the same port, one frame at a time.
#[derive(Debug, Clone)]
pub(super) struct Port(Arc<Mutex<File>>);

impl Port {
    /// Opens the port in raw mode.
    pub fn open() -> std::io::Result<Self> {
        let file = File::options().read(true).write(true).open(DEVICE)?;
        let mut settings = tcgetattr(&file)?;
        settings.make_raw();
        settings.set_speed(115_200)?;
        tcsetattr(&file, OptionalActions::Now, &settings)?;
        Ok(Port(Arc::new(Mutex::new(file))))
    }

    /// Sends a frame. If that fails, the host's time limits end the guest.
    pub fn send(&self, kind: FrameKind, payload: &[u8]) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(&encode(kind, payload));
    }

    /// Reads the host's bytes on a separate thread, until the machine ends.
    ///
    /// # Errors
    /// If the port cannot be opened again.
    pub fn listen(&self, on_byte: impl Fn(u8) + Send + 'static) -> std::io::Result<()> {
        // A separate descriptor, since a read must not block the writers.
        let mut port = File::open(DEVICE)?;
        std::thread::spawn(move || {
            let mut byte = [0];
            while let Ok(1) = port.read(&mut byte) {
                on_byte(byte[0]);
            }
        });
        Ok(())
    }

    /// Waits until all data has left the machine.
    pub fn drain(&self) {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = tcdrain(&*file);
    }
}
