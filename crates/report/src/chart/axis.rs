//! Axes: the position of a figure, and the tick marks.

use model::estimate::number;

/// Larger figures are drawn at the edge, where no chart could show a difference.
const MOST: f64 = 1e15;

/// The smallest figure that a logarithmic axis distinguishes from zero.
const LEAST: f64 = 1e-12;

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A linear scale.
    Linear,
    /// A logarithmic scale.
    Log,
}

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The scale of the figures.
    pub scale: Scale,
    /// The figure at the start of the axis, or its decimal logarithm.
    pub low: f64,
    /// The same for the end of the axis.
    pub high: f64,
    /// Positions and labels of the tick marks.
    pub ticks: Vec<(f64, String)>,
    /// The title, with what the axis measures.
    pub title: String,
}

impl Axis {
    /// An axis from zero to the largest of these figures. It starts at the smallest figure if
    /// that is negative.
    pub fn linear(figures: impl Iterator<Item = f64>, title: &str) -> Self {
        let (low, high) = ends(figures);
        let (low, high) = (low.min(0.0), high.max(0.0));
        let high = if high > low { high } else { low + 1.0 };
        let step = step((high - low) / 4.0);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let marks = count(last - first);
        let ticks = (0..=marks).map(|i| (first + f64::from(i)) * step);
        let ticks = ticks.map(|at| (at, label(at))).collect();
        Axis {
            scale: Scale::Linear,
            low: first * step,
            high: last * step,
            ticks,
            title: title.to_owned(),
        }
    }

    /// A logarithmic axis around these figures. Figures of zero and below are at its start.
    pub fn log(figures: impl Iterator<Item = f64>, title: &str) -> Self {
        let positive = figures.filter(|figure| *figure > LEAST);
        let (low, high) = ends(positive.map(|figure| place(Scale::Log, figure)));
        let (low, high) = (low.floor(), high.ceil());
        let high = if high > low { high } else { low + 1.0 };
        let every = ((high - low) / 6.0).ceil().max(1.0);
        let marks = count((high - low) / every);
        let ticks = (0..=marks).map(|i| low + f64::from(i) * every);
        let ticks = ticks.map(|at| (at, label(10f64.powf(at)))).collect();
        Axis { scale: Scale::Log, low, high, ticks, title: title.to_owned() }
    }

    /// A logarithmic axis if all figures are positive and span more than a factor of 50, else a
    /// linear one.
    pub fn fitting(figures: &[f64], title: &str) -> Self {
        let (low, high) = ends(figures.iter().copied());
        match low > LEAST && high / low > 50.0 {
            true => Axis::log(figures.iter().copied(), title),
            false => Axis::linear(figures.iter().copied(), title),
        }
    }

    /// An axis with `slots` positions and no figures.
    pub fn slots(slots: usize) -> Self {
        let high = slots.max(1) as f64;
        Axis { scale: Scale::Linear, low: 0.0, high, ticks: Vec::new(), title: String::new() }
    }

    /// The position of a figure, between 0 at the start and 1 at the end.
    pub fn part(&self, figure: f64) -> f64 {
        let part = (place(self.scale, figure) - self.low) / (self.high - self.low);
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The coordinate of a figure on this scale, before it is fitted to a chart.
fn place(scale: Scale, figure: f64) -> f64 {
    match scale {
        Scale::Linear => figure.clamp(-MOST, MOST),
        Scale::Log => figure.clamp(LEAST, MOST).log10(),
    }
}

/// The smallest and the largest figure; 0 and 1 if there are no figures.
fn ends(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    let within = figures.filter(|figure| figure.is_finite()).map(|f| f.clamp(-MOST, MOST));
    let ends = within.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), figure| {
        (low.min(figure), high.max(figure))
    });
    if ends.0.is_finite() { ends } else { (0.0, 1.0) }
}

/// The smallest number of the form 1, 2 or 5 times a power of ten that is not below `least`.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|s| *s >= least)
        .unwrap_or(power)
}

/// A small whole number of marks.
fn count(marks: f64) -> u32 {
    marks.round().clamp(1.0, 40.0) as u32
}

fn label(figure: f64) -> String {
    match figure.abs() {
        size if size >= 1e9 => format!("{}G", number(figure / 1e9)),
        size if size >= 1e6 => format!("{}M", number(figure / 1e6)),
        size if size >= 1e4 => format!("{}k", number(figure / 1e3)),
        size if size > 0.0 && size < 1e-3 => format!("{figure:.0e}"),
        _ => number(figure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn marks_stand_at_round_figures() {
        let axis = Axis::linear([3.0, 970.0].into_iter(), "ms");
        assert_eq!(labels(&axis), ["0", "500", "1000"]);
        assert_eq!((axis.part(0.0), axis.part(500.0), axis.part(1000.0)), (0.0, 0.5, 1.0));
        let axis = Axis::log([0.2, 480.0].into_iter(), "ms");
        assert_eq!(labels(&axis), ["0.1", "1", "10", "100", "1000"]);
        assert_eq!((axis.part(0.1), axis.part(10.0), axis.part(0.0)), (0.0, 0.5, 0.0));
    }

    #[test]
    fn the_scale_fits_the_figures() {
        assert_eq!(Axis::fitting(&[0.0, 1000.0], "").scale, Scale::Linear);
        assert_eq!(Axis::fitting(&[0.1, 1000.0], "").scale, Scale::Log);
        assert_eq!(Axis::fitting(&[900.0, 1000.0], "").scale, Scale::Linear);
    }

    #[test]
    fn absurd_figures_have_a_place() {
        let absurd = [f64::NAN, f64::INFINITY, f64::MAX, -f64::MAX, 0.0, f64::MIN_POSITIVE, 1e-300];
        for axis in [
            Axis::linear(absurd.into_iter(), ""),
            Axis::log(absurd.into_iter(), ""),
            Axis::fitting(&absurd, ""),
            Axis::linear([].into_iter(), ""),
            Axis::log([0.0].into_iter(), ""),
        ] {
            assert!(axis.low < axis.high && axis.ticks.len() < 50, "{axis:?}");
            assert!(absurd.iter().all(|figure| (0.0..=1.0).contains(&axis.part(*figure))));
        }
    }
}
