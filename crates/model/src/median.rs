//! The median.

/// Figures in ascending order.
pub fn ascending(figures: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures
}

/// The median of ascending figures: the mean of the two in the middle where their number is even.
pub fn median(ascending: &[f64]) -> Option<f64> {
    let upper = *ascending.get(ascending.len() / 2)?;
    let lower = *ascending.get((ascending.len() - 1) / 2)?;
    // Halved first, so that two large figures do not overflow.
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
