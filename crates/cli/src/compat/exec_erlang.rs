//! Runs programs of the Erlang application, which print their own output.

use crate::exit::Failure;
use scenarios::erlang::Otps;
use std::os::unix::process::CommandExt as _;

/// Replaces tailback by the VM. So the VM prints its own output, and gets signals as the original
/// does.
///
/// # Errors
/// If there is no Erlang, or it refuses the flags.
pub fn exec_erlang(otps: &Otps, flags: &str, expression: &str) -> Result<u8, Failure> {
    let mut command = scenarios::erlang::evaluate(otps, None, flags, expression)
        .map_err(|error| Failure::of(error, None))?;
    let error = command.exec();
    Err(Failure::need(format!("{}: {error}", command.get_program().to_string_lossy())))
}
