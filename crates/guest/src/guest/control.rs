//! Commands to QEMU over its control port (QMP): lines of JSON.

use crate::error::GuestError;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Time that QEMU has to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// The longest line that is accepted, in bytes.
const LONGEST: u64 = 1 << 20;

/// The control port.
#[derive(Debug)]
pub(super) struct Control {
    reader: BufReader<UnixStream>,
    greeted: bool,
}

impl Control {
    pub fn new(port: UnixStream) -> Self {
        Control { reader: BufReader::new(port), greeted: false }
    }

    /// Sends a command and waits until it is done.
    pub fn command(&mut self, command: &str) -> Result<(), GuestError> {
        if !self.greeted {
            self.execute("qmp_capabilities")?;
            self.greeted = true;
        }
        self.execute(command)
    }

    fn execute(&mut self, command: &str) -> Result<(), GuestError> {
        let failed = |error: std::io::Error| GuestError::Qemu(format!("{command}: {error}"));
        let deadline = Instant::now() + LIMIT;
        let line = format!("{{\"execute\": \"{command}\"}}\n");
        self.reader.get_mut().write_all(line.as_bytes()).map_err(failed)?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(GuestError::Qemu(format!("{command}: no answer within {LIMIT:?}")));
            }
            self.reader.get_ref().set_read_timeout(Some(left)).map_err(failed)?;
            let mut line = Vec::new();
            let read = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut line);
            if read.map_err(failed)? == 0 {
                return Err(GuestError::Qemu(format!("{command}: QEMU has ended")));
            }
            match answer(&line) {
                Some(Ok(())) => return Ok(()),
                Some(Err(why)) => return Err(GuestError::Qemu(format!("{command}: {why}"))),
                None => {}
            }
        }
    }
}

/// The answer in a line. Greetings and events are not answers.
pub(crate) fn answer(line: &[u8]) -> Option<Result<(), String>> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    if let Some(error) = value.get("error") {
        let what = error.get("desc").and_then(|desc| desc.as_str()).unwrap_or("refused");
        return Some(Err(what.to_owned()));
    }
    value.get("return").map(|_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_events() {
        assert_eq!(answer(b"{\"QMP\": {}}\r\n"), None);
        assert_eq!(answer(b"{\"event\": \"STOP\"}"), None);
        assert_eq!(answer(b"{\"return\": {}}"), Some(Ok(())));
        assert_eq!(answer(b"{\"error\": {\"desc\": \"no\"}}"), Some(Err("no".into())));
        assert_eq!(answer(b"nonsense"), None);
    }

    #[test]
    fn a_command_is_carried_out_or_refused() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut control = Control::new(ours);
        theirs.write_all(b"{\"QMP\": {}}\n{\"return\": {}}\n{\"event\": \"STOP\"}\n").unwrap();
        theirs.write_all(b"{\"return\": {}}\n{\"error\": {\"desc\": \"no\"}}\n").unwrap();
        control.command("stop").unwrap();
        assert!(control.command("cont").unwrap_err().to_string().contains("no"));
        drop(theirs);
        assert!(control.command("stop").is_err());
    }
}
