//! The Erlang nodes that are to be looked into.

use crate::exit::Failure;
use clap::ArgMatches;
use dist::{Cookie, Target, Watcher};
use std::path::PathBuf;

/// Nodes at most.
const MOST: usize = 32;

/// The nodes that are named, and the cookie that they are asked with.
///
/// # Errors
/// If a name is none, or there is no cookie.
pub fn wanted(matches: &ArgMatches) -> Result<Vec<(Target, Cookie)>, Failure> {
    let names: Vec<&String> = matches.get_many("node").into_iter().flatten().collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    if names.len() > MOST {
        return Err(Failure::usage(format!("--node: {MOST} nodes at most")));
    }
    let cookie = cookie(matches.get_one::<PathBuf>("cookie-file"))?;
    let target = |name: &&String| {
        let target = Target::read(name).map_err(|error| Failure::usage(error.to_string()))?;
        Ok((target, cookie.clone()))
    };
    names.iter().map(target).collect()
}

/// Begins to ask them.
///
/// # Errors
/// If there is no thread for one.
pub fn start(wanted: Vec<(Target, Cookie)>) -> Result<Vec<Watcher>, Failure> {
    let start = |(target, cookie): (Target, Cookie)| {
        let name = target.name();
        Watcher::start(target, cookie)
            .map_err(|error| Failure::need(format!("--node {name}: no thread: {error}")))
    };
    wanted.into_iter().map(start).collect()
}

fn cookie(file: Option<&PathBuf>) -> Result<Cookie, Failure> {
    if let Some(file) = file {
        return Cookie::read(file).map_err(|error| Failure::usage(error.to_string()));
    }
    let usual = Cookie::usual_places();
    let found = usual.iter().find_map(|place| Cookie::read(place).ok());
    found.ok_or_else(|| {
        let places: Vec<String> = usual.iter().map(|place| place.display().to_string()).collect();
        let places = places.join(" and ");
        Failure::usage(format!("--node: no cookie in {places}; name its file: --cookie-file FILE"))
    })
}
