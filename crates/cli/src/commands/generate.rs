//! `tailback generate`: files that belong to an installation.

use super::erlang_app::ErlangApp;
use crate::command::{Failure, Run, Session, below, commands_below};
use clap_complete::Shell;
use std::path::PathBuf;

commands_below! {
    /// Write shell completions, man pages, or the Erlang application
    #[command(after_help = below("", [
        "tailback generate completions bash > tailback.bash",
        "tailback generate man man1",
    ]))]
    Generate {
        Completions: Completions,
        Man: Man,
        ErlangApp: ErlangApp,
    }
}

/// Print the completions of a shell
#[derive(clap::Args)]
#[command(after_help = below("", [
    "tailback generate completions bash > tailback.bash",
    "tailback generate completions fish > tailback.fish",
]))]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Write a man page for each command
#[derive(clap::Args)]
#[command(after_help = below("", ["tailback generate man man1", "tailback generate man /usr/local/share/man/man1"]))]
pub struct Man {
    /// Folder for the pages; it is created if it is missing
    folder: PathBuf,
}

impl Run for Completions {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let mut bytes = Vec::new();
        clap_complete::generate(self.shell, &mut (session.command_line)(), "tailback", &mut bytes);
        session.out.print(&String::from_utf8_lossy(&bytes));
        Ok(0)
    }
}

impl Run for Man {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let folder = &self.folder;
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to((session.command_line)(), folder))
            .map_err(|error| {
                Failure::usage(format!("cannot write man pages to {}: {error}", folder.display()))
            })?;
        Ok(0)
    }
}
