//! The record itself as a download, inside the page.

use crate::export;
use crate::limited::Limited;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, write::GzEncoder};
use maud::{Markup, html};
use model::Judged;
use std::io::Write;

/// Records up to this size are in the page uncompressed, in bytes.
const MOST_PLAIN: usize = 40_000;

/// The largest text that is compressed, in bytes. Compressing more would take too long for a
/// page.
const MOST_TO_PACK: usize = 6 << 20;

/// Download links for the data of the page. `room` is the number of bytes that the links may
/// take.
pub fn downloads(record: &Judged, name: &str, room: usize) -> Markup {
    let stem = stem(name, &record.scenario);
    let json = json(record)
        .and_then(|text| link(&text, "application/json", &format!("{stem}.json"), room));
    let left = room.saturating_sub(json.as_ref().map_or(0, |link| link.0.len()));
    let csv = export::csv::up_to(record, MOST_TO_PACK)
        .and_then(|text| link(&text, "text/csv", &format!("{stem}.csv"), left));
    let links: Vec<(String, String)> = [json, csv].into_iter().flatten().collect();
    html! {
        p {
            @for (place, (href, file)) in links.iter().enumerate() {
                @if place > 0 { ", " }
                a href=(href) download=(file) { (file) }
            }
            @if links.len() < 2 {
                @if links.is_empty() { "The record" } @else { ". The rest" }
                " is too large for a page; it is in " (name) "."
            }
        }
    }
}

/// The record as JSON; None if that is too long. Indented JSON may take many times the memory of
/// its record, so no more of it is made than fits.
fn json(record: &Judged) -> Option<String> {
    let mut text = Limited::new(MOST_TO_PACK);
    serde_json::to_writer_pretty(&mut text, record).ok()?;
    Some(text.into_text()? + "\n")
}

/// A data URL that holds a text, compressed if the text is long, and the name of its file.
fn link(text: &str, kind: &str, file: &str, room: usize) -> Option<(String, String)> {
    if text.len() > MOST_TO_PACK {
        return None;
    }
    let (kind, bytes, file) = match text.len() > MOST_PLAIN {
        true => ("application/gzip", packed(text)?, format!("{file}.gz")),
        false => (kind, text.as_bytes().to_vec(), file.to_owned()),
    };
    let href = format!("data:{kind};base64,{}", STANDARD.encode(bytes));
    (href.len() <= room).then_some((href, file))
}

fn packed(text: &str) -> Option<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text.as_bytes()).ok()?;
    packer.finish().ok()
}

/// A file name that is harmless on every system.
fn stem(name: &str, scenario: &str) -> String {
    let file = name.rsplit('/').next().unwrap_or_default().trim_end_matches(".json");
    let from = if file.is_empty() || file == "-" { scenario } else { file };
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    from.chars().map(safe).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_harmless() {
        assert_eq!(stem("/a/b/../x y<z>.json", "s"), "x_y_z_");
        assert_eq!(stem("-", "mmap-lock"), "mmap-lock");
    }

    #[test]
    fn a_record_is_written_up_to_a_limit_whatever_makes_it_long() {
        let mut record = crate::testing::record();
        assert_eq!(json(&record), Some(record.to_json()));
        let mut series = model::Series::new(model::Unit::Count, vec!["a".to_owned()]);
        (0..200_000u32).for_each(|at| series.push(f64::from(at), vec![Some(0.0)]));
        let mut wash_out = record.trials[0].clone();
        wash_out.observation.series.insert("queued".to_owned(), series);
        record.facts.wash_outs = vec![wash_out];
        assert!(record.to_json().len() > MOST_TO_PACK && json(&record).is_none());
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        assert!(link(&"x".repeat(100), "text/csv", "a.csv", 50).is_none());
        let (href, file) = link(&"x".repeat(50_000), "text/csv", "a.csv", 5_000).unwrap();
        assert!(href.starts_with("data:application/gzip;base64,") && file == "a.csv.gz");
    }
}
