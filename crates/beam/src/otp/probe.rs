//! Asks a program whether it is an Erlang, and which one.

use super::command::{QUIET, command, printed};
use crate::error::BeamError;
use crate::run;
use os::user::Account;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Prints one line that nothing else prints.
const QUESTION: &str = r#"io:format("tailback-otp|~ts|~ts|~ts~n",
    [erlang:system_info(otp_release), erlang:system_info(version), code:root_dir()]),
    erlang:halt(0)."#;

/// The answer of an Erlang about itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) release: u32,
    pub(super) erts: String,
    pub(super) root: PathBuf,
}

pub(super) fn ask(
    erl: &Path,
    account: Option<&Account>,
    limit: Duration,
) -> Result<Answer, BeamError> {
    let mut question = command(erl, account);
    question.args(QUIET).args(["-eval", QUESTION]);
    let path = erl.to_owned();
    let ran = match run::run(question, account.map(|account| account.user), limit) {
        Ok(ran) => ran,
        Err(source) => return Err(BeamError::NotExecutable { path, source }),
    };
    let text = String::from_utf8_lossy(&ran.stdout);
    match text.lines().find_map(answer) {
        Some(answer) => Ok(answer),
        None if ran.status.is_none() => {
            Err(BeamError::Late { path, what: "report its OTP release", limit })
        }
        None => Err(BeamError::NotErl { path, printed: printed(&ran) }),
    }
}

pub(super) fn answer(line: &str) -> Option<Answer> {
    let mut fields = line.strip_prefix("tailback-otp|")?.splitn(3, '|');
    let release = fields.next()?.parse().ok()?;
    // The version becomes part of a folder's name.
    let erts = fields.next().filter(|erts| is_version(erts))?.to_owned();
    let root = fields.next().map(PathBuf::from).filter(|root| root.is_absolute())?;
    Some(Answer { release, erts, root })
}

pub(super) fn is_version(text: &str) -> bool {
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
    letters && text.starts_with(|c: char| c.is_ascii_digit()) && text.len() <= 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_nonsense_is_not() {
        let otp = answer("tailback-otp|25|13.1.5|/usr/lib/erl|ang").unwrap();
        assert_eq!((otp.release, otp.erts.as_str()), (25, "13.1.5"));
        assert_eq!(otp.root, Path::new("/usr/lib/erl|ang"));
        for wrong in [
            "",
            "tailback-otp|",
            "tailback-otp|R13B|1|/r",
            "tailback-otp|25|../x|/r",
            "tailback-otp|25|.|/r",
            "tailback-otp|25|13|relative",
            "tailback-otp|25|/r",
        ] {
            assert_eq!(answer(wrong), None, "{wrong}");
        }
    }
}
