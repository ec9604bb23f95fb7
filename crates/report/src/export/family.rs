//! Metrics and their samples in the OpenMetrics format.

use std::fmt::Write;

/// Labels of a sample.
pub type Labels = Vec<(&'static str, String)>;

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The current value.
    Gauge,
    /// The sum since the start. Its samples end with `_total`.
    Counter,
}

/// One metric and its samples.
#[derive(Debug, Clone)]
pub struct Family {
    /// Its name.
    name: &'static str,
    /// A description of the metric.
    help: &'static str,
    kind: Kind,
    /// Its values.
    samples: Vec<(Labels, f64)>,
}

impl Family {
    /// A metric of the current value.
    pub fn gauge(name: &'static str, help: &'static str, samples: Vec<(Labels, f64)>) -> Self {
        Family { name, help, kind: Kind::Gauge, samples }
    }

    /// A metric of the sum since the start.
    pub fn counter(name: &'static str, help: &'static str, samples: Vec<(Labels, f64)>) -> Self {
        Family { name, help, kind: Kind::Counter, samples }
    }
}

/// The units with which the name of a metric may end.
const UNITS: [&str; 2] = ["seconds", "bytes"];

/// The text of these metrics in the OpenMetrics format.
pub fn write(families: Vec<Family>) -> String {
    let mut text = String::new();
    for Family { name, help, kind, samples } in families {
        let (kind, end) = match kind {
            Kind::Gauge => ("gauge", ""),
            Kind::Counter => ("counter", "_total"),
        };
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        if let Some(unit) = UNITS.iter().find(|unit| name.ends_with(&format!("_{unit}"))) {
            text += &format!("# UNIT {name} {unit}\n");
        }
        for (labels, value) in samples {
            let labels: Vec<String> =
                labels.iter().map(|(label, of)| format!("{label}=\"{}\"", escaped(of))).collect();
            text += &format!("{name}{end}{{{}}}", labels.join(","));
            // Writing to a string does not fail.
            let _ = match value {
                f64::INFINITY => writeln!(text, " +Inf"),
                f64::NEG_INFINITY => writeln!(text, " -Inf"),
                value => writeln!(text, " {value:?}"),
            };
        }
    }
    text + "# EOF\n"
}

/// The escaped value of a label.
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
        let text = write(vec![Family::gauge("tailback_x", "What it is", samples)]);
        let expected = "# HELP tailback_x What it is\n# TYPE tailback_x gauge\n\
            tailback_x{a=\"x \\\\ \\\"y\\\"\\nλ\",b=\"\"} 1.0\n\
            tailback_x{} +Inf\ntailback_x{} -0.25\ntailback_x{} NaN\n# EOF\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn counters_have_their_ending_and_units_are_named() {
        let samples = vec![(Vec::new(), 1.5)];
        let text = write(vec![Family::counter("tailback_x_seconds", "What it is", samples)]);
        let expected = "# HELP tailback_x_seconds What it is\n# TYPE tailback_x_seconds counter\n\
            # UNIT tailback_x_seconds seconds\ntailback_x_seconds_total{} 1.5\n# EOF\n";
        assert_eq!(text, expected);
    }
}
