//! Records, from their text to all output about them.

use crate::edits::Edits;
use model::{Facts, Judged, Meta};
use report::export::Format;
use report::history::Line;
use report::{Look, Shown, history, html, text};
use scenarios::AnyScenario;

/// A small valid record to begin with, since random bytes do not find its structure.
const SEED: &str = include_str!("seed.record.json");

/// Bytes that may be the text of a record.
pub(crate) fn record(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        shown(text);
    }
}

/// Bytes that describe how to change a valid record.
pub(crate) fn edited(bytes: &[u8]) {
    let Ok(mut value) = serde_json::from_str(SEED) else { return };
    Edits::new(bytes).apply(&mut value);
    shown(&value.to_string());
}

/// Judges and shows a record as the commands do.
fn shown(text: &str) {
    let Ok(facts) = Facts::from_json(text) else { return };
    let record = scenarios::judged(facts);
    look_at(&record);
    // This version can read the records that it writes.
    let again = Facts::from_json(&record.to_json());
    assert!(again.is_ok(), "a judged record that cannot be read again: {:?}", again.err());
}

fn look_at(record: &Judged) {
    let meta: Option<&Meta> = scenarios::find(&record.scenario).map(AnyScenario::meta);
    let shown = [Shown::new(record, meta, "record.json")];
    for why in [false, true] {
        let look = Look { why, ..Look::default() };
        let text = text::record(&shown[0], look);
        assert!(!text.contains('\u{1b}'), "a text that steers the terminal");
        let explanation = analysis::explain(record, None);
        report::explanation(&explanation, record, meta, look);
    }
    for measure in [None, Some("stalled_per_s")] {
        let lines = Vec::from_iter(Line::new(record, "record.json", measure));
        let text = history::text(&lines, Look::default());
        assert!(!text.contains('\u{1b}'), "a text that steers the terminal");
        let _ = html::history_page(&[lines]);
    }
    // A record that cannot be shown is refused. It must not panic.
    let _ = html::page(&shown);
    for (_, format) in Format::ALL {
        let _ = format.write(&shown);
    }
}
