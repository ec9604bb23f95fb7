//! The sentences about one record.

use super::caveat;
use super::fact::fact;
use super::{arm, fix, headline, reason};
use model::prose::figures::{self, heading};
use model::prose::sentence;
use model::{Caveat, Judged, Meta, Missed, Note, Reason, State};
use os::terminal::line as plain;
use std::collections::BTreeSet;

/// The sentences about one record.
#[derive(Debug, Clone, Copy)]
pub struct Prose<'a> {
    record: &'a Judged,
    meta: Option<&'a Meta>,
}

impl<'a> Prose<'a> {
    /// The sentences about this record. `meta` describes its scenario, if this version knows it.
    pub fn new(record: &'a Judged, meta: Option<&'a Meta>) -> Self {
        Prose { record, meta: meta.filter(|meta| meta.id == record.scenario) }
    }

    /// The description of the scenario, if it is known.
    pub(crate) fn meta(&self) -> Option<&'a Meta> {
        self.meta
    }

    /// The verdict in a sentence or two.
    pub fn headline(&self) -> String {
        headline::of_record(self.record, self.meta)
    }

    /// The headline and a little more, for places without room for other sentences. An open
    /// verdict has its first reason; a study without a stall has the stall that it would have
    /// detected.
    pub fn brief(&self) -> String {
        let said = std::iter::once(self.headline());
        let said = said.chain(self.first_reason()).chain(self.would_have_shown());
        said.collect::<Vec<_>>().join(" ")
    }

    /// The stall that a study without a stall would have detected, one line per judged figure.
    /// The first line has the trial length; later lines repeat it only if it differs.
    pub fn would_have_shown(&self) -> Vec<String> {
        would_have_shown(&self.missed_by_figure(), self.meta)
    }

    /// What a study without a stall could have missed, per judged figure. The first figure is the
    /// one that the study follows.
    pub(super) fn missed_by_figure(&self) -> Vec<(Option<&'a str>, Missed)> {
        if self.record.judgement.state != State::NotAffected {
            return Vec::new();
        }
        let first = self.record.judgement.test.as_ref().and_then(|test| test.missed);
        let others = self.record.judgement.reasons.iter().filter_map(|reason| match reason {
            Reason::NorIn { measure, missed } => Some((Some(measure.as_str()), (*missed)?)),
            _ => None,
        });
        first.map(|missed| (None, missed)).into_iter().chain(others).collect()
    }

    /// The first reason of an open verdict.
    pub fn first_reason(&self) -> Option<String> {
        match self.record.judgement.state {
            State::Affected | State::NotAffected => None,
            State::Inconclusive | State::Untrustworthy | State::Skipped => {
                self.reasons().into_iter().next()
            }
        }
    }

    /// The sentences beside the headline of a short answer: why a verdict is open and what would
    /// settle it, or the stall that would have been detected.
    pub fn in_short(&self) -> Vec<String> {
        let why = self.first_reason().into_iter().chain(self.would_settle());
        why.chain(self.would_have_shown()).collect()
    }

    /// A way to settle an inconclusive verdict.
    pub fn would_settle(&self) -> Option<String> {
        let caveats = self.record.judgement.caveats.iter();
        let open = self.record.judgement.state == State::Inconclusive;
        let mut settling = caveats.filter(|one| open && caveat::would_settle(one));
        settling.next().map(|one| self.caveat(one))
    }

    /// The reasons of the verdict.
    pub fn reasons(&self) -> Vec<String> {
        let reasons = self.record.judgement.reasons.iter();
        reasons.map(|one| reason::reason(one, self.record, self.meta)).collect()
    }

    /// The smallest stall that a study without a stall could have missed.
    pub fn missed(&self) -> Option<String> {
        self.record.judgement.test.as_ref()?.missed.as_ref().map(caveat::missed)
    }

    /// What the study cannot tell.
    pub fn caveats(&self) -> Vec<String> {
        let caveats = self.record.judgement.caveats.iter();
        caveats.map(|one| self.caveat(one)).collect()
    }

    /// What the study cannot tell, in a sentence. The judgement does not know which command made
    /// the record, and another one than it assumes may not continue the study.
    fn caveat(&self, one: &Caveat) -> String {
        match *one {
            Caveat::MoreBlocks { more, blocks, .. } if !crate::repro::continues(self.record) => {
                let anew = Caveat::MoreBlocks { more, blocks, goes_on: false };
                caveat::caveat(&anew, self.meta)
            }
            _ => caveat::caveat(one, self.meta),
        }
    }

    /// Other figures that also show a stall.
    pub fn also(&self) -> Option<String> {
        let also = &self.record.judgement.also;
        let names: Vec<String> = also.iter().map(|name| heading(name, self.meta)).collect();
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let said = figures::listed(&quoted);
        (!names.is_empty()).then(|| format!("By the same test a stall shows in {said} too."))
    }

    /// All reasons of the verdict, and what it cannot tell.
    pub fn why(&self) -> Vec<String> {
        let (also, missed, caveats) = (self.also(), self.missed(), self.caveats());
        self.reasons().into_iter().chain(also).chain(missed).chain(caveats).collect()
    }

    /// The outcome of each change that was tried, in a few words.
    pub fn fixes_in_short(&self) -> Vec<String> {
        self.record.judgement.fixes.iter().map(|one| fix::short(one, self.meta)).collect()
    }

    /// The notes of the trials, without repetitions.
    pub fn notes(&self) -> Vec<String> {
        let trials = self.record.trials.iter();
        let notes = trials.flat_map(|trial| &trial.observation.notes);
        let notes: BTreeSet<String> = notes.map(|note| self.note(note)).collect();
        notes.into_iter().collect()
    }

    fn note(&self, note: &Note) -> String {
        match note {
            Note::Fact(own) => fact(own, self.meta),
            Note::Said(text) => sentence::sentence(&plain(text)),
        }
    }

    /// The arms that could not be run, with the reasons.
    pub fn left_out(&self) -> Vec<String> {
        let said = |one| format!("Left out: {}", sentence::ended(&arm::left_out(one, self.meta)));
        self.record.plan.left_out.iter().map(said).collect()
    }

    /// The arm with the worst effect, and its difference from its control.
    pub fn worst_effect(&self) -> Option<(String, String)> {
        let measure = self.record.judgement.measure.as_ref()?;
        let worst = model::worst_case(&self.record.judgement.arms, measure)?;
        let shift = figures::shift(worst.against_control.get(measure)?);
        Some((plain(&worst.id), format!("{} {shift}", heading(measure, self.meta))))
    }

    /// The users that the scenario matters to.
    pub fn matters(&self) -> Option<String> {
        self.meta.map(|meta| format!("Matters to {}", sentence::ended(meta.who)))
    }
}

/// One line per figure. The first line does not name its figure.
pub(super) fn would_have_shown(all: &[(Option<&str>, Missed)], meta: Option<&Meta>) -> Vec<String> {
    let length = all.first().and_then(|(_, first)| first.trial_ms);
    let line = |(measure, missed): &(Option<&str>, Missed)| match measure {
        None => sentence::sentence(&caveat::would_have_shown(missed)),
        Some(measure) => {
            let trial_ms = missed.trial_ms.filter(|_| missed.trial_ms != length);
            let said = caveat::would_have_shown(&Missed { trial_ms, ..*missed });
            format!("By \"{}\": {said}.", heading(measure, meta))
        }
    };
    all.iter().map(line).collect()
}
