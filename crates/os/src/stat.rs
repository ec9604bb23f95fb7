//! The file `/proc/PID/stat` of a process, and `/proc/PID/task/TID/stat` of a thread.
//!
//! The second field is the name, in parentheses. A process may give itself any name: with spaces,
//! parentheses, or bytes that are not UTF-8. So the file is read as bytes, and the other fields
//! begin after the last closing parenthesis. Nothing here allocates, locks or panics: the
//! supervisor of a node needs it between fork and exec.

use std::str::FromStr;

/// The content of such a file.
///
/// ```
/// let stat = tailback_os::stat::Stat::parse(b"12 (a) Z b) S 7 12 12 0").unwrap();
/// assert_eq!((stat.name(), stat.state(), stat.parent()), (&b"a) Z b"[..], b'S', Some(7)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat<'a> {
    name: &'a [u8],
    state: u8,
    /// All that follows the name; the first field in it is the state.
    after_name: &'a [u8],
}

impl<'a> Stat<'a> {
    /// None without a name and a state: the file was empty, or was cut off before them.
    pub fn parse(file: &'a [u8]) -> Option<Self> {
        let opens = file.iter().position(|byte| *byte == b'(')?;
        let closes = file.iter().rposition(|byte| *byte == b')')?;
        let (name, after_name) = (file.get(opens + 1..closes)?, file.get(closes + 1..)?);
        let state = *after_name.trim_ascii_start().first()?;
        Some(Stat { name, state, after_name })
    }

    /// The name, which has no more than 15 bytes unless it is a thread of the kernel.
    pub fn name(&self) -> &'a [u8] {
        self.name
    }

    /// The state, as a letter: `R` runs or is runnable, `S` sleeps, `D` sleeps without being
    /// interrupted.
    pub fn state(&self) -> u8 {
        self.state
    }

    /// Whether it has ended: it waits to be reaped (`Z`), or is being removed (`X`; `x` in some
    /// kernels).
    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// The process that started it, or that has adopted it.
    pub fn parent(&self) -> Option<i32> {
        self.field(4)
    }

    /// Its process group.
    pub fn group(&self) -> Option<i32> {
        self.field(5)
    }

    /// Its nice value.
    pub fn nice(&self) -> Option<i32> {
        self.field(19)
    }

    /// When it started, in clock ticks after boot. Two processes with the same pid differ in it.
    pub fn started(&self) -> Option<u64> {
        self.field(22)
    }

    /// Where the code of its program starts, and where it ends. The kernel writes 1 for both if
    /// the reader may not know.
    pub fn code(&self) -> Option<(u64, u64)> {
        self.field(26).zip(self.field(27))
    }

    /// The field with this number in proc_pid_stat(5), where the state is field 3. None if the
    /// file was cut off before it, if the kernel lacks it, or if it is of another type.
    pub fn field<T: FromStr>(&self, number: usize) -> Option<T> {
        let mut fields = self.after_name.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty());
        std::str::from_utf8(fields.nth(number.checked_sub(3)?)?).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_counted_as_in_the_manual() {
        let numbers: Vec<String> = (4..=52).map(|number: u32| number.to_string()).collect();
        let text = format!("12 (beam.smp) R {}\n", numbers.join(" "));
        let stat = Stat::parse(text.as_bytes()).unwrap();
        assert_eq!((stat.name(), stat.state(), stat.is_dead()), (&b"beam.smp"[..], b'R', false));
        assert_eq!((stat.parent(), stat.group(), stat.nice()), (Some(4), Some(5), Some(19)));
        assert_eq!((stat.started(), stat.code()), (Some(22), Some((26, 27))));
        assert_eq!((stat.field(3), stat.field(52)), (Some('R'), Some(52)));
        assert_eq!((stat.field::<u32>(53), stat.field::<u32>(2)), (None, None));
    }

    #[test]
    fn no_name_can_pass_for_fields() {
        for name in [&b"a) Z 1"[..], b"a b) 3 (x", b") ", b"", b"\xff\xfe) X", b"(", b")"] {
            let file = [&b"12 ("[..], name, b") S 7 12 12 0\n"].concat();
            let stat = Stat::parse(&file).unwrap();
            assert_eq!((stat.name(), stat.state(), stat.parent()), (name, b'S', Some(7)));
            assert!(!stat.is_dead());
        }
    }

    #[test]
    fn one_that_waits_to_be_reaped_is_dead() {
        let is_dead = |state: u8| {
            let file = [&b"12 (a) "[..], &[state], b" 1 12"].concat();
            Stat::parse(&file).unwrap().is_dead()
        };
        assert!(b"ZXx".iter().all(|state| is_dead(*state)));
        assert!(!b"RSDTtIPWK".iter().any(|state| is_dead(*state)));
    }

    #[test]
    fn a_file_that_was_cut_off_has_the_fields_before() {
        for torn in [&b""[..], b"12", b"12 (x", b"12 (x)", b"12 (x) ", b"12 x) S 1", b") (x"] {
            assert_eq!(Stat::parse(torn), None, "{torn:?}");
        }
        assert_eq!(Stat::parse(b"12 (x) S").unwrap().parent(), None);
        assert_eq!(Stat::parse(b"12 (x) S y").unwrap().parent(), None);
        assert_eq!(Stat::parse(b"12 (x) S -1").unwrap().parent(), Some(-1));
        assert_eq!(Stat::parse(b"12 (x) S \xff 4").unwrap().group(), Some(4));
        assert_eq!(Stat::parse(b"12 (x) S 1 2").unwrap().code(), None);
    }

    #[test]
    fn this_process_has_its_parent_and_its_group() {
        let file = std::fs::read("/proc/self/stat").unwrap();
        let stat = Stat::parse(&file).unwrap();
        // Both are 0 outside of the PID namespace of this process.
        let number = |pid: Option<rustix::process::Pid>| pid.map_or(0, |pid| pid.as_raw_pid());
        assert_eq!(stat.parent(), Some(number(rustix::process::getppid())));
        assert!(stat.group().is_some() && stat.started().is_some() && !stat.is_dead());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            file in proptest::collection::vec(any::<u8>(), 0..80),
            number: usize,
        ) {
            if let Some(stat) = Stat::parse(&file) {
                let _ = (stat.started(), stat.code(), stat.field::<u64>(number));
            }
        }
    }
}
