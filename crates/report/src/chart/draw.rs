//! Marks in a frame. Each mark shows its figures when the pointer is over it.

use crate::prose::plain;
use maud::{Markup, PreEscaped, html};

/// A coordinate with one digit after the point.
pub fn n(place: f64) -> String {
    let text = format!("{place:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A dot, or an open triangle if the figure is a lower bound.
pub fn dot(x: f64, y: f64, cut: bool, title: &str) -> Markup {
    html! {
        @if cut {
            path.cut d=(format!("M{} {}l14 8l-14 8z", n(x - 5.0), n(y - 8.0))) { title { (plain(title)) } }
        } @else {
            circle.dot cx=(n(x)) cy=(n(y)) r="7" { title { (plain(title)) } }
        }
    }
}

/// A bar from its corner and its size, never too thin to see.
pub fn bar(class: &str, (x, y): (f64, f64), (width, height): (f64, f64), title: &str) -> Markup {
    html! {
        rect class=(class) x=(n(x)) y=(n(y)) width=(n(width.max(1.5))) height=(n(height)) {
            title { (plain(title)) }
        }
    }
}

/// A line from one point to another.
pub fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line class=(class) x1=(n(from.0)) y1=(n(from.1)) x2=(n(to.0)) y2=(n(to.1)); }
}

/// Text that starts or ends at a point.
pub fn words(class: &str, (x, y): (f64, f64), text: &str) -> Markup {
    html! { text class=(class) x=(n(x)) y=(n(y)) { (plain(text)) } }
}

/// The marks as one string.
pub fn all(marks: impl Iterator<Item = Markup>) -> String {
    let mut text = String::new();
    for PreEscaped(mark) in marks {
        text.push_str(&mark);
    }
    text
}

/// A name with at most `most` characters; a cut name ends with a mark for the rest.
pub fn short(text: &str, most: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_escaped_and_names_are_cut() {
        let mark = dot(1.0, 2.0, false, "<script>").into_string();
        assert!(mark.contains("&lt;script&gt;") && !mark.contains("<script"), "{mark}");
        assert_eq!(short("abcdef", 4), "abc…");
        assert_eq!(short("a\nb", 4), "a b");
    }
}
