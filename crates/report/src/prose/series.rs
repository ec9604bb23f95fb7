//! Descriptions of the series of a record.

use model::{Meta, Series};
use os::terminal::line as plain;

/// The meaning of the figures of a series, in a few words: `processes in the run queue`.
pub(crate) fn series(name: &str, series: &Series, meta: Option<&Meta>) -> String {
    let known = || meta.and_then(|meta| meta.series_title(name)).unwrap_or(name);
    plain(series.title.as_deref().unwrap_or_else(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::META;
    use model::Unit;

    #[test]
    fn a_series_is_told_by_its_scenario_and_in_an_older_record_by_itself() {
        let mut one = Series::new(Unit::Count, Vec::new());
        assert_eq!(series("queued", &one, Some(&META)), "processes in the run queue");
        assert_eq!(series("other\u{1b}[2J", &one, Some(&META)), "other [2J");
        one.title = Some("messages\u{1b}[2J".to_owned());
        assert_eq!(series("queued", &one, Some(&META)), "messages [2J");
    }
}
