//! Commands to QEMU over its control port (QMP): lines of JSON.

use crate::error::GuestError;
use std::io::{BufRead, BufReader, Error, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Time that QEMU has to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// The longest line that is accepted, in bytes.
const LONGEST: usize = 1 << 20;

/// The control port.
#[derive(Debug)]
pub(super) struct Control {
    reader: BufReader<UnixStream>,
    greeted: bool,
    /// Time for the answer to a command.
    limit: Duration,
}

impl Control {
    pub fn new(port: UnixStream) -> Self {
        Control { reader: BufReader::new(port), greeted: false, limit: LIMIT }
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
        let failed = |error: Error| GuestError::Qemu(format!("{command}: {error}"));
        let deadline = Instant::now() + self.limit;
        let line = format!("{{\"execute\": \"{command}\"}}\n");
        self.reader.get_mut().write_all(line.as_bytes()).map_err(failed)?;
        loop {
            match answer(&self.line(deadline).map_err(failed)?) {
                Some(Ok(())) => return Ok(()),
                Some(Err(why)) => return Err(GuestError::Qemu(format!("{command}: {why}"))),
                None => {}
            }
        }
    }

    /// The next line, or its first [`LONGEST`] bytes. The time that is left is computed for each
    /// read, so a line whose bytes arrive one by one does not take longer than the deadline.
    fn line(&mut self, deadline: Instant) -> std::io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while line.len() < LONGEST && !line.ends_with(b"\n") {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::other(format!("no answer within {:?}", self.limit)));
            }
            self.reader.get_ref().set_read_timeout(Some(left))?;
            let arrived = match self.reader.fill_buf() {
                Ok([]) if line.is_empty() => return Err(Error::other("QEMU has ended")),
                Ok([]) => break,
                Ok(arrived) => &arrived[..arrived.len().min(LONGEST - line.len())],
                Err(error) if is_passing(&error) => continue,
                Err(error) => return Err(error),
            };
            let newline = arrived.iter().position(|byte| *byte == b'\n');
            let count = newline.map_or(arrived.len(), |at| at + 1);
            line.extend_from_slice(&arrived[..count]);
            self.reader.consume(count);
        }
        Ok(line)
    }
}

/// Whether a read failed only because nothing arrived in time, or because of a signal.
fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
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

    #[test]
    fn a_line_of_which_a_byte_arrives_now_and_then_does_not_extend_the_deadline() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let limit = Duration::from_millis(500);
        let mut control = Control { limit, ..Control::new(ours) };
        let sender = std::thread::spawn(move || {
            // Without the deadline, this would go on for 20 s.
            for _ in 0..1000 {
                if theirs.write_all(b" ").is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let start = Instant::now();
        let error = control.command("stop").unwrap_err().to_string();
        assert!(start.elapsed() < 30 * limit);
        assert!(error.contains("no answer within 500ms"), "{error}");
        drop(control);
        sender.join().unwrap();
    }
}
