//! Marks over a frame: each tells its figures where a pointer rests on it.

use maud::{Markup, PreEscaped, html};

/// A place in a drawing, with one digit behind the point.
pub fn n(place: f64) -> String {
    let text = format!("{place:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A dot; an open triangle where the figure is a lower bound.
pub fn dot(x: f64, y: f64, cut: bool, title: &str) -> Markup {
    html! {
        @if cut {
            path.cut d=(format!("M{} {}l14 8l-14 8z", n(x - 5.0), n(y - 8.0))) { title { (title) } }
        } @else {
            circle.dot cx=(n(x)) cy=(n(y)) r="7" { title { (title) } }
        }
    }
}

/// A bar between two corners, never thinner than can be seen.
pub fn bar(class: &str, (x, y): (f64, f64), (width, height): (f64, f64), title: &str) -> Markup {
    html! {
        rect class=(class) x=(n(x)) y=(n(y)) width=(n(width.max(1.5))) height=(n(height)) {
            title { (title) }
        }
    }
}

/// A line from one place to another.
pub fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line class=(class) x1=(n(from.0)) y1=(n(from.1)) x2=(n(to.0)) y2=(n(to.1)); }
}

/// Words that begin, or end, at a place.
pub fn words(class: &str, (x, y): (f64, f64), text: &str) -> Markup {
    html! { text class=(class) x=(n(x)) y=(n(y)) { (text) } }
}

/// Several marks as text.
pub fn all(marks: impl Iterator<Item = Markup>) -> String {
    let mut text = String::new();
    for PreEscaped(mark) in marks {
        text.push_str(&mark);
    }
    text
}

/// A name that fits a drawing: at most `most` characters, one of them saying that there are more.
pub fn short(text: &str, most: usize) -> String {
    let plain: Vec<char> = os::terminal::line(text).chars().collect();
    if plain.len() <= most {
        return plain.into_iter().collect();
    }
    plain.into_iter().take(most.saturating_sub(1)).chain(['…']).collect()
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
