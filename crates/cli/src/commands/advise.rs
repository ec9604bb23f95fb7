//! `tailback advise`.

use super::run::study;
use crate::exit::{self, Failure};
use crate::output;
use crate::settings::Wish;
use crate::signals::Interruption;
use clap::ArgMatches;
use model::{Record, Settings, State, Value};
use runner::End;
use scenarios::Scenario;
use std::path::PathBuf;

/// Runs `busy-wait` under the quota and prints the flags that it supports; 0 where there are any
/// or none are needed.
pub fn advise(matches: &ArgMatches) -> Result<u8, Failure> {
    let scenario = scenarios::find("busy-wait")
        .ok_or_else(|| Failure::usage("this build has no scenario busy-wait"))?;
    let wish =
        Wish { settings: settings(scenario, matches)?, ..Wish::of_advice(scenario, matches) };
    let machine = crate::machine::here();
    let asked = matches.get_one::<PathBuf>("record");
    let done = study(scenario, &wish, &machine, asked, &Interruption::watch(), None)?;
    if done.record.trials.is_empty() {
        // Nothing was measured, so there is nothing to advise on.
        return done.code();
    }
    if matches.get_flag("json") {
        output::json(&done.record.to_json());
    } else {
        let (meta, place) = (Some(scenario.meta()), place(&done.record));
        output::print(&report::flags(&done.record, meta, &place, output::look()));
    }
    done.tell_where();
    match (&done.end, done.record.verdict.state) {
        (End::Complete, State::Affected | State::NotAffected) => Ok(0),
        (End::Complete, State::Inconclusive | State::Untrustworthy) => Ok(exit::BROKEN),
        _ => done.code(),
    }
}

/// The settings of the study: what was asked for, and the flags that are tried.
fn settings(scenario: &dyn Scenario, matches: &ArgMatches) -> Result<Settings, Failure> {
    let meta = scenario.meta();
    let mut settings = Settings::defaults(meta.knobs, matches.get_flag("quick"));
    let asked = [
        ("quota", "quota"),
        ("cpus", "schedulers"),
        ("load", "load"),
        ("rate", "rate"),
        ("erl", "erl"),
    ];
    for (flag, name) in asked {
        let (Some(text), Some(knob)) = (matches.get_one::<String>(flag), meta.knob(name)) else {
            continue;
        };
        let value = knob.parse(text).map_err(|why| Failure::usage(format!("--{flag}: {why}")))?;
        settings.set(name, value);
    }
    let Some(quota) = settings.decimal("quota") else {
        return Err(Failure::usage("--quota: give the quota in CPUs, as 0.5"));
    };
    settings.set("fixes", Value::Text(fixes(quota)));
    Ok(settings)
}

/// Beside no busy waiting at all: a little of it, and no more schedulers than the quota has CPUs.
fn fixes(quota: f64) -> String {
    let few = quota.ceil().max(1.0);
    format!(
        "+sbwt very_short +sbwtdcpu very_short +sbwtdio very_short; +S {few}:{few}; \
         +S {few}:{few} +sbwt none +sbwtdcpu none +sbwtdio none"
    )
}

/// Where it was measured.
fn place(record: &Record) -> String {
    let settings = record.plan.arms.iter().rfind(|arm| arm.settings.decimal("quota").is_some());
    let text = |name: &str| {
        settings
            .and_then(|arm| arm.settings.0.get(name))
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    let vm = record.trials.iter().find_map(|trial| trial.observation.vm.as_ref());
    let otp = vm.map_or_else(String::new, |vm| format!(", OTP {}", vm.otp));
    format!(
        "a quota of {} CPUs, {} schedulers, {} requests a second through a {}{otp}, {}",
        text("quota"),
        text("schedulers"),
        text("rate"),
        text("load"),
        report::text::host(&record.host)
    )
}
