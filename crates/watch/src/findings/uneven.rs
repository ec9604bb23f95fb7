//! Work of an Erlang node that waits in one run queue while another has none.

use crate::inside::InsideSums;
use crate::limits::{UNEVEN_ANSWERS, UNEVEN_SHARE, UNEVEN_USED};
use crate::nodes;
use crate::window::Window;
use model::live::{
    Finding, FindingKind, LiveFix, NodeFlag, NodeFlags, Program, Said, Sure, UnevenQueues,
};
use model::suggestion::{Command, Run};
use scenarios::blocking_nif::{BlockingNifParams, META, Mode};
use scenarios::params::{Auto, Params};

/// Findings of all nodes that are looked into.
pub fn find(window: &Window) -> Vec<Finding> {
    let of = |(name, sums): (&String, &InsideSums)| {
        let said = sums.inside(name).said.filter(is_uneven)?;
        let (victim, configured) = nodes::node_named(window, name);
        let flags = vec![NodeFlag::ForcedWakeup(10)];
        let flags = LiveFix::Flags(NodeFlags { flags, configured });
        Some(finding(name, victim, &said, vec![LiveFix::DirtyScheduler, flags]))
    };
    window.inside.iter().filter_map(of).collect()
}

fn is_uneven(said: &Said) -> bool {
    said.answers >= UNEVEN_ANSWERS
        && said.uneven >= UNEVEN_SHARE
        && said.used.iter().any(|used| *used < UNEVEN_USED)
}

fn finding(node: &str, victim: Program, said: &Said, fixes: Vec<LiveFix>) -> Finding {
    let params = BlockingNifParams {
        mode: Mode::NifSleep,
        schedulers: Auto::Is(said.online.clamp(1, 1024)),
        ..BlockingNifParams::default()
    };
    let run =
        Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() };
    Finding {
        victim,
        culprits: Vec::new(),
        cost_ms_per_s: said.uneven * 1e3,
        worst_ms: 0.0,
        since_s: 0.0,
        sure: Sure::Likely,
        fixes,
        run: Some(run),
        kind: FindingKind::UnevenQueues(UnevenQueues {
            node: node.to_owned(),
            answers: said.answers,
            uneven: said.uneven,
            longest: said.longest,
            used: said.used.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_uneven_only_where_a_scheduler_had_nothing_to_do_for_long() {
        let uneven = Said { answers: 9, uneven: 0.8, used: vec![0.99, 0.05], ..Said::default() };
        assert!(is_uneven(&uneven));
        for well in [
            Said { used: vec![0.99, 0.9], ..uneven.clone() },
            Said { uneven: 0.2, ..uneven.clone() },
            Said { answers: 2, ..uneven.clone() },
        ] {
            assert!(!is_uneven(&well), "{well:?}");
        }
    }
}
