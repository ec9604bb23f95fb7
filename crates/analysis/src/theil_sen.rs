//! The slope of a line through points, some of which may be outliers.

use crate::reading::{ascending, middle};

/// The most points that are used, because every pair of points is examined.
pub const MOST_POINTS: usize = 2000;

/// The median slope of all pairs of points `(x, y)` that differ in `x`, in units of `y` per `x`.
///
/// Theil 1950, "A rank-invariant method of linear and polynomial regression analysis",
/// Proceedings of the KNAW 53, 386-392; Sen 1968, "Estimates of the regression coefficient based
/// on Kendall's tau", Journal of the American Statistical Association 63, 1379-1389, for ties in
/// `x`. Up to 29% of the points may have any value. `None` if no two points differ in `x`. Points
/// beyond [`MOST_POINTS`] and points that are not finite are left out.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let finite = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite();
    let points: Vec<(f64, f64)> = points.iter().filter(finite).take(MOST_POINTS).copied().collect();
    let from = |(place, first): (usize, &(f64, f64))| {
        let (x, y) = *first;
        let later = points[place + 1..].iter().filter(move |point| point.0 != x);
        later.map(move |point| (point.1 - y) / (point.0 - x)).collect::<Vec<f64>>()
    };
    let slopes = ascending(points.iter().enumerate().flat_map(from));
    middle(&slopes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_median_of_the_slopes_of_all_pairs() {
        // The slopes by hand are 1, 3, 5, 5, 7, 9 between (0,0), (1,1), (2,6), (3,15).
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, 6.0), (3.0, 15.0)];
        assert_eq!(slope(&points), Some(5.0));
    }

    #[test]
    fn points_far_off_do_not_move_it() {
        let mut points: Vec<(f64, f64)> =
            (0..20).map(|n| (f64::from(n), 3.0 * f64::from(n) + 1.0)).collect();
        points[3].1 = 1e9;
        points[11].1 = -1e9;
        points[17].1 = f64::NAN;
        assert!((slope(&points).unwrap() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn without_two_places_there_is_no_slope() {
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[(1.0, 2.0), (1.0, 9.0)]), None);
    }

    proptest! {
        #[test]
        fn a_line_is_found(
            a in -1e3f64..1e3, b in -1e3f64..1e3, xs in prop::collection::vec(-1e3f64..1e3, 2..40),
        ) {
            let points: Vec<(f64, f64)> = xs.iter().map(|x| (*x, a + b * x)).collect();
            if let Some(found) = slope(&points) {
                // Points that hardly differ in x carry rounding errors.
                let far = xs.iter().all(|x| xs.iter().all(|y| x == y || (x - y).abs() > 1e-3));
                prop_assert!(!far || (found - b).abs() < 1e-3);
            }
        }

        #[test]
        fn the_order_of_the_points_does_not_matter(
            mut points in prop::collection::vec((-9i8..9, -9i8..9), 0..30),
        ) {
            let slope_of = |points: &[(i8, i8)]| {
                slope(&points.iter().map(|(x, y)| (f64::from(*x), f64::from(*y))).collect::<Vec<_>>())
            };
            let before = slope_of(&points);
            points.reverse();
            prop_assert_eq!(slope_of(&points), before);
        }
    }
}
