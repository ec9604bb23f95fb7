//! Where the user's files belong: the XDG base directories.
//!
//! A folder that is not an absolute path counts as not set, as the specification has it.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder for what is kept: `$XDG_STATE_HOME`, else `~/.local/state`.
pub fn state() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state", |name| std::env::var_os(name))
}

/// The folder for what can be made anew: `$XDG_CACHE_HOME`, else `~/.cache`.
pub fn cache() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", ".cache", |name| std::env::var_os(name))
}

fn folder(name: &str, at_home: &str, get: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(name).or_else(|| absolute("HOME").map(|home| home.join(at_home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_before_the_home_and_relative_paths_do_not_count() {
        let of = |own: Option<&str>, home: Option<&str>| {
            let found = folder("OWN", ".cache", |name| {
                if name == "OWN" { own } else { home }.map(OsString::from)
            });
            found.map(|path| path.display().to_string())
        };
        assert_eq!(of(Some("/own"), Some("/home")).as_deref(), Some("/own"));
        assert_eq!(of(None, Some("/home")).as_deref(), Some("/home/.cache"));
        for not_set in ["", "own", "./own"] {
            assert_eq!(of(Some(not_set), Some("/home")).as_deref(), Some("/home/.cache"));
            assert_eq!(of(Some(not_set), Some(not_set)), None);
        }
        assert_eq!(of(None, None), None);
    }
}
