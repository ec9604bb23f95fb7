//! Fields of `/proc/PID/stat`.

/// The pid of the parent.
///
/// Allocates nothing: the supervisor needs it between fork and exec.
pub(crate) fn parent_of(stat: &[u8]) -> Option<i32> {
    // The name in parentheses may itself contain parentheses and spaces.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(end + 1..)?.split(|byte| *byte == b' ').filter(|f| !f.is_empty());
    let _state = fields.next()?;
    std::str::from_utf8(fields.next()?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_of(b"12 (a) b) 3 (x) S 7 12 12 0"), Some(7));
        assert_eq!(parent_of(b"12 (beam.smp) R 1"), Some(1));
        for torn in [&b""[..], b"12 (x", b"12 (x)", b"12 (x) S", b"12 (x) S y"] {
            assert_eq!(parent_of(torn), None);
        }
    }
}
