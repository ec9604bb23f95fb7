//! The arguments of the module.

use crate::exit::Failure;
use model::units;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

/// The most that is read of the file of arguments, in bytes.
const MOST: u64 = 1 << 20;

/// Prefix of the names of Ansible's own arguments.
const INTERNAL: &str = "_ansible_";

/// Time for all studies if no budget is given: the default of `check`.
const BUDGET: Duration = Duration::from_secs(120);

/// What is to be measured, and how.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Run nothing, and only say what would run.
    pub check_mode: bool,
    /// Time for all studies.
    pub budget: Duration,
    /// The longest random wait before the first study.
    pub jitter: Duration,
    /// The salt with which the name of the host is hashed.
    pub salt: Option<String>,
    /// The folder on the host in which the full records stay; None keeps no records.
    pub keep: Option<PathBuf>,
    options: Options,
}

/// The arguments in the form of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    host_name: Option<String>,
    salt: Option<String>,
    scenarios: Vec<String>,
    skip: Vec<String>,
    parameters: BTreeMap<String, Value>,
    quick: bool,
    probe: bool,
    budget: Option<String>,
    jitter: Option<String>,
    keep: Option<PathBuf>,
}

impl Wanted {
    /// Reads the file of arguments, which is open already.
    ///
    /// # Errors
    /// If it cannot be read, or holds an argument that the module does not know.
    pub fn read(file: io::Result<File>) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::usage(format!("arguments of the module: {why}"));
        let mut text = String::new();
        file.and_then(|file| file.take(MOST).read_to_string(&mut text))
            .map_err(|error| refuse(error.to_string()))?;
        Wanted::of(&text).map_err(refuse)
    }

    fn of(text: &str) -> Result<Self, String> {
        let mut all: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let check_mode = all.get("_ansible_check_mode") == Some(&Value::Bool(true));
        all.retain(|name, value| !name.starts_with(INTERNAL) && !value.is_null());
        let options: Options =
            serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())?;
        let time = |name: &str, text: &Option<String>, usual: Duration| match text {
            Some(text) => units::parse_duration(text).map_err(|why| format!("{name}: {why}")),
            None => Ok(usual),
        };
        if !options.parameters.is_empty() {
            options.one_scenario()?;
        }
        Ok(Wanted {
            check_mode,
            budget: time("budget", &options.budget, BUDGET)?,
            jitter: time("jitter", &options.jitter, Duration::ZERO)?,
            salt: options.salt.clone(),
            keep: options.keep.clone(),
            options,
        })
    }

    /// The words of tailback's command line. None of them holds the salt.
    pub fn words(&self) -> Vec<String> {
        let options = &self.options;
        let mut words = match options.parameters.is_empty() {
            true => options.check(),
            false => options.run(),
        };
        words.push("--brief".to_owned());
        let mut add = |flag: &str, value: &str| words.push(format!("--{flag}={value}"));
        options.budget.iter().for_each(|budget| add("time", budget));
        options.jitter.iter().for_each(|jitter| add("jitter", jitter));
        options.host_name.iter().for_each(|name| add("host-name", name));
        let flags = [(options.quick, "--quick"), (!options.probe, "--no-probe")];
        words.extend(flags.iter().filter(|(is, _)| *is).map(|(_, flag)| (*flag).to_owned()));
        words
    }
}

impl Options {
    /// Checks that one scenario is named, and that every parameter is a parameter of that
    /// scenario. Other flags are refused.
    fn one_scenario(&self) -> Result<(), String> {
        let [id] = self.scenarios.as_slice() else {
            return Err("parameters: name the one scenario that has them in `scenarios`".to_owned());
        };
        let scenario = scenarios::find(id)
            .ok_or_else(|| format!("scenarios: no scenario {id}; see tailback list"))?;
        let known = (scenario.meta().parameters.all)();
        let unknown =
            self.parameters.keys().find(|name| known.iter().all(|one| one.name != **name));
        match unknown {
            Some(name) => Err(format!(
                "parameters: {id} has no parameter {name}; see tailback run {id} --help"
            )),
            None => Ok(()),
        }
    }

    fn check(&self) -> Vec<String> {
        let list = |flag: &str, ids: &[String]| {
            (!ids.is_empty()).then(|| format!("--{flag}={}", ids.join(",")))
        };
        let lists = [list("only", &self.scenarios), list("skip", &self.skip)];
        std::iter::once("check".to_owned()).chain(lists.into_iter().flatten()).collect()
    }

    fn run(&self) -> Vec<String> {
        let head = std::iter::once("run".to_owned()).chain(self.scenarios.iter().cloned());
        let flags = self.parameters.iter().map(|(name, value)| format!("--{name}={}", word(value)));
        head.chain(flags).collect()
    }
}

/// A value in the form of the command line.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(word).collect::<Vec<String>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        Wanted::of(text).unwrap().words().join(" ")
    }

    #[test]
    fn options_become_a_check() {
        let text = r#"{"scenarios": ["mmap-lock", "cpu-quota"], "budget": "90s", "jitter": "30s",
            "host_name": "web1", "quick": true, "skip": null, "_ansible_verbosity": 0}"#;
        assert_eq!(
            words(text),
            "check --only=mmap-lock,cpu-quota --brief --time=90s --jitter=30s --host-name=web1 \
             --quick --no-probe"
        );
        assert_eq!(words("{}"), "check --brief --no-probe");
    }

    #[test]
    fn parameters_become_a_run() {
        let text = r#"{"scenarios": ["mmap-lock"], "probe": true,
            "parameters": {"reader-quota": "10ms/100ms", "busy": [4, 8], "nice": 0}}"#;
        assert_eq!(
            words(text),
            "run mmap-lock --busy=4,8 --nice=0 --reader-quota=10ms/100ms --brief"
        );
    }

    #[test]
    fn a_salt_is_no_word() {
        let wanted = Wanted::of(r#"{"salt": "0123456789abcdef", "_ansible_check_mode": true}"#);
        let wanted = wanted.unwrap();
        assert!(wanted.check_mode && wanted.salt.is_some());
        assert!(!wanted.words().join(" ").contains("0123"));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (text, why) in [
            ("[]", "invalid type"),
            (r#"{"scenaros": []}"#, "unknown field"),
            (r#"{"budget": "soon"}"#, "budget: `soon` is not a duration"),
            (r#"{"parameters": {"busy": 1}}"#, "name the one scenario"),
            (r#"{"scenarios": ["nothing"], "parameters": {"busy": 1}}"#, "no scenario nothing"),
            (
                r#"{"scenarios": ["mmap-lock"], "parameters": {"record": "/etc/x"}}"#,
                "no parameter record",
            ),
        ] {
            let said = Wanted::of(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
