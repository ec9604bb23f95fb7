//! The Erlang nodes that watch looks into.

use super::walls;
use crate::exit::Failure;
use dist::{Budget, Cookie, DistError, Owner, Target, Watcher};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most nodes.
const MOST: usize = 32;

/// Memory for the answers of all nodes together, in bytes: a quarter of what `watch` has.
const ANSWERS: usize = (walls::MEMORY / 4) as usize;

/// How long to wait for the address of a node's host, before the watch begins.
const LOOK_UP: Duration = Duration::from_secs(1);

/// The named nodes, each with the cookie for it.
///
/// # Errors
/// If a name is invalid, a node is on another machine and that is not allowed, or there is no
/// cookie.
pub fn wanted(
    names: &[String],
    anywhere: bool,
    cookie_file: Option<&PathBuf>,
) -> Result<Vec<(Target, Cookie)>, Failure> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    if names.len() > MOST {
        return Err(Failure::usage(format!("--node: {MOST} nodes at most")));
    }
    let targets = names.iter().map(|name| target(name, anywhere));
    let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
    let cookie = cookie(cookie_file)?;
    Ok(targets.into_iter().map(|target| (target, cookie.clone())).collect())
}

/// Starts a thread for each node that asks it. A node whose answer does not fit into the memory for
/// all answers is asked again later.
///
/// # Errors
/// If a thread cannot be started.
pub fn start(wanted: Vec<(Target, Cookie)>) -> Result<Vec<Watcher>, Failure> {
    let budget = Budget::new(ANSWERS);
    let start = |(target, cookie): (Target, Cookie)| {
        let name = target.name();
        Watcher::start(target, cookie, budget.clone())
            .map_err(|error| Failure::need(format!("--node {name}: no thread: {error}")))
    };
    wanted.into_iter().map(start).collect()
}

/// The node with this name.
fn target(name: &str, anywhere: bool) -> Result<Target, Failure> {
    let target = Target::read(name, anywhere).map_err(|error| Failure::usage(error.to_string()))?;
    match target.elsewhere(LOOK_UP) {
        None => Ok(target),
        Some(address) => Err(Failure::usage(format!(
            "--node {name}: {address} is another machine, and tailback cannot check which process \
             owns the port there; run tailback on that machine, or add --node-anywhere"
        ))),
    }
}

fn cookie(file: Option<&PathBuf>) -> Result<Cookie, Failure> {
    if let Some(file) = file {
        let cookie = Cookie::read(file, Owner::Anybody);
        return cookie.map_err(|error| Failure::usage(error.to_string()));
    }
    let mut reasons = Vec::new();
    for (place, whose) in Cookie::usual_places() {
        match usual(&place, whose) {
            Ok(cookie) => return Ok(cookie),
            Err(why) => reasons.push(format!("{} ({why})", place.display())),
        }
    }
    let reasons = os::terminal::line(&reasons.join(" and "));
    Err(Failure::usage(format!(
        "--node: no cookie in {reasons}; name the cookie file: --cookie-file FILE"
    )))
}

/// The cookie in a default place, or the reason why it cannot be used.
fn usual(place: &Path, whose: Owner) -> Result<Cookie, String> {
    let why = |error: DistError| match error {
        DistError::Cookie(_, why) => why,
        other => other.to_string(),
    };
    if whose == Owner::Own && os::user::is_exposed() {
        own_home(place.parent().unwrap_or(Path::new("/")))?;
    }
    Cookie::read(place, whose).map_err(why)
}

/// Refuses a home that does not belong to root, as after `sudo -E`.
fn own_home(home: &Path) -> Result<(), String> {
    let real = home.canonicalize().map_err(|error| error.to_string())?;
    host::private::check(&real).map_err(|error| format!("HOME: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_elsewhere_has_to_be_wanted() {
        // An address that is reserved for documentation.
        let refused = target("web@192.0.2.1", false).err().unwrap();
        assert!(refused.code == 2 && refused.line.contains("--node-anywhere"), "{refused:?}");
        assert!(target("web@192.0.2.1", true).is_ok() && target("web@127.0.0.1", false).is_ok());
    }
}
