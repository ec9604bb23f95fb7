//! The frame of a chart: axes, grid and lines, drawn by plotters, and the positions of figures in
//! it.

use super::WIDTH;
use super::axis::Axis;
use super::draw::short;
use crate::ReportError;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;

/// Font size, in drawing units.
pub const LETTERS: u32 = 27;

/// Most characters of an axis title.
const MOST_TITLE: usize = 40;

/// Placeholders for the colours of the style sheet: see [`super::palette::rules`].
const GRID: RGBColor = RGBColor(0, 1, 0);
const WORDS: RGBColor = RGBColor(0, 2, 0);

/// A chart without its marks.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Height of the whole drawing, in drawing units.
    pub height: u32,
    /// Room for the labels of the vertical axis, in drawing units.
    pub left: u32,
}

/// A line through some figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its colour.
    pub color: super::Color,
    /// Its figures.
    pub points: Vec<(f64, f64)>,
}

/// The area of the figures, in drawing units.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    x: Axis,
    y: Axis,
    /// Left edge.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
}

impl Plane {
    /// The horizontal position of a figure.
    pub fn x(&self, figure: f64) -> f64 {
        self.left + self.x.part(figure) * (self.right - self.left)
    }

    /// The vertical position of a figure.
    pub fn y(&self, figure: f64) -> f64 {
        self.bottom - self.y.part(figure) * (self.bottom - self.top)
    }
}

impl Frame {
    /// A frame of the usual height.
    pub fn new(x: Axis, y: Axis) -> Self {
        Frame { x, y, height: 480, left: 96 }
    }

    /// Draws axes, grid and lines. Returns the drawing without its outermost element, and the
    /// area of the figures.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn draw(&self, chart: &str, lines: &[Line]) -> Result<(String, Plane), ReportError> {
        let mut text = String::new();
        let drawn = self.draw_into(&mut text, lines);
        let plane = drawn
            .map_err(|why| ReportError::Chart { chart: chart.to_owned(), why: why.to_string() })?;
        Ok((inside(&text), plane))
    }

    fn draw_into(
        &self,
        text: &mut String,
        lines: &[Line],
    ) -> Result<Plane, Box<dyn std::error::Error + '_>> {
        let area = SVGBackend::with_string(text, (WIDTH, self.height)).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin_top(LETTERS * 3 / 2)
            .margin_right(58)
            .x_label_area_size(LETTERS * 5 / 2)
            .y_label_area_size(self.left)
            .build_cartesian_2d(Places(self.x.clone()), Places(self.y.clone()))
            .map_err(|error| error.to_string())?;
        let style = ("sans-serif", f64::from(LETTERS) * 1.24).into_font().color(&WORDS);
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(2))
            .axis_style(GRID.stroke_width(2))
            .label_style(style)
            .x_desc(short(&self.x.title, MOST_TITLE))
            .draw()
            .map_err(|error| error.to_string())?;
        for line in lines {
            let color = RGBColor(0, 0, line.color.0).stroke_width(4);
            let points = line.points.iter().map(|(x, y)| (at(&self.x, *x), at(&self.y, *y)));
            chart.draw_series(LineSeries::new(points, color)).map_err(|e| e.to_string())?;
        }
        let (left, bottom) = chart.backend_coord(&(self.x.low, self.y.low));
        let (right, top) = chart.backend_coord(&(self.x.high, self.y.high));
        area.present().map_err(|error| error.to_string())?;
        Ok(Plane {
            x: self.x.clone(),
            y: self.y.clone(),
            left: left.into(),
            right: right.into(),
            top: top.into(),
            bottom: bottom.into(),
        })
    }
}

/// An axis in the form that the drawing library needs.
struct Places(Axis);

impl Ranged for Places {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (from, until): (i32, i32)) -> i32 {
        let part = (place - self.0.low) / (self.0.high - self.0.low);
        from + (f64::from(until - from) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.0.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.0.low..self.0.high
    }
}

impl ValueFormatter<f64> for Places {
    fn format_ext(&self, at: &f64) -> String {
        let mark = self.0.ticks.iter().find(|(place, _)| place == at);
        mark.map_or_else(String::new, |(_, label)| label.clone())
    }
}

fn at(axis: &Axis, figure: f64) -> f64 {
    axis.low + axis.part(figure) * (axis.high - axis.low)
}

/// The content of the outermost element, without elements that draw nothing.
fn inside(svg: &str) -> String {
    let from = svg.find('>').map_or(0, |at| at + 1);
    let until = svg.rfind("</svg>").unwrap_or(svg.len()).max(from);
    svg[from..until].replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_its_marks_and_lines_in_colours_of_the_style_sheet() {
        let x = Axis::linear([0.0, 10.0].into_iter(), "seconds <b>");
        let y = Axis::log([1.0, 1000.0].into_iter(), "ms");
        let line = Line { color: crate::chart::Color(2), points: vec![(0.0, 1.0), (10.0, 1000.0)] };
        let (text, plane) = Frame::new(x, y).draw("test", &[line]).unwrap();
        assert!(text.contains("stroke=\"#000002\"") && text.contains("polyline"), "{text}");
        assert!(text.contains("seconds &lt;b&gt;") && text.contains("1000"), "{text}");
        assert!(!text.contains("<svg") && !text.contains("http"), "{text}");
        assert_eq!((plane.x(0.0), plane.x(10.0)), (plane.left, plane.right));
        assert!(plane.y(1000.0) < plane.y(1.0) && plane.y(1.0) <= f64::from(480));
    }
}
