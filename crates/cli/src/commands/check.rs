//! `tailback check`.

use super::run::{Done, study};
use crate::exit::{self, Failure};
use crate::output;
use crate::settings::Wish;
use crate::signals::Interruption;
use clap::ArgMatches;
use model::{Record, State};
use runner::End;
use scenarios::Scenario;

/// Runs every scenario that was not left out; the exit code of the worst verdict.
pub fn check(matches: &ArgMatches) -> Result<u8, Failure> {
    let machine = crate::machine::here();
    let interruption = Interruption::watch();
    let mut done = Vec::new();
    for scenario in chosen(matches) {
        let wish = Wish::of_check(scenario.meta(), matches);
        let one = study(scenario, &wish, &machine, None, &interruption)?;
        let interrupted = matches!(one.end, End::Interrupted);
        done.push(one);
        if interrupted {
            break;
        }
    }
    if done.is_empty() {
        return Err(Failure::usage("--only and --skip leave no scenario; see tailback list"));
    }
    show(&done, matches.get_flag("json"));
    Ok(code(&done))
}

fn chosen(matches: &ArgMatches) -> Vec<&'static dyn Scenario> {
    let named = |flag: &str| -> Vec<&String> {
        matches.get_many::<String>(flag).map(Iterator::collect).unwrap_or_default()
    };
    let (only, skip) = (named("only"), named("skip"));
    let wanted = |id: &str| {
        (only.is_empty() || only.iter().any(|name| *name == id))
            && !skip.iter().any(|name| *name == id)
    };
    scenarios::ALL.iter().copied().filter(|scenario| wanted(scenario.meta().id)).collect()
}

fn show(done: &[Done], json: bool) {
    if json {
        let records: Vec<&Record> = done.iter().map(|one| &one.record).collect();
        // Records hold text keys and finite numbers only, which always serialise.
        let text = serde_json::to_string_pretty(&records).unwrap_or_default();
        output::print(&format!("{text}\n"));
    } else {
        for one in done {
            let meta = scenarios::find(&one.record.scenario).map(Scenario::meta);
            output::print(&format!("{}\n", report::record(&one.record, meta, output::look())));
        }
        output::print(&report::check(done.iter().map(|one| &one.record), output::look()));
    }
    done.iter().for_each(Done::tell_where);
}

/// Affected before everything, then what is not known, then no stall; all skipped is a need.
fn code(done: &[Done]) -> u8 {
    let codes: Vec<u8> = done
        .iter()
        .map(|one| {
            one.code().unwrap_or_else(|failure| {
                output::complain(&failure.line);
                failure.code
            })
        })
        .collect();
    let order = [
        exit::INTERRUPTED,
        State::Affected.exit_code(),
        exit::BROKEN,
        State::NotAffected.exit_code(),
        exit::NEED,
    ];
    order.into_iter().find(|code| codes.contains(code)).unwrap_or(exit::USAGE)
}
