//! The results of a simulation, as text and as JSON. Times are in milliseconds in both.

use super::times::time;
use model::estimate::number;
use os::time::ms_of_ns as ms;
use serde_json::{Value, json};
use sim::{Answer, Config, Goal, Holding, Outcome};
use std::fmt::Write as _;

/// The percentiles of latencies that are shown.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)];

fn config_json(config: &Config) -> Value {
    json!({
        "cpus": config.cpus,
        "hz": config.hz,
        "era": config.era,
        "rules": config.rules,
        "quota_ms": config.quota_ns.map(ms),
        "period_ms": ms(config.period_ns),
        "burst_ms": ms(config.burst_ns),
        "slice_ms": ms(config.slice_ns),
        "duration_ms": ms(config.duration_ns),
        "seed": config.seed,
    })
}

/// The results as one JSON object.
pub fn outcome_json(config: &Config, outcome: &Outcome) -> String {
    let latency: serde_json::Map<String, Value> = PERCENTILES
        .iter()
        .filter_map(|(name, p)| Some(((*name).to_owned(), ms(outcome.latency_ns(*p)?).into())))
        .collect();
    let quota = &outcome.quota;
    let object = json!({
        "simulated": true,
        "config": config_json(config),
        "usage_ms": ms(outcome.usage_ns),
        "entitled_ms": ms(outcome.entitled_ns),
        "nr_periods": outcome.nr_periods,
        "nr_throttled": outcome.nr_throttled,
        "longest_throttled": outcome.longest_throttled,
        "throttled_ms": ms(outcome.throttled_ns),
        "nr_bursts": outcome.nr_bursts,
        "burst_used_ms": ms(outcome.burst_used_ns),
        "iterations": outcome.iterations(),
        "quota_ms": {
            "granted": ms(quota.granted_ns),
            "overdrawn": ms(quota.overdrawn_ns),
            "used": ms(quota.used_ns),
            "expired": ms(quota.expired_ns),
            "unused": ms(quota.unused_ns),
            "stranded_mean": ms(quota.stranded.mean_ns),
            "stranded_at_period_end_mean": ms(quota.stranded.mean_at_period_end_ns),
        },
        "latency_ms": latency,
        "unfinished": outcome.unfinished,
        "events": outcome.events,
    });
    format!("{object:#}\n")
}

/// The results in about a dozen lines.
pub fn outcome_text(config: &Config, outcome: &Outcome) -> String {
    let mut text = heading(config);
    let share = 100.0 * outcome.usage_ns as f64 / (outcome.entitled_ns as f64).max(1.0);
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<22}{value}");
    };
    let (usage, entitled) = (number(ms(outcome.usage_ns)), number(ms(outcome.entitled_ns)));
    line("used", format!("{usage} ms of {entitled} ms ({} %)", number(share)));
    let (throttled, periods) = (outcome.nr_throttled, outcome.nr_periods);
    let longest = outcome.longest_throttled;
    line("throttled", format!("{throttled} of {periods} periods, at most {longest} in a row"));
    line(
        "time throttled",
        format!("{} ms, summed over all CPUs", number(ms(outcome.throttled_ns))),
    );
    let quota = &outcome.quota;
    line("expired quota", format!("{} ms", number(ms(quota.expired_ns))));
    line("unused quota", format!("{} ms", number(ms(quota.unused_ns))));
    let stranded = number(ms(quota.stranded.mean_ns));
    line("stranded on idle CPUs", format!("{stranded} ms on average"));
    if quota.overdrawn_ns > 0 {
        line("handed out twice", format!("{} ms", number(ms(quota.overdrawn_ns))));
    }
    if outcome.latency.is_some() {
        let words: Vec<String> = PERCENTILES
            .iter()
            .filter_map(|(name, p)| Some(format!("{name} {}", number(ms(outcome.latency_ns(*p)?)))))
            .collect();
        line("latency in ms", words.join(", "));
        line("unfinished at the end", outcome.unfinished.to_string());
    }
    text
}

fn heading(config: &Config) -> String {
    let quota = config.quota_ns.map_or("no quota".to_owned(), time);
    format!(
        "simulated: {} CPUs, HZ {}, Linux {}, {quota} in {}, burst {}, {}, seed {}\n",
        config.cpus,
        config.hz,
        config.era.versions(),
        time(config.period_ns),
        time(config.burst_ns),
        time(config.duration_ns),
        config.seed
    )
}

fn holding_json(holding: &Holding) -> Value {
    json!({
        "quota_ms": ms(holding.quota_ns),
        "burst_ms": ms(holding.burst_ns),
        "latency_ms": ms(holding.latency_ns),
    })
}

/// The found quota as one JSON object.
pub fn answer_json(config: &Config, goal: &Goal, answer: &Answer) -> String {
    let object = json!({
        "simulated": true,
        "config": config_json(config),
        "percentile": goal.percentile,
        "target_ms": ms(goal.target_ns),
        "without_quota_ms": answer.without_quota_ns.map(ms),
        "quota": answer.quota.as_ref().map(holding_json),
        "with_burst": answer.with_burst.as_ref().map(holding_json),
        "why_none": answer.why_none,
        "requests": answer.requests,
        "simulations": answer.simulations,
    });
    format!("{object:#}\n")
}

/// The found quota in a few lines.
pub fn answer_text(config: &Config, goal: &Goal, answer: &Answer) -> String {
    let mut text = format!(
        "simulated: {} CPUs, HZ {}, Linux {}, period {}; p{} within {}\n",
        config.cpus,
        config.hz,
        config.era.versions(),
        time(config.period_ns),
        goal.percentile,
        time(goal.target_ns)
    );
    if let Some(why) = &answer.why_none {
        let _ = writeln!(text, "  no quota is enough: {why}");
    }
    let mut tell = |name: &str, holding: &Holding| {
        let cpus = number(holding.quota_ns as f64 / config.period_ns as f64);
        let latency = number(ms(holding.latency_ns));
        let (quota, burst) = (time(holding.quota_ns), time(holding.burst_ns));
        let _ =
            writeln!(text, "  {name:<20}quota {quota} ({cpus} CPUs), burst {burst}: {latency} ms");
    };
    if let Some(holding) = &answer.quota {
        tell("smallest quota", holding);
    }
    if let Some(holding) = &answer.with_burst {
        tell("with a burst", holding);
    }
    if let Some(free) = answer.without_quota_ns {
        let _ = writeln!(text, "  {:<20}{} ms", "without a quota", number(ms(free)));
    }
    let _ = writeln!(text, "  {} requests, {} simulations", answer.requests, answer.simulations);
    text
}
