//! `tailback generate`: files that belong to an installation.

use super::erlang_app::ErlangApp;
use crate::command::{Failure, Run, Session, below, commands_below};
use crate::page;
use clap_complete::Shell;
use runner::SaveError;
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
        let not_written = |error: SaveError| page::not_written(&error, "folder");
        os::folders::make(&self.folder)
            .map_err(|source| not_written(SaveError { path: self.folder.clone(), source }))?;
        let mut command = (session.command_line)().disable_help_subcommand(true);
        command.build();
        for page in pages(command) {
            let mut text = Vec::new();
            let file = self.folder.join(page.get_filename());
            page.render(&mut text)
                .map_err(|source| not_written(SaveError { path: file.clone(), source }))?;
            runner::save_text(&String::from_utf8_lossy(&text), &file).map_err(not_written)?;
        }
        Ok(0)
    }
}

/// The pages of a command and of those below it that are shown.
fn pages(command: clap::Command) -> Vec<clap_mangen::Man> {
    let below = command.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
    let below: Vec<_> = below.flat_map(pages).collect();
    below.into_iter().chain([clap_mangen::Man::new(command)]).collect()
}
