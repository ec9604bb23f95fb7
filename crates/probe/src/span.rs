//! Stretches of time.

/// From one moment to another; empty if the end is before the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    /// Begin, in nanoseconds.
    pub from: u64,
    /// End.
    pub to: u64,
}

impl Stretch {
    /// From one moment until another.
    pub fn new(from: u64, to: u64) -> Self {
        Stretch { from, to }
    }

    /// How long it is, in nanoseconds.
    pub fn ns(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// The part that two stretches share; None if they do not overlap.
    pub fn meet(self, other: Stretch) -> Option<Stretch> {
        let meet = Stretch::new(self.from.max(other.from), self.to.min(other.to));
        (meet.ns() > 0).then_some(meet)
    }
}

/// The total length of the stretches; time that several of them share counts once.
pub fn union_ns(mut stretches: Vec<Stretch>) -> u64 {
    stretches.sort_unstable();
    let (mut sum, mut end) = (0, 0);
    for stretch in stretches {
        sum += stretch.to.saturating_sub(stretch.from.max(end));
        end = end.max(stretch.to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stretches_share_counts_once() {
        let all = vec![Stretch::new(5, 9), Stretch::new(0, 3), Stretch::new(2, 6)];
        assert_eq!(union_ns(all), 9);
        assert_eq!(union_ns(vec![Stretch::new(9, 5)]), 0);
        assert_eq!(Stretch::new(0, 5).meet(Stretch::new(5, 9)), None);
    }
}
