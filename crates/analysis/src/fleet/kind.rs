//! Machines of one kind.

/// Machines of one kind with a settled answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindCounts {
    /// How many are affected.
    pub affected: u32,
    /// How many have a settled answer.
    pub of: u32,
    /// Its level of each factor, by its place among the levels; `None` where it is not known.
    pub levels: Vec<Option<u32>>,
}

impl KindCounts {
    /// The share of it that is affected.
    pub(super) fn rate(&self) -> f64 {
        f64::from(self.affected) / f64::from(self.of.max(1))
    }
}

/// How alike machines of a kind are: 0 where they are independent, 1 where all of a kind answer
/// alike.
///
/// Their intraclass correlation by analysis of variance (Donner 1986, "A review of inference
/// procedures for the intraclass correlation coefficient", International Statistical Review 54,
/// 67-82).
pub(super) fn alikeness<'a>(kinds: impl Iterator<Item = &'a KindCounts> + Clone) -> f64 {
    let number = kinds.clone().count() as f64;
    let sizes = || kinds.clone().map(|kind| f64::from(kind.of));
    let machines: f64 = sizes().sum();
    if number < 2.0 || machines <= number {
        return 1.0;
    }
    let mean = kinds.clone().map(|kind| f64::from(kind.affected)).sum::<f64>() / machines;
    let (mut between, mut within) = (0.0, 0.0);
    for kind in kinds.clone() {
        let (of, rate) = (f64::from(kind.of), kind.rate());
        between += of * (rate - mean).powi(2);
        within += of * rate * (1.0 - rate);
    }
    let (between, within) = (between / (number - 1.0), within / (machines - number));
    let size = (machines - sizes().map(|of| of * of).sum::<f64>() / machines) / (number - 1.0);
    let alike = (between - within) / (between + (size - 1.0) * within);
    if alike.is_finite() { alike.clamp(0.0, 1.0) } else { 1.0 }
}
