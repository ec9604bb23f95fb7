//! How a bisection spends its error rate on its steps.

/// Upper limit of the probability that the whole bisection names a wrong version.
pub const ERROR_RATE: f64 = 0.05;

/// The unspent part of the error rate.
///
/// The bisection names a wrong version only if at least one of its answers is wrong. So the error
/// rates of all steps may add up to at most the error rate of the bisection (Boole's inequality).
/// Each step takes only a part of the unspent rate. So the limit holds for any number of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    whole: f64,
    left: f64,
}

impl Budget {
    /// A budget of which nothing is spent.
    pub fn new(rate: f64) -> Self {
        Budget { whole: rate, left: rate }
    }

    /// Takes the part for the next step. `steps` is the number of expected steps, including the
    /// next one. More steps may follow, because a version without an answer is skipped.
    pub fn spend(&mut self, steps: u32) -> f64 {
        let part = self.left / f64::from(steps.max(1).saturating_add(1));
        self.left -= part;
        part
    }

    /// Returns a part that was taken. The step looked at no evidence, so it could not be wrong.
    pub fn give_back(&mut self, part: f64) {
        self.left = (self.left + part).min(self.whole);
    }

    /// The spent part.
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
        let parts: Vec<f64> = (1..=6).rev().chain([1; 50]).map(|left| budget.spend(left)).collect();
        assert!(parts.iter().all(|part| *part > 0.0), "{parts:?}");
        assert!((parts.iter().sum::<f64>() - budget.spent()).abs() < 1e-12);
        assert!(budget.spent() < 0.05);
        let before = budget;
        let part = budget.spend(3);
        budget.give_back(part);
        assert!((budget.spent() - before.spent()).abs() < 1e-12);
        assert!((parts[0] - parts[5]).abs() < 1e-12, "expected steps have equal parts: {parts:?}");
    }
}
