//! `tailback generate erlang-app FOLDER`.

use crate::command::{Failure, Run, Session, below};
use std::path::PathBuf;

/// Write the compiled Erlang application to a folder, for use in your own shell
#[derive(clap::Args)]
#[command(after_help = below("", [
    "tailback generate erlang-app wait",
    "tailback generate erlang-app wait --otp debian:trixie",
]))]
pub struct ErlangApp {
    /// A new or empty folder, or one that this command wrote before
    folder: PathBuf,
    /// Compile for this OTP: debian:SUITE, an erl, or the folder of an installation [default: the
    /// erl on the PATH]
    #[arg(long, alias = "erl", value_name = "OTP")]
    otp: Option<String>,
}

impl Run for ErlangApp {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let (erl, ebin) =
            scenarios::erlang::write_app(&session.otps, self.otp.as_deref(), &self.folder)
                .map_err(|error| Failure::of(error, None))?;
        let program = self.otp.as_ref().map_or_else(|| "erl".to_owned(), |_| os::quote::word(&erl));
        session.out.print(&format!(
            "Written. To use it in your own shell:\n\n  {program} -pa {}\n  1> wait:run(4*100, \
             1024*1024, 20, 5).\n",
            os::quote::word(&ebin.display().to_string())
        ));
        Ok(0)
    }
}
