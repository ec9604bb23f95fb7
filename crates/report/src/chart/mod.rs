//! Charts: inline SVG with a table behind each, coloured by the page's style sheet.

pub mod axis;
pub mod dose;
pub mod draw;
pub mod frame;
pub mod heat;
pub mod history;
pub mod ladder;
pub mod latency;
pub mod lines;
pub mod pair;
pub mod palette;
pub mod pick;
pub mod scatter;
pub mod stalls;
pub mod strip;
pub mod timeline;

pub use palette::Color;

/// A chart, what it says in words, and the figures behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows, as a heading.
    pub title: String,
    /// What to see in it, in a sentence or two; the alternative text as well.
    pub about: String,
    /// The drawing, without its outermost element.
    pub body: String,
    /// Width and height of the drawing, in its own units.
    pub size: (u32, u32),
    /// Which colour is what.
    pub legend: Vec<(Color, String)>,
    /// The figures.
    pub table: Table,
    /// What was left out of the drawing, as a sentence.
    pub left_out: Option<String>,
}

/// Figures behind a chart; every row is as long as the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Headings.
    pub head: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
}

/// Width of every drawing in its own units; shown at half of that on a screen that has the room.
pub const WIDTH: u32 = 840;

/// Rows of a table behind a chart at most.
pub const MOST_ROWS: usize = 200;

impl Table {
    /// A table with these headings.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Table { head: head.map(str::to_owned).to_vec(), rows: Vec::new() }
    }
}
