//! Text tables that fit a terminal: a layer over comfy-table. It gives cells their colour, and
//! splits off the columns that do not fit.

use crate::look::Look;
use anstyle::AnsiColor;
use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement, Table, presets};
use model::State;

/// A heading, and the alignment of its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    title: String,
    unit: &'static str,
    right: bool,
}

impl Column {
    /// A column of words.
    pub fn left(title: impl Into<String>) -> Self {
        Column { title: title.into(), unit: "", right: false }
    }

    /// A column of figures.
    pub fn right(title: impl Into<String>) -> Self {
        Column { title: title.into(), unit: "", right: true }
    }

    /// A column of figures with a unit. The unit is beside the heading or below it.
    pub fn figures(title: impl Into<String>, unit: &'static str) -> Self {
        Column { title: title.into(), unit, right: true }
    }

    fn heading(&self, below: bool) -> String {
        match (self.unit, below) {
            ("", _) => self.title.clone(),
            (unit, true) => format!("{},\n{unit}", self.title),
            (unit, false) => format!("{}, {unit}", self.title),
        }
    }
}

/// The content of a row in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    color: Option<AnsiColor>,
}

impl Cell {
    /// Words in a colour.
    pub fn painted(text: impl Into<String>, color: AnsiColor) -> Self {
        Cell { text: text.into(), color: Some(color) }
    }

