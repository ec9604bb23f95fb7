//! The intervals of medians, as vertical lines.

use super::draw::line;
use super::frame::Plane;
use maud::{Markup, html};
use model::Estimate;

/// The figures that an axis has to reach for these estimates: medians and the ends of intervals.
pub fn figures<'e>(estimates: impl Iterator<Item = &'e Estimate>) -> Vec<f64> {
    estimates.flat_map(|e| [Some(e.median), e.low, e.high]).flatten().collect()
}

/// The interval of an estimate at the horizontal position `x`. An open end reaches the upper edge.
pub fn upright(estimate: &Estimate, x: f64, plane: &Plane) -> Markup {
    let high = match (estimate.high, estimate.high_unbounded) {
        (Some(high), _) => Some(plane.y(high)),
        (None, true) => Some(plane.top),
        (None, false) => None,
    };
    html! {
        @if let (Some(low), Some(high)) = (estimate.low, high) {
            (line("interval", (x, plane.y(low)), (x, high)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::axis::Axis;
    use crate::chart::draw::n;
    use crate::chart::frame::Frame;
    use model::Unit;
    use model::testing::estimate;

    #[test]
    fn an_interval_is_drawn_whole_and_an_open_end_reaches_the_edge() {
        let middle = estimate(100.0, Unit::Milliseconds);
        let wide = Estimate { low: Some(10.0), high: Some(900.0), ..middle.clone() };
        let open = Estimate { high: None, high_unbounded: true, ..wide.clone() };
        let none = Estimate { low: None, high: None, ..middle };
        let y = Axis::linear(figures([&wide].into_iter()).into_iter(), "ms");
        assert!(y.high >= 900.0, "{y:?}");
        let (_, plane) = Frame::new(Axis::slots(1), y).draw("test", &[]).unwrap();
        let drawn = |estimate: &Estimate| upright(estimate, 1.0, &plane).into_string();
        assert!(plane.y(900.0) > plane.top);
        assert!(drawn(&wide).contains(&format!("y2=\"{}\"", n(plane.y(900.0)))));
        assert!(drawn(&open).contains(&format!("y2=\"{}\"", n(plane.top))));
        assert_eq!(drawn(&none), "");
    }
}
