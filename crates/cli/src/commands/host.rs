//! `tailback host`: the identity of this machine in a fleet, and the clean-up after a killed run.

use crate::command::{Failure, Run, Session, below, commands_below};
use crate::guard;
use crate::identity::{self, HostFlags};
use model::identity::{IDENTIFIED, Identified};

commands_below! {
    /// Identify this machine, or undo what a killed run left behind
    #[command(after_help = below("", ["tailback host identify", "tailback host restore"]))]
    Host {
        Identify: Identify,
        Restore: Restore,
    }
}

/// Show the facts by which a census groups this machine: kernel, HZ, CPUs, OTPs
#[derive(clap::Args)]
#[command(after_help = below("", ["tailback host identify", "tailback host identify --json"]))]
pub struct Identify {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host: HostFlags,
}

/// Undo what a killed run left: CPU frequency settings, control groups, temporary files
#[derive(clap::Args)]
#[command(after_help = below(
    "  0  everything is as it was before\n  4  something could not be undone; the output names it",
    ["tailback host restore", "sudo tailback host restore"],
))]
pub struct Restore {
    /// First wait until standard input ends and this parent process is gone
    #[arg(long = guard::WAIT, value_name = "PID", hide = true)]
    when_input_ends: Option<u32>,
}

impl Run for Identify {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let found = Identified {
            schema: IDENTIFIED.to_owned(),
            host: self.host.name()?,
            identity: identity::here(),
        };
        if self.json {
            session.out.value(&found);
        } else {
            session.out.print(&report::identity(&found));
        }
        Ok(0)
    }
}

impl Run for Restore {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        Ok(guard::restore(&session.out, self.when_input_ends))
    }
}
