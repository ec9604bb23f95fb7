//! Charts: inline SVG, each with a table of its figures, coloured by the page's style sheet.

pub mod axis;
pub mod dose;
pub mod draw;
pub mod frame;
pub mod heat;
pub mod history;
pub mod interval;
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

/// A chart, its description, and its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The heading: what the chart shows.
    pub title: String,
    /// What to see in it, in a sentence or two. It is also the alternative text.
    pub about: String,
    /// The drawing, without its outermost element.
    pub body: String,
    /// Width and height of the drawing, in drawing units.
    pub size: (u32, u32),
    /// The meaning of each colour.
    pub legend: Vec<(Color, String)>,
    /// The figures.
    pub table: Table,
    /// A sentence about what the drawing leaves out.
    pub left_out: Option<String>,
}

/// The figures of a chart. Every row is as long as the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Column headings.
    pub head: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
}

/// Width of every drawing, in drawing units. A wide screen shows it at half of that, in pixels.
pub const WIDTH: u32 = 840;

/// Most rows of the table of a chart.
pub const MOST_ROWS: usize = 200;

impl Table {
    /// A table with these headings.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Table { head: head.map(str::to_owned).to_vec(), rows: Vec::new() }
    }
}
