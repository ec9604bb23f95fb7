//! Files and arguments that people write.

use model::Latency;
use runner::studies::Design;
use std::path::Path;

/// A histogram of a record.
pub(crate) fn histogram(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(histogram) = load::histogram::decode(text) {
        assert!(histogram.max() >= histogram.min() || histogram.is_empty());
    }
    let mut latency = Latency::from_histogram(&load::histogram::empty());
    text.clone_into(&mut latency.data);
    let _ = latency.to_histogram();
}

/// A study file.
pub(crate) fn study(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for quick in [false, true] {
        let _ = Design::read(text, Path::new("fuzz.toml"), quick);
    }
}

/// A trace for the simulator.
pub(crate) fn trace(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = sim::parse_trace(text);
}

/// A parameter's value on a command line, of every scenario. Also lists of CPUs, durations and
/// sizes.
pub(crate) fn parameters(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for scenario in scenarios::ALL {
        let meta = scenario.meta();
        for parameter in (meta.parameters.all)() {
            if let Ok(value) = meta.read(parameter.name, text) {
                // A value is printed in a form that can be read again.
                let again = meta.read(parameter.name, &value.to_string());
                assert_eq!(again.as_ref(), Ok(&value), "{} --{}", meta.id, parameter.name);
            }
        }
    }
    let _ = os::cpulist::parse(text);
    let _ = model::units::parse_duration(text);
    let _ = model::units::parse_size(text);
}

/// A journal of changes, from a killed run or forged. It is read and its entries are checked, but
/// nothing is undone.
pub(crate) fn journal(bytes: &[u8]) {
    host::fuzz::journal(bytes);
}
