//! The last part of a guest's console output.

use std::collections::VecDeque;

/// Most lines that are kept.
const LINES: usize = 200;

/// The longest line that is kept, in bytes.
const LONGEST: usize = 400;

/// The message of a kernel panic.
const PANIC: &str = "Kernel panic - not syncing";

/// The last lines of a console, with limited size.
#[derive(Debug, Default)]
pub(crate) struct Console {
    lines: VecDeque<String>,
    line: Vec<u8>,
    panic: Option<String>,
    after_panic: usize,
    /// Bytes received so far.
    pub bytes: u64,
}

impl Console {
    /// Adds console output.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        for &byte in bytes {
            match byte {
                b'\n' => self.end_line(),
                b'\r' => {}
                _ if self.line.len() < LONGEST => self.line.push(byte),
                _ => {}
            }
        }
    }

    fn end_line(&mut self) {
        let line = plain(&std::mem::take(&mut self.line));
        if self.panic.is_none() && line.contains(PANIC) {
            self.panic = Some(line.clone());
        } else if self.panic.is_some() {
            self.after_panic += 1;
        }
        // The lines about a panic are kept, whatever is written after them.
        if self.after_panic > LINES / 2 {
            return;
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// The line of a kernel panic, if there was one.
    pub fn panic(&self) -> Option<&str> {
        self.panic.as_deref()
    }

    /// Whether a kernel has started to boot.
    pub fn booting(&self) -> bool {
        self.lines.iter().any(|line| line.contains("Linux version"))
    }

    /// The last lines that are not blank, oldest first.
    pub fn tail(&self, count: usize) -> Vec<String> {
        let rest = plain(&self.line);
        let all = self.lines.iter().chain(std::iter::once(&rest));
        let lines: Vec<&String> = all.filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(count)..].iter().map(|line| (*line).clone()).collect()
    }
}

fn plain(line: &[u8]) -> String {
    os::terminal::line(&String::from_utf8_lossy(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_panic_is_noticed_and_kept() {
        let mut console = Console::default();
        console.feed(b"[    0.0] Linux version 6.1\r\n[ 2.5] Kernel panic - not syn");
        assert_eq!(console.panic(), None);
        console.feed(b"cing: VFS: Unable to mount root fs\r\n[ 2.6] CPU: 0\r\n");
        assert!(console.booting());
        assert!(console.panic().unwrap().ends_with("Unable to mount root fs"));
        for _ in 0..10_000 {
            console.feed(b"flood\n");
        }
        assert!(console.tail(200).iter().any(|line| line.contains(PANIC)));
    }

    #[test]
    fn a_flood_is_bounded_and_its_end_is_kept() {
        let mut console = Console::default();
        console.feed(&vec![b'x'; 1 << 20]);
        for number in 0..1000 {
            console.feed(format!("{number}\n").as_bytes());
        }
        console.feed(b"the last\x1b[2J");
        let tail = console.tail(2);
        assert_eq!(tail, ["999", "the last [2J"]);
        assert!(console.lines.len() <= LINES && console.line.len() <= LONGEST);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            let mut console = Console::default();
            console.feed(&bytes);
            prop_assert!(console.tail(5).len() <= 5);
        }
    }
}
