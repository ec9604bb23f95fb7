//! The events that the programs in the kernel send, and how they are read.

/// Bytes of one event.
pub const SIZE: usize = 88;

/// What ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Waiting for a lock.
    Waited,
    /// Holding a lock.
    Held,
    /// A stretch of time on a CPU.
    Ran,
    /// An uninterruptible sleep, outside the locks that are watched.
    Slept,
    /// A group was throttled on a CPU; the thread is the one that ran when the quota was used up.
    Throttled,
}

/// Something that ended. Times are by the monotonic clock, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What ended.
    pub kind: EventKind,
    /// The CPU on which it ended.
    pub cpu: u32,
    /// Thread.
    pub tid: u32,
    /// Process.
    pub pid: u32,
    /// When it began.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// When the thread became runnable before it last ran.
    pub runnable: u64,
    /// When the thread began to run.
    pub running: u64,
    /// Address of the address space that the lock belongs to.
    pub space: u64,
    /// Number of the thread's kernel stack.
    pub stack: Option<u32>,
    /// Nice value of the thread.
    pub nice: i32,
    /// Whether the lock is wanted or held for writing.
    pub write: bool,
    /// Whether the thread stayed runnable when it left the CPU.
    pub preempted: bool,
    /// Number of the part that the thread belongs to.
    pub part: u8,
    /// Name of the thread.
    pub name: String,
}

impl Event {
    /// Reads an event; None if the bytes are no event.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < SIZE {
            return None;
        }
        let (from, to) = (u64_at(bytes, 16)?, u64_at(bytes, 24)?);
        Some(Event {
            kind: kind(u32_at(bytes, 0)?)?,
            cpu: u32_at(bytes, 4)?,
            tid: u32_at(bytes, 8)?,
            pid: u32_at(bytes, 12)?,
            from,
            to: to.max(from),
            runnable: u64_at(bytes, 32)?,
            running: u64_at(bytes, 40)?,
            space: u64_at(bytes, 48)?,
            stack: u32::try_from(u32_at(bytes, 56)?.cast_signed()).ok(),
            nice: u32_at(bytes, 60)?.cast_signed(),
            write: bytes[64] != 0,
            preempted: bytes[65] == RUNNABLE,
            part: bytes[66],
            name: name(&bytes[72..SIZE]),
        })
    }
}

/// The number of the runnable state in the kernel programs.
const RUNNABLE: u8 = 2;

fn kind(number: u32) -> Option<EventKind> {
    match number {
        1 => Some(EventKind::Waited),
        2 => Some(EventKind::Held),
        3 => Some(EventKind::Ran),
        4 => Some(EventKind::Slept),
        5 => Some(EventKind::Throttled),
        _ => None,
    }
}

/// A thread's name up to the first zero byte; any program may set its name to anything.
pub(crate) fn name(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    os::terminal::line(&String::from_utf8_lossy(&bytes[..end]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_stand_where_the_kernel_side_puts_them() {
        let mut bytes = [0u8; SIZE];
        bytes[0] = 2;
        bytes[8..12].copy_from_slice(&77u32.to_ne_bytes());
        bytes[16..24].copy_from_slice(&5u64.to_ne_bytes());
        bytes[24..32].copy_from_slice(&9u64.to_ne_bytes());
        bytes[56..60].copy_from_slice(&(-1i32).to_ne_bytes());
        bytes[60..64].copy_from_slice(&15i32.to_ne_bytes());
        bytes[72..79].copy_from_slice(b"sca\nner");
        let event = Event::read(&bytes).unwrap();
        assert_eq!((event.kind, event.tid, event.from, event.to), (EventKind::Held, 77, 5, 9));
        assert_eq!((event.stack, event.nice, event.name.as_str()), (None, 15, "sca ner"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_event_that_holds_together_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..200)
        ) {
            if let Some(event) = Event::read(&bytes) {
                prop_assert!(event.to >= event.from);
                prop_assert!(event.name.len() <= 48);
            }
        }
    }
}
