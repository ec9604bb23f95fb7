//! The style sheet of the page.

/// Rules that no record has a part in.
const SHEET: &str = include_str!("style.css");

/// The whole style sheet.
pub fn sheet() -> String {
    format!("{SHEET}{}", crate::chart::palette::rules())
}
