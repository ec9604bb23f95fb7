//! `tailback advise`.

use super::run::study;
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Among;
use crate::settings::StudyOptions;
use crate::signals::Interruption;
use clap::{ArgMatches, FromArgMatches as _};
use model::{Judged, State};
use runner::End;
use scenarios::busy_wait::{self, BusyWaitParams};
use scenarios::params::{ErlFlags, List, Params};
use std::path::PathBuf;

/// Runs `busy-wait` under the quota and prints the flags that it supports; 0 where there are any
/// or none are needed.
pub fn advise(matches: &ArgMatches) -> Result<u8, Failure> {
    let options = StudyOptions::of_advice(params(matches)?.settings(), matches);
    let machine = crate::machine::here();
    let asked = matches.get_one::<PathBuf>("record");
    let done = study(
        &busy_wait::SCENARIO,
        &options,
        &machine,
        asked,
        &Interruption::watch(),
        Among::None,
    )?;
    if done.record.trials.is_empty() {
        // Nothing was measured, so there is nothing to advise on.
        return done.code();
    }
    if matches.get_flag("json") {
        output::json(&done.record.to_json());
    } else {
        let (meta, place) = (Some(busy_wait::SCENARIO.meta), place(&done.record));
        output::print(&report::flags(&done.record, meta, &place, output::look()));
    }
    done.tell_where();
    match (&done.end, done.record.judgement.state) {
        (End::Complete, State::Affected | State::NotAffected) => Ok(0),
        (End::Complete, State::Inconclusive | State::Untrustworthy) => Ok(exit::BROKEN),
        _ => done.code(),
    }
}

/// The parameters of the study: what was asked for, and the flags that are tried.
fn params(matches: &ArgMatches) -> Result<BusyWaitParams, Failure> {
    let params = BusyWaitParams::from_arg_matches(matches);
    let params = params.map_err(|error| Failure::usage(error.to_string()))?;
    let Some(quota) = params.quota.get() else {
        return Err(Failure::usage("--quota: give the quota in CPUs, as 0.5"));
    };
    let fixes = fixes(quota.get()).map_err(Failure::usage)?;
    Ok(BusyWaitParams { fixes, ..params })
}

/// Beside no busy waiting at all: a little of it, and no more schedulers than the quota has CPUs.
fn fixes(quota: f64) -> Result<List<ErlFlags>, String> {
    let few = quota.ceil().max(1.0);
    format!(
        "+sbwt very_short +sbwtdcpu very_short +sbwtdio very_short; +S {few}:{few}; \
         +S {few}:{few} +sbwt none +sbwtdcpu none +sbwtdio none"
    )
    .parse()
}

/// Where it was measured.
fn place(record: &Judged) -> String {
    let all = record.plan.arms.iter().rev().filter_map(|arm| BusyWaitParams::of(&arm.settings));
    let mut under_quota = all.filter(|params| params.quota.get().is_some());
    let params = under_quota.next().unwrap_or_default();
    let BusyWaitParams { quota, schedulers, rate, load, .. } = params;
    let vm = record.trials.iter().find_map(|trial| trial.observation.vm.as_ref());
    let otp = vm.map_or_else(String::new, |vm| format!(", OTP {}", vm.otp));
    format!(
        "a quota of {quota} CPUs, {schedulers} schedulers, {rate} requests a second through a \
         {load}{otp}, {}",
        report::text::host(&record.machine)
    )
}
