//! `tailback list`.

use crate::output;
use host::Roots;
use report::prose;
use std::fmt::Write as _;

/// Prints the scenarios, and whether this host can run each.
pub fn list(json: bool) -> u8 {
    let roots = Roots::real();
    let machine = crate::machine::here();
    let host = scenarios::Host { roots: &roots, machine: &machine };
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
        output::json(&format!("{:#}\n", serde_json::Value::Array(rows)));
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
    output::print(&text);
    0
}
