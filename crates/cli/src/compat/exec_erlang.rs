//! Programs of the Erlang application, which print for themselves.

use crate::exit::Failure;
use scenarios::erlang::Otps;
use std::os::unix::process::CommandExt as _;

/// Executes the VM in place of tailback: it prints for itself, and gets signals as the original
/// does.
///
/// # Errors
/// If there is no Erlang, or if it refuses the flags.
pub fn exec_erlang(otps: &Otps, flags: &str, expression: &str) -> Result<u8, Failure> {
    let mut command = scenarios::erlang::evaluate(otps, None, flags, expression)
        .map_err(|error| Failure::of(error, None))?;
    let error = command.exec();
    Err(Failure::need(format!("{}: {error}", command.get_program().to_string_lossy())))
}
