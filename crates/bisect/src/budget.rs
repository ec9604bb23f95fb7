//! How the error rate of a bisection is spent on its steps.

/// How often the whole bisection may name a version that is not the one where it changes.
pub const ERROR_RATE: f64 = 0.05;

/// What is left of the error rate.
///
/// The bisection names a wrong version only where at least one of its answers is wrong. So the
/// rates of all steps only have to add up to at most that of the whole (Boole's inequality). Each
/// step takes a part of what is left and never all of it, so this holds for any number of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    whole: f64,
    left: f64,
}

impl Budget {
    /// All of this rate.
    pub fn new(rate: f64) -> Self {
        Budget { whole: rate, left: rate }
    }

    /// Takes the part of the next step. `steps` is how many steps are expected, the next one
    /// included. There may be more: a version that cannot be tested is skipped.
    pub fn take(&mut self, steps: u32) -> f64 {
        let part = self.left / f64::from(steps.max(1).saturating_add(1));
        self.left -= part;
        part
    }

    /// Takes a part back: no evidence was looked at, so nothing could go wrong.
    pub fn give_back(&mut self, part: f64) {
        self.left = (self.left + part).min(self.whole);
    }

    /// What was taken.
    pub fn spent(&self) -> f64 {
        self.whole - self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_together_take_no_more_than_there_is() {
        let mut budget = Budget::new(0.05);
        let parts: Vec<f64> = (1..=6).rev().chain([1; 50]).map(|left| budget.take(left)).collect();
        assert!(parts.iter().all(|part| *part > 0.0), "{parts:?}");
        assert!((parts.iter().sum::<f64>() - budget.spent()).abs() < 1e-12);
        assert!(budget.spent() < 0.05);
        let before = budget;
        let part = budget.take(3);
        budget.give_back(part);
        assert!((budget.spent() - before.spent()).abs() < 1e-12);
        assert!((parts[0] - parts[5]).abs() < 1e-12, "expected steps have equal parts: {parts:?}");
    }
}
