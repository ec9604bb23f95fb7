//! The identity of this machine in a fleet: the properties that it shares with others, and its
//! name.

use crate::exit::Failure;
use crate::{input, machine};
use host::Roots;
use model::identity::HostName;
use model::{Identity, Machine};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The shortest salt, in bytes. A shorter salt could be guessed together with the names.
const SHORTEST_SALT: usize = 16;

/// The longest salt, in bytes.
const LONGEST_SALT: u64 = 4 << 10;

/// The longest name, in bytes.
const LONGEST_NAME: usize = 255;

/// Number of bytes of a hash that are shown.
const HASH: usize = 16;

/// The properties that this machine shares with others of its kind.
pub fn here() -> Identity {
    of(&machine::here(None))
}

/// The same for a machine whose facts are known.
pub fn of(machine: &Machine) -> Identity {
    Identity::of(machine, host::otps(&Roots::real(), std::env::var_os("PATH").as_deref()))
}

// No doc comment: clap would show it as the help of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct HostFlags {
    /// Name of this machine in a census [default: its host name]
    #[arg(long, value_name = "NAME")]
    host_name: Option<String>,
    /// Replace the name by a hash of the name and the salt in FILE
    #[arg(long, value_name = "FILE")]
    hash_host_name: Option<PathBuf>,
}

impl HostFlags {
    /// The name of this machine: the value of `--host-name`, or its host name. With a salt, the
    /// hash of that name.
    ///
    /// # Errors
    /// If the name or the salt cannot be used.
    pub fn name(&self) -> Result<HostName, Failure> {
        let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        self.named(self.host_name.clone().unwrap_or_else(own))
    }

    /// Whether any of these flags is given.
    pub fn is_given(&self) -> bool {
        self.host_name.is_some() || self.hash_host_name.is_some()
    }

    /// The name from `--host-name`; None without that flag.
    ///
    /// # Errors
    /// The same as [`HostFlags::name`].
    pub fn given_name(&self) -> Result<Option<HostName>, Failure> {
        self.host_name.clone().map(|name| self.named(name)).transpose()
    }

    fn named(&self, name: String) -> Result<HostName, Failure> {
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(os::terminal::steers) {
            return Err(Failure::usage(format!(
                "host name {}: it must have 1 to {LONGEST_NAME} bytes and no control characters; \
                 name the machine with --host-name",
                os::terminal::line(&name)
            )));
        }
        let salt = self.hash_host_name.as_deref().map(salt).transpose()?;
        Ok(match salt {
            Some(salt) => HostName::Hash(hashed(&salt, &name)),
            None => HostName::Name(name),
        })
    }
}

/// Reads the salt from a file, without the line feed at its end.
///
/// # Errors
/// If it cannot be read, or is too short or too long.
pub fn salt(file: &Path) -> Result<String, Failure> {
    let refuse = |why: String| {
        Failure::usage(format!(
            "--hash-host-name {}: {why}; name a file with a secret text of {SHORTEST_SALT} bytes or more",
            file.display()
        ))
    };
    let text = input::read_text(file, LONGEST_SALT).map_err(|error| refuse(error.to_string()))?;
    let salt = text.trim_end_matches(['\n', '\r']);
    match salt.len() {
        0..SHORTEST_SALT => Err(refuse(format!("{} bytes are too few", salt.len()))),
        _ => Ok(salt.to_owned()),
    }
}

/// The first half of SHA-256 of the salt, a zero byte and the name, in hexadecimal.
pub fn hashed(salt: &str, name: &str) -> String {
    let hash = Sha256::new().chain_update(salt).chain_update([0]).chain_update(name).finalize();
    hex::encode(&hash[..HASH])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_hangs_on_its_salt_and_on_its_name() {
        let one = hashed("a salt of 16 bytes", "web1");
        assert_eq!(one.len(), 2 * HASH);
        assert_eq!(one, hashed("a salt of 16 bytes", "web1"));
        assert_ne!(one, hashed("a salt of 16 bytes", "web2"));
        assert_ne!(one, hashed("another of 16 bytes", "web1"));
    }

    #[test]
    fn a_salt_that_could_be_guessed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("salt");
        std::fs::write(&file, "short\n").unwrap();
        assert!(salt(&file).is_err());
        std::fs::write(&file, "long enough for a salt\n").unwrap();
        assert_eq!(salt(&file).unwrap(), "long enough for a salt");
        assert!(salt(&folder.path().join("none")).is_err());
    }
}
