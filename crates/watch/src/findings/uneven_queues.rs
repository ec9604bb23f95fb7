//! Work of an Erlang node that waits in one run queue while another queue is empty.

use super::blocking_nif::{BlockingNif, is_hidden};
use super::stall::{Seen, Stall};
use super::words::NativeFix;
use crate::inside::InsideSums;
use crate::node::NodeFacts;
use crate::nodes;
use crate::sums::largest;
use crate::window::Window;
use model::live::{AnswerState, Finding, NodeFigures, Program, Sure};
use model::prose::figures::{percent, plural};
use model::suggestion::{Command, Run};
use os::terminal::line as plain;
use scenarios::blocking_nif::{BlockingNifParams, META, Mode};
use scenarios::params::{Auto, Params};
use serde::{Deserialize, Serialize};

/// The least share of answers with uneven queues. The VM moves work over as soon as a scheduler
/// looks for some, so a few uneven answers are seen now and then.
const SHARE: f64 = 0.5;

/// The same limit in milliseconds a second.
const LIMIT_MS_PER_S: f64 = SHARE * 1e3;

/// And there are at least this many answers.
const ANSWERS: u32 = 4;

/// And a scheduler was used for less than this share of the time.
const USED: f64 = 0.5;

/// Most schedulers whose use is shown.
const SHOWN: usize = 8;

/// Work waits in some run queues of an Erlang node while others are empty. No scenario provokes
/// only this.
pub struct UnevenQueues;

/// How uneven the queues are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Name of the node.
    node: String,
    /// Number of answers behind the figures.
    answers: u32,
    /// Share of the answers in which five or more waited in one queue while another was empty.
    uneven: f64,
    /// Mean length of the longest queue in these answers.
    longest: f64,
    /// How much each online normal scheduler was used, from 0 to 1.
    used: Vec<f64>,
    /// Whether native code that holds a scheduler could not be seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    native_hidden: bool,
}

impl Stall for UnevenQueues {
    const ID: &'static str = "uneven-queues";
    const NAME: &'static str = "uneven run queues";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const NEEDS_ANSWERS: bool = true;
    type Facts = Facts;
    type Fix = NativeFix;

    /// Findings of all nodes that are asked.
    fn find(window: &Window) -> Vec<Finding> {
        let of = |(name, sums): (&String, &InsideSums)| {
            let figures = sums.inside(name).figures.filter(is_uneven)?;
            let (victim, process) = nodes::node_named(window, name);
            let seen = process.and_then(|process| window.nodes.get_key_value(&process));
            let native = BlockingNif::find(window).iter().any(|one| one.victim == victim);
            // From outside, the node may not be there.
            let native_hidden = !native && seen.is_none_or(|seen| is_hidden(window, seen));
            let node = seen.map(|(_, (_, node))| node.facts.clone()).unwrap_or_default();
            let facts = facts(name, &figures, native_hidden);
            let fixes = fixes(native, native_hidden, &node);
            Some(finding(victim, &figures, &facts, &fixes))
        };
        window.inside.iter().filter_map(of).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let figures = |(name, sums): (&String, &InsideSums)| sums.inside(name).figures;
        let all = seen.window.inside.iter().filter_map(figures);
        let known = all.filter(|of| of.answers >= ANSWERS);
        let most = largest(known.map(|of| of.uneven * 1e3));
        let state = seen.measured::<Self>(most, LIMIT_MS_PER_S);
        Some(seen.inside_nodes(seen.unless_too_short(ANSWERS.into(), state)))
    }

    fn cause(_: &Finding, facts: &Facts) -> String {
        let used: Vec<String> = facts.used.iter().take(SHOWN).map(|used| percent(*used)).collect();
        let more = if facts.used.len() > SHOWN { " .." } else { "" };
        let hidden = match facts.native_hidden {
            true => " Whether a native function holds a scheduler could not be seen.",
            false => "",
        };
        format!(
            "In {} of {}, one run queue of node {} held {:.0} processes on average while another \
             queue was empty. Use of its schedulers: {}{more}. A scheduler that sleeps does not \
             look for that work.{hidden}",
            percent(facts.uneven),
            plural(facts.answers.into(), "sample"),
            plain(&facts.node),
            facts.longest,
            used.join(" "),
        )
    }

    fn fix(fix: &NativeFix) -> String {
        fix.sentence()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<NativeFix>)> {
        let facts = Facts {
            node: "web@host".to_owned(),
            answers: 9,
            uneven: 0.8,
            longest: 12.0,
            used: vec![0.99, 0.05],
            native_hidden: false,
        };
        let hidden = Facts { native_hidden: true, ..facts.clone() };
        let node = NodeFacts::default();
        vec![
            (facts.clone(), fixes(true, false, &node)),
            (facts, fixes(false, false, &node)),
            (hidden, fixes(false, true, &node)),
        ]
    }
}

fn is_uneven(figures: &NodeFigures) -> bool {
    figures.answers >= ANSWERS
        && figures.uneven >= SHARE
        && figures.used.iter().any(|used| *used < USED)
}

/// The fixes where native code holds a scheduler, where none does, or where none can be seen.
fn fixes(native: bool, native_hidden: bool, node: &NodeFacts) -> Vec<NativeFix> {
    let of_native = if native || native_hidden { NativeFix::all(true, node) } else { Vec::new() };
    let unbind = (!native).then_some(NativeFix::Unbind);
    of_native.into_iter().chain(unbind).collect()
}

fn facts(node: &str, figures: &NodeFigures, native_hidden: bool) -> Facts {
    Facts {
        node: node.to_owned(),
        answers: figures.answers,
        uneven: figures.uneven,
        longest: figures.longest,
        used: figures.used.clone(),
        native_hidden,
    }
}

fn finding(victim: Program, figures: &NodeFigures, facts: &Facts, fixes: &[NativeFix]) -> Finding {
    let params = BlockingNifParams {
        mode: Mode::NifSleep,
        schedulers: Auto::Is(figures.online.clamp(1, 1024)),
        ..BlockingNifParams::default()
    };
    let run =
        Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() };
    Finding {
        victim,
        cost_ms_per_s: figures.uneven * 1e3,
        sure: Sure::Likely,
        run: Some(run),
        ..UnevenQueues::found(facts, fixes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_native_code_cannot_be_seen_both_kinds_of_fix_are_named() {
        let of = |native, native_hidden| fixes(native, native_hidden, &NodeFacts::default());
        assert_eq!(of(false, false), [NativeFix::Unbind]);
        assert_eq!(of(true, false), NativeFix::all(true, &NodeFacts::default()));
        let both = of(false, true);
        assert!(both.contains(&NativeFix::DirtyScheduler) && both.contains(&NativeFix::Unbind));
    }

    #[test]
    fn queues_are_uneven_only_where_a_scheduler_had_nothing_to_do_for_long() {
        let uneven = NodeFigures {
            answers: 9,
            uneven: 0.8,
            used: vec![0.99, 0.05],
            ..NodeFigures::default()
        };
        assert!(is_uneven(&uneven));
        for well in [
            NodeFigures { used: vec![0.99, 0.9], ..uneven.clone() },
            NodeFigures { uneven: 0.2, ..uneven.clone() },
            NodeFigures { answers: 2, ..uneven.clone() },
        ] {
            assert!(!is_uneven(&well), "{well:?}");
        }
    }
}
