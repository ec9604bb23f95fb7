//! The median.

/// Figures, sorted in ascending order.
pub fn ascending(figures: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures
}

/// The median of ascending figures. For an even number of figures, it is the mean of the two
/// middle ones.
pub fn median(ascending: &[f64]) -> Option<f64> {
    let upper = *ascending.get(ascending.len() / 2)?;
    let lower = *ascending.get((ascending.len() - 1) / 2)?;
    // Each value is halved first, so that the sum of two large figures does not overflow.
    Some(if lower == upper { lower } else { lower / 2.0 + upper / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_none_one_and_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[3.0, 5.0]), Some(4.0));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median(&ascending([9.0, 1.0, 5.0])), Some(5.0));
    }
}
