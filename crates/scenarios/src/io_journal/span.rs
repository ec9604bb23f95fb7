//! Spans of time, and how much of some of them falls into others.

/// A span of the monotonic clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
}

impl Span {
    /// The length of the span, in nanoseconds.
    pub(super) fn length_ns(self) -> u64 {
        self.ended_ns.saturating_sub(self.began_ns)
    }
}

/// How much of the first spans falls into the second ones, in nanoseconds. The spans of each list
/// follow each other and do not overlap.
pub(super) fn common_ns(first: &[Span], second: &[Span]) -> u64 {
    let mut sum_ns = 0_u64;
    let mut first = first.iter().peekable();
    let mut second = second.iter().peekable();
    while let (Some(&&one), Some(&&other)) = (first.peek(), second.peek()) {
        let began_ns = one.began_ns.max(other.began_ns);
        let ended_ns = one.ended_ns.min(other.ended_ns);
        sum_ns = sum_ns.saturating_add(Span { began_ns, ended_ns }.length_ns());
        if one.ended_ns <= other.ended_ns {
            first.next();
        } else {
            second.next();
        }
    }
    sum_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ends: &[(u64, u64)]) -> Vec<Span> {
        ends.iter().map(|&(began_ns, ended_ns)| Span { began_ns, ended_ns }).collect()
    }

    #[test]
    fn what_falls_into_other_spans_is_counted_once() {
        let common = |first: &[(u64, u64)], second: &[(u64, u64)]| {
            let sum = common_ns(&spans(first), &spans(second));
            assert_eq!(common_ns(&spans(second), &spans(first)), sum);
            sum
        };
        assert_eq!(common(&[(10, 20)], &[(0, 100)]), 10);
        assert_eq!(common(&[(10, 20), (30, 50)], &[(15, 35), (40, 45)]), 5 + 5 + 5);
        assert_eq!(common(&[(10, 20)], &[(20, 30)]), 0);
        assert_eq!(common(&[], &[(0, 9)]), 0);
    }
}
