//! `tailback list`.

use crate::command::{Failure, Run, Session, below};
use host::Roots;
use report::prose;
use std::fmt::Write as _;

/// List the scenarios, what each needs, and whether it can run here
#[derive(clap::Args)]
#[command(after_help = below("", ["tailback list", "tailback list --json"]))]
pub struct List {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Run for List {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        Ok(list(self.json, session))
    }
}

/// Prints the scenarios, and whether each can run on this host.
fn list(json: bool, session: &Session) -> u8 {
    let roots = Roots::real().with_mounts_read();
    let machine = session.machine();
    let host = scenarios::Host { roots: &roots, machine: &machine, otps: &session.otps };
    let rows = scenarios::ALL.iter().map(|scenario| {
        let missing = scenario.missing(&host);
        (scenario.meta(), missing)
    });
    if json {
        let rows: Vec<serde_json::Value> = rows
            .map(|(meta, missing)| {
                serde_json::json!({
                    "id": meta.id,
                    "title": meta.title,
                    "needs": { "cpus": meta.needs.cpus, "root": meta.needs.root },
                    "can_run": missing.is_none(),
                    "missing": missing.map(|need| prose::need(&need, Some(meta))),
                })
            })
            .collect();
        session.out.value(&rows);
        return 0;
    }
    let mut text = String::new();
    for (meta, missing) in rows {
        let _ = writeln!(text, "{}\n  {}", meta.id, meta.title);
        let root = if meta.needs.root { ", root" } else { "" };
        let cpus = if meta.needs.cpus == 1 { "CPU" } else { "CPUs" };
        let _ = writeln!(text, "  needs: {} {cpus}{root}", meta.needs.cpus);
        let here = match missing {
            None => "yes".to_owned(),
            Some(need) => format!("no: {}", prose::need(&need, Some(meta))),
        };
        let _ = writeln!(text, "  runs here: {here}");
    }
    let _ = writeln!(text, "\nRun one with `tailback run SCENARIO`, all with `tailback check`.");
    session.out.print(&text);
    0
}
