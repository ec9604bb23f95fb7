//! The style sheet of the page.

/// The fixed rules, which do not depend on the record.
const SHEET: &str = include_str!("style.css");

/// The whole style sheet.
pub fn sheet() -> String {
    format!("{SHEET}{}", crate::chart::palette::rules())
}
