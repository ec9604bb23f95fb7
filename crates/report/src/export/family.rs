//! Gauges and their samples, as OpenMetrics writes them.

use std::fmt::Write;

/// Labels of a sample.
pub type Labels = Vec<(&'static str, String)>;

/// One metric and its samples.
#[derive(Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its values.
    pub samples: Vec<(Labels, f64)>,
}

/// The text of these gauges.
pub fn write(families: Vec<Family>) -> String {
    let mut text = String::new();
    for Family { name, help, samples } in families {
        text += &format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in samples {
            let labels: Vec<String> =
                labels.iter().map(|(label, of)| format!("{label}=\"{}\"", escaped(of))).collect();
            text += &format!("{name}{{{}}}", labels.join(","));
            // Writing to a text does not fail.
            let _ = match value {
                f64::INFINITY => writeln!(text, " +Inf"),
                f64::NEG_INFINITY => writeln!(text, " -Inf"),
                value => writeln!(text, " {value:?}"),
            };
        }
    }
    text + "# EOF\n"
}

/// The value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_labels_are_those_of_the_format() {
        let labels = vec![("a", "x \\ \"y\"\nλ".to_owned()), ("b", String::new())];
        let samples =
            vec![(labels, 1.0), (vec![], f64::INFINITY), (vec![], -0.25), (vec![], f64::NAN)];
        let text = write(vec![Family { name: "tailback_x", help: "What it is", samples }]);
        let expected = "# HELP tailback_x What it is\n# TYPE tailback_x gauge\n\
            tailback_x{a=\"x \\\\ \\\"y\\\"\\nλ\",b=\"\"} 1.0\n\
            tailback_x{} +Inf\ntailback_x{} -0.25\ntailback_x{} NaN\n# EOF\n";
        assert_eq!(text, expected);
    }
}
