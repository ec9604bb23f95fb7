//! A chart on the page: drawing, legend, text, and the table of its figures.

use crate::chart::{Chart, MOST_ROWS, Table};
use crate::prose::plain;
use maud::{Markup, PreEscaped, html};

/// One chart; `id` is unique on the page.
pub fn figure(chart: &Chart, id: &str) -> Markup {
    let (width, height) = chart.size;
    html! {
        figure {
            h4 { (plain(&chart.title)) }
            svg.chart role="img" aria-labelledby={ (id) "t " (id) "d" } viewBox={ "0 0 " (width) " " (height) } {
                title id={ (id) "t" } { (plain(&chart.title)) }
                desc id={ (id) "d" } { (plain(&chart.about)) }
                (PreEscaped(&chart.body))
            }
            @if !chart.legend.is_empty() {
                ul.legend { @for (color, name) in &chart.legend { li { span class={ "chip p" (color.0) } {} (plain(name)) } } }
            }
            figcaption { (plain(&chart.about)) @if let Some(left) = &chart.left_out { " " em { (left) } } }
            (details(&chart.table, &chart.title))
        }
    }
}

/// A table that is folded until the reader opens it.
pub fn details(table: &Table, title: &str) -> Markup {
    html! {
        details {
            summary { "Figures" }
            (scroll(table, title))
        }
    }
}

/// Cuts a table to [`MOST_ROWS`]. Returns a note if rows were cut; `rest` says where they are.
pub fn cut(table: &mut Table, rest: &str) -> Option<String> {
    let rows = table.rows.len();
    table.rows.truncate(MOST_ROWS);
    left_out(rows, rest)
}

/// A note that a table has only [`MOST_ROWS`] of its `rows` rows; None if it has all of them.
pub fn left_out(rows: usize, rest: &str) -> Option<String> {
    (rows > MOST_ROWS).then(|| format!("{MOST_ROWS} of {rows} rows are listed; {rest}"))
}

/// Whether every cell of a column is a whole number.
fn is_number(table: &Table, column: usize) -> bool {
    let digits = |cell: &String| !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit());
    let mut cells = table.rows.iter().filter_map(|row| row.get(column)).peekable();
    cells.peek().is_some() && cells.all(digits)
}

/// A text whose lines preferably break after commas, since folded names have no spaces.
pub fn breakable(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split(',').enumerate() {
            @if place > 0 { "," wbr; }
            (part)
        }
    }
}

/// A table that scrolls if it is too wide for the screen.
pub fn scroll(table: &Table, title: &str) -> Markup {
    laid_out(table, title, "scroll")
}

/// A table of long texts: on a narrow screen each row becomes a list of its cells.
pub fn stack(table: &Table, title: &str) -> Markup {
    laid_out(table, title, "scroll stack")
}

fn laid_out(table: &Table, title: &str, class: &str) -> Markup {
    let numbers: Vec<bool> = (0..table.head.len()).map(|column| is_number(table, column)).collect();
    let number = |column: usize| (numbers.get(column) == Some(&true)).then_some("number");
    let cell = |column: usize, cell: &str| {
        let label = table.head.get(column).map(|head| plain(head)).unwrap_or_default();
        html! { td class=[number(column)] data-label=(label) { (breakable(&plain(cell))) } }
    };
    html! {
        div class=(class) tabindex="0" role="region" aria-label={ "Figures: " (title) } {
            table {
                thead { tr { @for (column, cell) in table.head.iter().enumerate() { th class=[number(column)] { (plain(cell)) } } } }
                tbody { @for row in &table.rows { tr { @for (column, text) in row.iter().enumerate() { (cell(column, text)) } } } }
            }
        }
    }
}
