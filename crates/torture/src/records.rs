//! Records that a hit run left: each has to be readable.

use crate::place::Place;
use std::path::Path;

/// What is wrong with the records that there are, a line for each that is.
pub fn unreadable(place: &Place) -> Vec<String> {
    let folders = [place.records(), place.at("tmp"), place.at("full/tailback"), place.at("full")];
    let files = folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let records = files
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"));
    records.filter_map(|record| why_not(place, &record)).collect()
}

fn why_not(place: &Place, record: &Path) -> Option<String> {
    let ran = place.command(&place.program()).arg("judge").arg(record).output();
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => return Some(format!("judge: {error}")),
    };
    let readable = ran.status.code().is_some_and(|code| [0, 1, 3, 4].contains(&code));
    let shown = record.display();
    (!readable).then(|| format!("record {shown}: {}", String::from_utf8_lossy(&ran.stderr)))
}
