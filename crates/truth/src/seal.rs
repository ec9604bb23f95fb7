//! The last line of a generated page: a digest of all lines above it, so that manual changes are
//! detected.

use crate::row::digest;

const BEFORE: &str = "<!-- Written by a program; digest of the lines above: ";
const AFTER: &str = " -->\n";

/// The page with its seal.
pub fn sealed(page: &str) -> String {
    format!("{page}\n{BEFORE}{}{AFTER}", digest(page.as_bytes()))
}

/// Whether a page is unchanged since it was written.
pub fn is_whole(page: &str) -> bool {
    page.rsplit_once(&format!("\n{BEFORE}")).is_some_and(|(text, _)| sealed(text) == page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_by_hand_breaks_the_seal() {
        let page = sealed("# Known answers\n\n| a | 1 |\n");
        assert!(is_whole(&page), "{page}");
        assert!(!is_whole(&page.replace("| 1 |", "| 2 |")));
        assert!(!is_whole("# Known answers\n"));
        assert!(page.lines().all(|line| line.len() <= 100), "{page}");
    }

    #[test]
    fn the_pages_of_the_repository_are_as_they_were_written() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        for page in ["docs/truth.md", "truth/table.md"] {
            let text = std::fs::read_to_string(format!("{folder}{page}")).unwrap();
            assert!(is_whole(&text), "{page} was changed by hand: make truth TRUTH=--no-run");
        }
    }
}
