//! The facts that put a machine into a group with others, as text.

use crate::prose::plain;
use model::Identity;
use model::identity::{HostName, Identified};
use std::fmt::Write as _;

/// One line per fact. A fact that is not known has a dash.
pub fn identity(found: &Identified) -> String {
    let mut text = String::new();
    for (name, value) in lines(&found.identity) {
        let value = value.filter(|value| !value.is_empty()).unwrap_or_else(|| "-".to_owned());
        let _ = writeln!(text, "{name:<15}{}", plain(&value));
    }
    let (kind, name) = match &found.host {
        HostName::Name(name) => ("host name", name),
        HostName::Hash(hash) => ("name, hashed", hash),
    };
    let _ = writeln!(text, "{kind:<15}{}", plain(name));
    text
}

fn lines(identity: &Identity) -> [(&'static str, Option<String>); 12] {
    let Identity { kernel, series, arch, hz, preemption, cpus, .. } = identity.clone();
    let Identity { cpu_model, product, virtualised, cgroup, distribution, otps, .. } =
        identity.clone();
    let virtualised = virtualised.map(|under| if under { "yes" } else { "no" }.to_owned());
    [
        ("kernel", Some(kernel)),
        ("kernel series", series),
        ("architecture", Some(arch)),
        ("HZ", hz.map(|hz| hz.to_string())),
        ("preemption", preemption),
        ("CPUs", Some(cpus.to_string())),
        ("CPU model", cpu_model),
        ("machine", product),
        ("virtualised", virtualised),
        ("control groups", cgroup),
        ("distribution", distribution),
        ("OTPs", Some(otps.join(", "))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::identity::IDENTIFIED;

    #[test]
    fn what_is_not_known_is_told_from_what_is() {
        let identity = Identity {
            kernel: "6.1.0\u{1b}[2J".to_owned(),
            hz: Some(250),
            otps: vec!["25.3".to_owned(), "27.1".to_owned()],
            ..Identity::default()
        };
        let host = HostName::Name("web1".to_owned());
        let text = super::identity(&Identified { schema: IDENTIFIED.to_owned(), host, identity });
        assert!(
            text.contains("HZ             250\n") && text.contains("OTPs           25.3, 27.1\n")
        );
        assert!(text.contains("preemption     -\n") && !text.contains('\u{1b}'), "{text}");
        assert!(text.ends_with("host name      web1\n"));
    }
}