    /// A verdict in its colour.
    pub fn state(state: State) -> Self {
        Cell::painted(state.word(), color(state))
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell { text, color: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::from(text.to_owned())
    }
}

/// The colour of a verdict.
pub(crate) fn color(state: State) -> AnsiColor {
    match state {
        State::Affected => AnsiColor::Red,
        State::NotAffected => AnsiColor::Green,
        State::Inconclusive | State::Untrustworthy => AnsiColor::Yellow,
        State::Skipped => AnsiColor::Cyan,
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// Whether units are below their headings.
    below: bool,
}

impl Grid {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Grid { columns, rows: Vec::new(), below: false }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Splits the table into tables that fit this width. Each further table begins with the first
    /// `lead` columns again. If one table is too wide, units move below their headings to save
    /// room.
    pub fn parts(&self, width: usize, lead: usize) -> Vec<Grid> {
        let beside = self.side_by_side(width, lead);
        match beside.len() {
            1 => beside,
            _ => Grid { below: true, ..self.clone() }.side_by_side(width, lead),
        }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The first of [`Grid::parts`], up to the part with the column `last`. Columns count from 0.
    pub fn parts_up_to(&self, last: usize, width: usize, lead: usize) -> Vec<Grid> {
        let mut parts = self.parts(width, lead);
        let mut begins = lead;
        let shown = parts.iter().take_while(|part| {
            let is_shown = begins <= last;
            begins += part.columns().saturating_sub(lead);
            is_shown
        });
        let shown = shown.count();
        parts.truncate(shown.max(1));
        parts
    }

    fn side_by_side(&self, width: usize, lead: usize) -> Vec<Grid> {
        let widths: Vec<usize> =
            self.table(false).column_max_content_widths().iter().map(|w| usize::from(*w)).collect();
        let taken = |columns: &[usize]| -> usize {
            columns.iter().map(|at| widths.get(*at).copied().unwrap_or(0) + 2).sum()
        };
        let leading: Vec<usize> = (0..lead.min(self.columns.len())).collect();
        let mut parts = vec![leading.clone()];
        for at in leading.len()..self.columns.len() {
            let Some(part) = parts.last_mut() else { break };
            part.push(at);
            // Every part has at least one column besides the leading ones, however wide.
            if taken(part) > width && part.len() > leading.len() + 1 {
                part.pop();
                parts.push(leading.iter().copied().chain([at]).collect());
            }
        }
        parts.iter().map(|columns| self.only(columns)).collect()
    }

    /// The table with only these columns.
    fn only(&self, columns: &[usize]) -> Grid {
        let pick =
            |row: &Vec<Cell>| columns.iter().filter_map(|at| row.get(*at).cloned()).collect();
        Grid {
            columns: columns.iter().filter_map(|at| self.columns.get(*at).cloned()).collect(),
            rows: self.rows.iter().map(pick).collect(),
            below: self.below,
        }
    }

    /// The lines of the table. Cells that make it wider than `look.width` are wrapped.
    pub fn lines(&self, look: Look) -> Vec<String> {
        let mut table = self.table(look.color);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(look.width).unwrap_or(u16::MAX));
        table.lines().map(|line| format!(" {}", line.trim_end())).collect()
    }

    /// The lines, each with a line feed.
    pub fn text(&self, look: Look) -> String {
        self.lines(look).into_iter().map(|line| format!("{line}\n")).collect()
    }

    /// The text of the table. If the width would split words of it, the text of its parts, with an
    /// empty line between two.
    pub fn text_of_words(&self, look: Look, lead: usize) -> String {
        let plain = self.text(Look { color: false, ..look });
        if plain.split_whitespace().count() == self.words() {
            return self.text(look);
        }
        let parts = self.parts(look.width, lead);
        parts.iter().map(|part| part.text(look)).collect::<Vec<String>>().join("\n")
    }

    /// The number of words in the table.
    fn words(&self) -> usize {
        let count = |text: &str| text.split_whitespace().count();
        let headings = self.columns.iter().map(|column| count(&column.heading(self.below)));
        let cells = self.rows.iter().flatten().map(|cell| count(&cell.text));
        headings.chain(cells).sum()
    }

    fn table(&self, color: bool) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.force_no_tty();
        if color {
            table.enforce_styling().style_text_only();
        }
        table.set_header(
            self.columns.iter().map(|column| column.heading(self.below)).collect::<Vec<_>>(),
        );
        for row in &self.rows {
            table.add_row(row.iter().map(laid_out).collect::<Vec<_>>());
        }
        for (at, column) in self.columns.iter().enumerate() {
            if let Some(laid_out) = table.column_mut(at).filter(|_| column.right) {
                laid_out.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }
}

fn laid_out(cell: &Cell) -> comfy_table::Cell {
    let laid_out = comfy_table::Cell::new(&cell.text);
    match cell.color {
        Some(color) => laid_out.fg(of_library(color)).add_attribute(Attribute::Bold),
        None => laid_out,
    }
}

fn of_library(color: AnsiColor) -> Color {
    match color {
        AnsiColor::Red => Color::DarkRed,
        AnsiColor::Green => Color::DarkGreen,
        AnsiColor::Yellow => Color::DarkYellow,
        AnsiColor::Cyan => Color::DarkCyan,
        _ => Color::Reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use textwrap::core::display_width;

    fn grid() -> Grid {
        let mut grid = Grid::new(vec![
            Column::left("arm"),
            Column::left("verdict"),
            Column::figures("stalled", "ms/s"),
            Column::right("calls"),
        ]);
        let row = |arm: &str, state, figure: &str| {
            vec![Cell::from(arm), Cell::state(state), Cell::from(figure), Cell::from("1 [0, 2]")]
        };
        grid.row(row("control", State::NotAffected, "0 [0, 0]"));
        grid.row(row("busy-10", State::Affected, "1000 [1000, 1000]"));
        grid
    }

    fn look(width: usize, color: bool) -> Look {
        Look { color, width, ..Look::default() }
    }

    #[test]
    fn cells_stand_below_their_heading_and_have_their_colour() {
        let lines = grid().lines(look(80, false));
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(lines[0].find("verdict"), lines[2].find("affected"), "{lines:?}");
        assert_eq!(lines[2], "  busy-10  affected      1000 [1000, 1000]  1 [0, 2]");
        let painted = grid().text(look(80, true));
        let red = AnsiColor::Red.on_default().bold();
        assert!(painted.contains('\u{1b}') && !painted.contains(&format!("{red} ")), "{painted:?}");
    }

    #[test]
    fn what_does_not_fit_stands_in_a_table_of_its_own() {
        let parts = grid().parts(48, 1);
        let titles = |grid: &Grid| -> Vec<String> {
            grid.columns.iter().map(|column| column.heading(false)).collect()
        };
        let titles: Vec<Vec<String>> = parts.iter().map(titles).collect();
        assert_eq!(titles, [vec!["arm", "verdict", "stalled, ms/s"], vec!["arm", "calls"]]);
        assert_eq!(grid().parts(80, 1).len(), 1);
        assert_eq!(grid().parts(1, 1).len(), 3);
    }

    #[test]
    fn a_short_answer_has_the_parts_up_to_the_column_that_it_needs() {
        let shown = |last, width| grid().parts_up_to(last, width, 1).len();
        assert_eq!(grid().parts(30, 1).len(), 3);
        assert_eq!([shown(0, 30), shown(1, 30), shown(2, 30), shown(3, 30)], [1, 1, 2, 3]);
        assert_eq!([shown(4, 30), shown(2, 80)], [3, 1]);
    }

    #[test]
    fn a_narrow_table_becomes_several_before_it_splits_a_word() {
        let whole = |width| grid().text_of_words(look(width, false), 1);
        assert_eq!(whole(80), grid().text(look(80, false)));
        for width in [40, 50, 60] {
            let text = whole(width);
            for word in ["control", "busy-10", "not-affected", "[1000,", "calls"] {
                assert!(text.split_whitespace().any(|other| other == word), "{word}: {text}");
            }
            assert!(text.lines().all(|line| display_width(line) <= width), "{text}");
        }
        assert!(whole(40).contains("\n\n  arm"), "{}", whole(40));
    }

    #[test]
    fn no_line_is_wider_than_the_look() {
        let mut wide = grid();
        let name = "busy=10,".repeat(30);
        wide.row(vec![Cell::from(name), Cell::state(State::Skipped), "-".into(), "-".into()]);
        for width in [60, 80, 120] {
            let lines = wide.lines(look(width, false));
            assert!(lines.iter().all(|line| display_width(line) <= width), "{lines:#?}");
        }
    }
}
