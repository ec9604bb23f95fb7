//! Colours by meaning. The style sheet defines them for light and dark mode.

use model::{Arm, Role};
use std::fmt::Write as _;

/// A colour of the page's style sheet, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Color(pub u8);

/// The control: grey.
pub const CONTROL: Color = Color(1);

/// First colour and number of colours of the arms with the cause.
const CASES: (u8, u8) = (2, 4);

/// First colour and number of colours of the fixes.
const FIXES: (u8, u8) = (6, 3);

/// First colour and number of colours of other things, such as the columns of a series.
const THINGS: (u8, u8) = (9, 8);

/// Colours in light and in dark mode. People with colour vision deficiency can tell them apart
/// (after Okabe and Ito). The contrast to the background is at least 3:1.
const LOOKS: [(&str, &str); 16] = [
    ("#6b7280", "#9ca3af"),
    ("#c2410c", "#fb923c"),
    ("#9d174d", "#f472b6"),
    ("#a16207", "#facc15"),
    ("#7e22ce", "#c084fc"),
    ("#0369a1", "#38bdf8"),
    ("#047857", "#34d399"),
    ("#4338ca", "#a5b4fc"),
    ("#0369a1", "#38bdf8"),
    ("#c2410c", "#fb923c"),
    ("#047857", "#34d399"),
    ("#9d174d", "#f472b6"),
    ("#a16207", "#facc15"),
    ("#7e22ce", "#c084fc"),
    ("#6b7280", "#9ca3af"),
    ("#4338ca", "#a5b4fc"),
];

/// The colour of an arm among the arms of its plan.
pub fn of_arm(arms: &[Arm], id: &str) -> Color {
    let Some(arm) = arms.iter().find(|arm| arm.id == id) else { return CONTROL };
    let place = arms.iter().filter(|other| other.role == arm.role).position(|a| a.id == id);
    let (first, many) = match arm.role {
        Role::Control | Role::Baseline => return CONTROL,
        Role::Case => CASES,
        Role::Fix => FIXES,
    };
    turn(first, many, place.unwrap_or(0))
}

/// The colour of the thing at this position.
pub fn of_thing(place: usize) -> Color {
    turn(THINGS.0, THINGS.1, place)
}

fn turn(first: u8, many: u8, place: usize) -> Color {
    let place = u8::try_from(place % usize::from(many)).unwrap_or(0);
    Color(first + place)
}

/// Style rules: a custom property for each colour, and the rules that use it.
///
/// The drawing library writes colours into attributes, which any rule overrides: a shape with the
/// colour `#000001` is shown in the page's first colour.
pub fn rules() -> String {
    let mut rules = String::new();
    let list = |look: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        LOOKS.iter().enumerate().map(|(i, pair)| format!("--p{}:{};", i + 1, look(pair))).collect()
    };
    let (day, night) = (list(|pair| pair.0), list(|pair| pair.1));
    let _ = write!(rules, ":root{{{day}}}@media (prefers-color-scheme:dark){{:root{{{night}}}}}");
    let _ = write!(rules, "@media print{{:root{{{day}}}}}");
    for number in 1..=LOOKS.len() {
        let _ = write!(
            rules,
            "[stroke=\"#0000{number:02X}\"]{{stroke:var(--p{number})}}.p{number}{{--p:var(--p{number})}}"
        );
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_that_is_given_has_a_look() {
        let known = |color: Color| usize::from(color.0) <= LOOKS.len() && color.0 > 0;
        assert!((0..100).all(|place| known(of_thing(place))));
        assert!((0..100).all(|place| known(turn(CASES.0, CASES.1, place))));
        assert!((0..100).all(|place| known(turn(FIXES.0, FIXES.1, place))));
        assert!(rules().contains("[stroke=\"#00000A\"]{stroke:var(--p10)}"));
    }
}
