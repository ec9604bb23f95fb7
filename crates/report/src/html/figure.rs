//! A chart on the page: drawing, legend, words, and the figures behind it.

use crate::chart::{Chart, Table};
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

/// A table that opens when it is asked for.
pub fn details(table: &Table, title: &str) -> Markup {
    html! {
        details {
            summary { "Figures" }
            (scroll(table, title))
        }
    }
}

/// A table that scrolls where it is too wide for the screen.
pub fn scroll(table: &Table, title: &str) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Figures: " (title) } {
            table {
                thead { tr { @for cell in &table.head { th { (plain(cell)) } } } }
                tbody { @for row in &table.rows { tr { @for cell in row { td { (plain(cell)) } } } } }
            }
        }
    }
}
