//! `tailback version`: what the binary was built from.

use crate::command::{Failure, Run, Session, below};
use serde::Serialize;

const SCHEMA: &str = "tailback/version/1";

/// Print what this binary was built from
#[derive(clap::Args)]
#[command(after_help = below("", ["tailback version", "tailback version --json"]))]
pub struct Version {
    /// Print JSON, with the version and licence of each crate in the binary
    #[arg(long)]
    json: bool,
}

/// What the build knew about itself.
#[derive(Serialize)]
struct Built {
    schema: &'static str,
    version: &'static str,
    /// None if the sources were neither a checkout nor an archive of one, and in debug builds.
    commit: Option<&'static str>,
    /// Whether the sources differed from the commit; None without a commit.
    modified: Option<bool>,
    target: &'static str,
    compiler: &'static str,
    features: Vec<&'static str>,
    /// Empty in debug builds.
    crates: Vec<Crate>,
}

/// A crate of somebody else that is linked into the binary.
#[derive(Serialize)]
struct Crate {
    name: &'static str,
    version: &'static str,
    licence: &'static str,
}

impl Run for Version {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let built = built();
        if self.json {
            session.out.value(&built);
        } else {
            session.out.print(&text(&built));
        }
        Ok(0)
    }
}

fn built() -> Built {
    let commit = Some(env!("TAILBACK_COMMIT")).filter(|commit| !commit.is_empty());
    let crates = include_str!(concat!(env!("OUT_DIR"), "/crates")).lines();
    Built {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        commit: commit.map(|commit| commit.trim_end_matches('+')),
        modified: commit.map(|commit| commit.ends_with('+')),
        target: env!("TAILBACK_TARGET"),
        compiler: env!("TAILBACK_RUSTC"),
        features: env!("TAILBACK_FEATURES").split(',').filter(|name| !name.is_empty()).collect(),
        crates: crates.filter_map(one).collect(),
    }
}

/// A crate from its line in the file that build.rs writes.
fn one(line: &'static str) -> Option<Crate> {
    let (name, rest) = line.split_once('|')?;
    let (version, licence) = rest.split_once('|')?;
    Some(Crate { name, version, licence })
}

fn text(built: &Built) -> String {
    let commit = match (built.commit, built.modified) {
        (Some(commit), Some(true)) => format!("commit {commit}, with changes that are not in it"),
        (Some(commit), _) => format!("commit {commit}"),
        (None, _) => "commit unknown".to_owned(),
    };
    let features = match built.features.is_empty() {
        true => "none".to_owned(),
        false => built.features.join(", "),
    };
    format!(
        "tailback {}\n{commit}\ntarget {}\n{}\nfeatures: {features}\n",
        built.version, built.target, built.compiler
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(commit: Option<&'static str>, modified: Option<bool>) -> Built {
        Built {
            schema: SCHEMA,
            version: "1.2.3",
            commit,
            modified,
            target: "x86_64-unknown-linux-gnu",
            compiler: "rustc 1.95.0",
            features: vec!["bpf", "parquet"],
            crates: vec![],
        }
    }

    #[test]
    fn a_modified_checkout_is_not_said_to_be_its_commit() {
        let clean = text(&sample(Some("ab12"), Some(false)));
        assert!(clean.contains("\ncommit ab12\n"), "{clean}");
        let changed = text(&sample(Some("ab12"), Some(true)));
        assert!(changed.contains("\ncommit ab12, with changes that are not in it\n"), "{changed}");
        assert!(text(&sample(None, None)).contains("\ncommit unknown\n"));
    }

    #[test]
    fn a_crate_is_read_with_its_licence() {
        let read = one("clap|4.6.1|MIT OR Apache-2.0").unwrap();
        assert_eq!((read.name, read.version, read.licence), ("clap", "4.6.1", "MIT OR Apache-2.0"));
        assert!(one("clap").is_none());
    }
}
