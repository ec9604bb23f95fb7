//! Gauges and their samples, as OpenMetrics writes them.

use crate::ReportError;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;

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

/// All metrics, in the order they are written.
#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let gauge = ConstGauge::new(0.0f64);
            let mut metric =
                encoder.encode_descriptor(family.name, family.help, None, gauge.metric_type())?;
            for (labels, value) in &family.samples {
                ConstGauge::new(*value).encode(metric.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

/// The text of these gauges.
///
/// # Errors
/// If it cannot be written.
pub fn write(families: Vec<Family>) -> Result<String, ReportError> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    let mut written = String::new();
    text::encode(&mut written, &registry)
        .map_err(|error| ReportError::Export { format: "openmetrics", why: error.to_string() })?;
    Ok(written)
}
