//! The verdict in one sentence.

use super::fact::fact;
use model::prose::figures;
use model::reason::StudyHeadline;
use model::{ArmResult, Headline, Judged, Meta, State};
use os::terminal::line as plain;

/// The headline alone, without facts from the rest of its record.
pub fn headline(headline: &Headline, meta: Option<&Meta>) -> String {
    match headline {
        Headline::Scenario(own) => fact(own, meta),
        Headline::Untrustworthy => "These figures prove nothing.".to_owned(),
        Headline::Skipped => "Not run, since something is missing.".to_owned(),
        Headline::Broken => "A trial broke.".to_owned(),
        Headline::NotMeasured => "Nothing was measured yet.".to_owned(),
        Headline::Study(study) => of_study(study, None),
        Headline::Watched => "What tailback watch saw of a live system.".to_owned(),
        Headline::UnknownScenario => {
            "This version of tailback does not know this scenario and cannot judge it.".to_owned()
        }
    }
}

/// The headline of a record. For a study of several factors it includes the figures of the arms.
pub fn of_record(record: &Judged, meta: Option<&Meta>) -> String {
    match &record.judgement.headline {
        Headline::Study(study) => of_study(study, Some((record, meta))),
        Headline::Watched => match &record.live {
            Some(live) => super::live::conclusion(live),
            None => headline(&Headline::Watched, meta),
        },
        other => headline(other, meta),
    }
}

fn of_study(study: &StudyHeadline, of: Option<(&Judged, Option<&Meta>)>) -> String {
    let name = plain(&study.name);
    let state = of.map(|(record, _)| record.judgement.state);
    let said = match (study.affected, state) {
        (0, Some(State::NotAffected)) => {
            format!("Study {name}: none of {} combinations stalls.", study.of)
        }
        (0, Some(State::Affected)) => {
            format!("Study {name}: some combination stalls, and it is not settled which.")
        }
        (0, _) => format!("Study {name}: too few blocks to say whether a combination stalls."),
        (affected, _) => {
            let verb = if affected == 1 { "stalls" } else { "stall" };
            format!("Study {name}: {affected} of {} combinations {verb}.", study.of)
        }
    };
    let worst = study.worst.as_deref().map(|worst| worst_of(study, worst, of));
    format!("{said}{}", worst.unwrap_or_default())
}

/// ` Worst is busy=3: stalled 999 ms/s [999, 1000], +998 ms/s [997, 999] over its control.`
fn worst_of(study: &StudyHeadline, worst: &str, of: Option<(&Judged, Option<&Meta>)>) -> String {
    let name = plain(worst);
    let arm = of.and_then(|(record, _)| record.judgement.arms.iter().find(|arm| arm.id == worst));
    let measure = study.measure.as_str();
    let Some(estimate) = arm.and_then(|arm| arm.measures.get(measure)) else {
        return format!(" Worst is {name}.");
    };
    let heading = figures::heading(measure, of.and_then(|(_, meta)| meta));
    let over = arm.and_then(|arm: &ArmResult| arm.against_control.get(measure));
    let over = over.map(|shift| format!(", {} over its control", figures::shift(shift)));
    let (figure, over) = (figures::estimate(estimate), over.unwrap_or_default());
    format!(" Worst is {name}: {heading} {figure}{over}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_worst_combination_is_named_with_its_figure() {
        let mut record = testing::record();
        let study = StudyHeadline {
            name: "rows".to_owned(),
            affected: 1,
            of: 2,
            measure: "lost".to_owned(),
            worst: Some("case".to_owned()),
        };
        record.judgement.headline = Headline::Study(study.clone());
        assert_eq!(
            of_record(&record, None),
            "Study rows: 1 of 2 combinations stalls. Worst is case: lost 900 ms/s [899, 901]."
        );
        record.judgement.headline =
            Headline::Study(StudyHeadline { worst: None, affected: 0, ..study });
        record.judgement.state = State::NotAffected;
        assert_eq!(of_record(&record, None), "Study rows: none of 2 combinations stalls.");
        record.judgement.state = State::Inconclusive;
        assert!(of_record(&record, None).contains("too few blocks"));
    }
}
