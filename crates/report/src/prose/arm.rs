//! Sentences on what an arm changes, and on why an arm was left out.

use super::fact::phrase;
use super::problem::{problem, refused_flags};
use model::{Changed, LeftOut, Meta, WhyLeftOut};
use os::terminal::line as plain;

/// A change in a few words: `+sbwt none`, `as many threads as CPUs`.
pub fn change(change: &Changed, meta: Option<&Meta>) -> String {
    match change {
        Changed::Flags(words) | Changed::Said(words) => plain(words),
        Changed::Scenario(own) => phrase(own, meta),
    }
}

/// An arm that could not be run, and the reason: `sfwi-x: OTP 25 refuses +sfwi x: bad number`.
pub fn left_out(arm: &LeftOut, meta: Option<&Meta>) -> String {
    let why = match &arm.why {
        WhyLeftOut::Flags(refused) => refused_flags(refused),
        WhyLeftOut::Refused { why } => problem(why, meta),
        WhyLeftOut::Said(why) => plain(why),
        WhyLeftOut::Scenario(own) => phrase(own, meta),
    };
    format!("{}: {why}", plain(&arm.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{META, Own};
    use model::Fact;
    use model::problem::RefusedFlags;

    #[test]
    fn a_change_is_said_by_its_scenario_and_in_an_older_record_by_itself() {
        let said = |one: Changed| change(&one, Some(&META));
        assert_eq!(said(Changed::Scenario(Own::Fewer { readers: 2 }.into())), "2 readers");
        assert_eq!(said(Changed::Scenario(Fact::new("unknown\u{1b}[2J"))), "unknown [2J");
        assert_eq!(said(Changed::Flags("+sbwt none".to_owned())), "+sbwt none");
        assert_eq!(said(Changed::Said("a burst\u{1b}[2J".to_owned())), "a burst [2J");
    }

    #[test]
    fn an_arm_is_left_out_with_the_words_of_what_refused_it() {
        let said = |why| left_out(&LeftOut { id: "sfwi-x".to_owned(), why }, Some(&META));
        let (flags, why) = ("+sfwi x".to_owned(), "bad\u{1b}[2J value".to_owned());
        assert_eq!(
            said(WhyLeftOut::Flags(RefusedFlags { otp: 25, flags, why: why.clone() })),
            "sfwi-x: OTP 25 refuses +sfwi x: bad [2J value"
        );
        assert_eq!(said(WhyLeftOut::Said(why)), "sfwi-x: bad [2J value");
        let own = WhyLeftOut::Scenario(Own::Fewer { readers: 1 }.into());
        assert_eq!(said(own), "sfwi-x: 1 reader");
    }
}
