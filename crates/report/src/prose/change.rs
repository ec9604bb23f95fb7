//! The comparison of two sets of records in English.

use super::{Step, plain};
use model::change::{
    ChangeHeadline, ChangeReason, ChangeSuggestion, Purpose, RecordWith, Setting, SettingName,
    SettingValue, Turn, When, across,
};
use model::estimate::number;
use model::prose::figures::{self, figure, heading, listed, percent, plural};
use model::{Basis, Change, ChangeState, Difference, Estimate, Meta, Unit};
use os::quote::word as quoted;

/// Standard input, as named on a command line. No command can repeat it.
const STANDARD_INPUT: &str = "-";

/// The verdict in a sentence or two.
pub fn headline(change: &Change, meta: Option<&Meta>) -> String {
    let (largest, margin) = match &change.headline {
        ChangeHeadline::Largest { arm, measure, difference } => {
            let largest = largest(arm, measure, difference, meta);
            (format!("{largest}{}", of_pairs(change.basis, difference)), margin_of(difference))
        }
        ChangeHeadline::NoFigure => return "No judged figure is in all records.".to_owned(),
        ChangeHeadline::NotComparable => return "These records cannot be compared.".to_owned(),
    };
    match change.state {
        ChangeState::Worse => format!("Worse after the change: {largest}."),
        ChangeState::Better => format!("Better after the change: {largest}."),
        ChangeState::Differs => format!(
            "These runs differ: {largest}. They do not show whether the change or something else \
             is the cause."
        ),
        ChangeState::NoDifferenceShown | ChangeState::NotComparable => {
            format!("No difference above the margin{margin} was shown. The largest: {largest}.")
        }
    }
}

/// `, in 8 pairs of runs`.
fn of_pairs(basis: Basis, difference: &Difference) -> String {
    match basis {
        Basis::Blocks => String::new(),
        Basis::Pairs => {
            format!(", in {} of runs", plural(difference.before.trials.into(), "pair"))
        }
    }
}

/// ` of 1 ms/s`.
fn margin_of(difference: &Difference) -> String {
    let margin = difference.margin.map(|margin| figure(margin, difference.comparison.unit));
    margin.map(|margin| format!(" of {margin}")).unwrap_or_default()
}

/// `"stalled" of busy-10 over control was 20 ms/s, then 900 ms/s: +880 ms/s [870, 890]`.
fn largest(arm: &str, measure: &str, difference: &Difference, meta: Option<&Meta>) -> String {
    let over = difference.over.as_deref();
    let over = over.map(|over| format!(" over {}", plain(over))).unwrap_or_default();
    format!(
        "\"{}\" of {}{over} was {}, then {}: {}",
        heading(measure, meta),
        plain(arm),
        figures::median(&difference.before),
        figures::median(&difference.after),
        figures::shift(&difference.comparison)
    )
}

/// Why the verdict is as it is, or why the records cannot be compared.
pub fn reasons(change: &Change, meta: Option<&Meta>) -> Vec<String> {
    change.reasons.iter().map(|one| reason(one, change, meta)).collect()
}

fn reason(reason: &ChangeReason, change: &Change, meta: Option<&Meta>) -> String {
    match reason {
        ChangeReason::OneRecordEach => {
            "One record per side does not show how much two equal runs differ.".to_owned()
        }
        ChangeReason::TooFewPairs { pairs, needed, judged, confidence } => format!(
            "{} of runs are too few to say worse or better: {needed} are needed for {} at {} \
             confidence.",
            plural(*pairs as u64, "pair"),
            plural(*judged as u64, "judged figure"),
            percent(*confidence)
        ),
        ChangeReason::OrderUnknown => {
            "The start times of the records do not show which records form a pair.".to_owned()
        }
        ChangeReason::NotInTurns { order } => format!(
            "The records were not made in pairs but in the order {}, so drift of the machine looks \
             like the change.",
            turns(order, change)
        ),
        ChangeReason::FixedOrder { order } => format!(
            "Two pairs in a row have the same order ({}), and the records do not say that this \
             order was random. So an effect that comes and goes from run to run looks like the \
             change.",
            turns(order, change)
        ),
        ChangeReason::OrderByHand => {
            "The order within the pairs is not known to be random, so the test allows only half \
             the error rate."
                .to_owned()
        }
        ChangeReason::Unpaired { before, after } => {
            format!("Records that are in no pair do not count: {before} before and {after} after.")
        }
        ChangeReason::NoInterval { arms } => format!(
            "For {} there are too few {} for an interval, or too many trials were cut off.",
            listed(arms),
            counted(change.basis)
        ),
        ChangeReason::Hung { arm, before, after } => format!(
            "{} hung in {} of {} before, and in {} of {} after. The figures do not show how long a \
             trial that hung would have taken.",
            plain(arm),
            before.0,
            plural(before.1.into(), "trial"),
            after.0,
            plural(after.1.into(), "trial")
        ),
        ChangeReason::OneSided { arms } => {
            format!("These arms are on one side only and are not compared: {}.", listed(arms))
        }
        ChangeReason::ControlChanged { arm, measure, shift } => format!(
            "{} changed too, though it has no cause to stall: \"{}\" {}. {}",
            plain(arm),
            heading(measure, meta),
            figures::shift(shift),
            changed_the_control(change)
        ),
        ChangeReason::Claim { error_rate } => format!(
            "A difference is called {} if its whole interval is above the margin ({}). Over all \
             judged figures together, such a claim is wrong in at most {} of comparisons.",
            claimed(change.basis),
            margins(change, meta),
            percent(*error_rate)
        ),
        ChangeReason::NoRecord => "One of the sides has no record.".to_owned(),
        ChangeReason::OtherScenario { record, other } => format!(
            "{} is a record of {}, {} of {}.",
            plain(&record.record),
            has(record),
            plain(&other.record),
            has(other)
        ),
        ChangeReason::Untrustworthy { record } => format!(
            "{} is untrustworthy: the machine was disturbed, or a trial broke.",
            plain(record)
        ),
        ChangeReason::NoTrials { record } => format!("{} has no trials.", plain(record)),
        ChangeReason::JudgedOtherwise => {
            "The records are judged by different figures or margins.".to_owned()
        }
        ChangeReason::NoCommonCase => "No arm with the cause is in all records.".to_owned(),
        ChangeReason::OtherControl { arm, record, other } => format!(
            "{} is compared with {} in {}, and with {} in {}.",
            plain(arm),
            has(record),
            plain(&record.record),
            has(other),
            plain(&other.record)
        ),
        ChangeReason::SameRecord { record, other } => {
            format!("{} and {} are the same record.", plain(record), plain(other))
        }
        ChangeReason::MixedSide { record, other, setting } => {
            let [what, before, after] = self::setting(setting);
            format!(
                "{} and {} are on the same side but differ in {what}: {before} and {after}.",
                plain(record),
                plain(other)
            )
        }
        ChangeReason::Confounded { by } => {
            let things: Vec<String> = by.iter().map(|thing| thing_of(thing)).collect();
            format!("The two sides differ in {}.", listed(&things))
        }
    }
}

/// What may have changed a control, and what follows from it.
fn changed_the_control(change: &Change) -> &'static str {
    match change.differs.is_empty() {
        true => "Only the machine can change a control, so this difference is subtracted.",
        // A control runs on the same kernel and OTP as its case, and has most of its settings.
        false => {
            "A setting that differs may have changed the control, and not only the machine. This \
             difference is subtracted, so the figures do not contain this part of the effect."
        }
    }
}

/// The scenario or the control of the record.
fn has(record: &RecordWith) -> String {
    record.has.as_deref().map_or_else(|| "no control".to_owned(), plain)
}

/// A thing that `--across` may name, in words.
fn thing_of(thing: &str) -> String {
    match thing {
        across::HOST => "the machine".to_owned(),
        across::KERNEL => "the kernel".to_owned(),
        across::OTP => "the OTP release".to_owned(),
        across::TAILBACK => "the version of tailback".to_owned(),
        parameter => format!("--{}", plain(parameter)),
    }
}

/// `4 x before, 4 x after`.
fn turns(order: &[Turn], change: &Change) -> String {
    let mut words: Vec<String> = order.iter().map(turn).collect();
    let listed: usize = order.iter().map(|turn| turn.records).sum();
    if listed < change.before.len() + change.after.len() {
        words.push("..".to_owned());
    }
    words.join(", ")
}

fn turn(turn: &Turn) -> String {
    let side = match turn.side {
        When::Before => "before",
        When::After => "after",
    };
    match turn.records {
        1 => side.to_owned(),
        records => format!("{records} x {side}"),
    }
}

fn counted(basis: Basis) -> &'static str {
    match basis {
        Basis::Blocks => "blocks",
        Basis::Pairs => "pairs",
    }
}

fn claimed(basis: Basis) -> &'static str {
    match basis {
        Basis::Blocks => "\"differs\"",
        Basis::Pairs => "\"worse\" or \"better\"",
    }
}

/// `1 ms/s in stalled and 5% in late`.
fn margins(change: &Change, meta: Option<&Meta>) -> String {
    let mut margins: Vec<String> = Vec::new();
    for (name, difference) in change.arms.iter().flat_map(|arm| &arm.measures) {
        let Some(margin) = difference.margin else { continue };
        let margin = figure(margin, difference.comparison.unit);
        let said = format!("{margin} in {}", heading(name, meta));
        if !margins.contains(&said) {
            margins.push(said);
        }
    }
    listed(&margins)
}

/// The next steps.
pub fn suggestions(change: &Change) -> Vec<Step> {
    change.suggestions.iter().map(|one| suggestion(one, change)).collect()
}

fn suggestion(suggestion: &ChangeSuggestion, change: &Change) -> Step {
    let step = |what: &str| Step { what: what.to_owned(), command: None };
    match suggestion {
        ChangeSuggestion::MakePairs { pairs, purpose } => make_pairs(*pairs, *purpose),
        ChangeSuggestion::Explain { record } => {
            let command = format!("tailback explain {}", quoted(record));
            let command = (record != STANDARD_INPUT).then_some(command);
            Step { command, ..step("Look at who held up whom after the change.") }
        }
        ChangeSuggestion::OneScenario => step("Name records of one scenario."),
        ChangeSuggestion::Replace { record } => {
            step(&format!("Make a new record to replace {}.", plain(record)))
        }
        ChangeSuggestion::SameVersion => {
            step("Make all records with the same version of tailback.")
        }
        ChangeSuggestion::SameParameters => step("Make all records with the same parameters."),
        ChangeSuggestion::NameOnce => step("Name each record once: each has to be a separate run."),
        ChangeSuggestion::OneSetUp => step("Name records of one set-up for each side."),
        ChangeSuggestion::Across { names } => step(&format!(
            "{} Or, if these differences are what you want to compare, add --across {}.",
            same(change),
            quoted(&names.join(","))
        )),
    }
}

/// How to make records that can be compared.
fn same(change: &Change) -> String {
    let confounded = change.reasons.iter().find_map(|reason| match reason {
        ChangeReason::Confounded { by } => Some(by),
        _ => None,
    });
    match confounded.map(Vec::as_slice) {
        // A scenario may choose the value of a parameter that the user did not give.
        Some([one]) if !across::ALL.contains(&one.as_str()) => {
            format!("Give all runs the same {}.", thing_of(one))
        }
        _ => "Make records that differ in one thing.".to_owned(),
    }
}

fn make_pairs(pairs: usize, purpose: Purpose) -> Step {
    let why = match purpose {
        Purpose::Cause => "To learn whether the change is the cause",
        Purpose::Detect => "A small difference can hide in few blocks. To look closer",
        Purpose::Narrow => "A small difference can hide in few pairs. To look closer",
    };
    Step {
        what: format!(
            "{why}, describe both sides in study files and let tailback run {pairs} pairs of them. \
             Or make records by hand, in the order before, after, after, before, .."
        ),
        command: Some(format!("tailback compare --run before.toml after.toml --pairs {pairs}")),
    }
}

/// A setting that differs: its name, and its values before and after.
pub fn setting(setting: &Setting) -> [String; 3] {
    let name = setting_name(&setting.what);
    let what = match setting.arms.as_slice() {
        [] => name,
        arms => format!("{name} of {}", listed(arms)),
    };
    let value = |value: &Option<SettingValue>| setting_value(&setting.what, value.as_ref());
    [what, value(&setting.before), value(&setting.after)]
}

fn setting_name(name: &SettingName) -> String {
    let name = match name {
        SettingName::Architecture => "architecture",
        SettingName::Cpus => "CPUs",
        SettingName::AllowedCpus => "CPUs that may be used",
        SettingName::CpuModel => "CPU model",
        SettingName::Memory => "memory",
        SettingName::VirtualMachine => "virtual machine",
        SettingName::GuestAccelerator => "accelerator of the guest",
        SettingName::GuestClock => "clock of the guest",
        SettingName::Qemu => "QEMU",
        SettingName::GuestHostCpus => "CPUs of the guest's host",
        SettingName::GuestHostKernel => "kernel of the guest's host",
        SettingName::CpuLimit => "CPU quota around tailback",
        SettingName::MemoryLimit => "memory limit around tailback",
        SettingName::Kernel => "kernel",
        SettingName::KernelBuild => "kernel build",
        SettingName::Preemption => "preemption",
        SettingName::Hz => "timer interrupts a second",
        SettingName::ClockSource => "clock source",
        SettingName::Distribution => "distribution",
        SettingName::Tailback => "tailback",
        SettingName::Otp => "OTP",
        SettingName::EmulatorFlags => "emulator flags",
        SettingName::Parameter(parameter) => return format!("--{}", plain(parameter)),
    };
    name.to_owned()
}

fn setting_value(name: &SettingName, value: Option<&SettingValue>) -> String {
    match (name, value) {
        (SettingName::CpuLimit | SettingName::MemoryLimit | SettingName::Parameter(_), None) => {
            "none".to_owned()
        }
        (_, None) => "unknown".to_owned(),
        (SettingName::Memory | SettingName::MemoryLimit, Some(SettingValue::Whole(bytes))) => {
            figure(*bytes as f64, Unit::Bytes)
        }
        (SettingName::CpuLimit, Some(SettingValue::Number(cpus))) => {
            format!("{} CPUs", number(*cpus))
        }
        (SettingName::Otp, Some(SettingValue::Words(words))) => match words.as_slice() {
            [otp, erts] => format!("{} (erts {})", plain(otp), plain(erts)),
            words => words.iter().map(|word| plain(word)).collect::<Vec<_>>().join(" "),
        },
        (_, Some(value)) => as_it_is(value),
    }
}

fn as_it_is(value: &SettingValue) -> String {
    let words = match value {
        SettingValue::Holds(holds) => if *holds { "yes" } else { "no" }.to_owned(),
        SettingValue::Whole(count) => count.to_string(),
        SettingValue::Number(value) => number(*value),
        SettingValue::Text(text) => plain(text),
        SettingValue::Words(words) => plain(&words.join(" ")),
    };
    if words.is_empty() { "none".to_owned() } else { words }
}

/// The figure of one side with its interval. A few runs have no interval; their range is shown
/// instead.
pub fn side(basis: Basis, estimate: &Estimate) -> String {
    format!("{} {}", figures::median(estimate), spread(basis, estimate))
}

/// The same without the unit.
pub fn side_alone(basis: Basis, estimate: &Estimate) -> String {
    format!("{} {}", estimate.figure(), spread(basis, estimate))
}

fn spread(basis: Basis, estimate: &Estimate) -> String {
    match basis {
        Basis::Blocks => estimate.interval(),
        Basis::Pairs => {
            let at_least = if estimate.max_at_least { ">= " } else { "" };
            format!("({} to {at_least}{})", number(estimate.min), number(estimate.max))
        }
    }
}

/// The meaning of the figures of a comparison.
pub fn note(basis: Basis) -> &'static str {
    match basis {
        Basis::Blocks => {
            "Medians over blocks with their intervals; of a case, less its control in the same \
             block."
        }
        Basis::Pairs => {
            "Medians over the runs with their range; of a case, less its control in the same \
             block. The change is that between the two runs of a pair."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::testing::{change, difference};

    #[test]
    fn a_headline_has_the_figures_that_decided() {
        let mut worse = change(ChangeState::Worse, Basis::Pairs);
        assert_eq!(
            headline(&worse, None),
            "Worse after the change: \"lost\" of case over control was 20 ms/s, then 900 ms/s: \
             +880 ms/s [870, 890], in 8 pairs of runs."
        );
        worse.state = ChangeState::Differs;
        assert!(headline(&worse, None).ends_with("or something else is the cause."));
        worse.state = ChangeState::NoDifferenceShown;
        assert!(
            headline(&worse, None)
                .starts_with("No difference above the margin of 1 ms/s was shown.")
        );
        worse.headline = ChangeHeadline::NotComparable;
        assert_eq!(headline(&worse, None), "These records cannot be compared.");
    }

    #[test]
    fn reasons_have_their_figures() {
        let change = change(ChangeState::Differs, Basis::Blocks);
        let said = |one: &ChangeReason| reason(one, &change, None);
        let few = ChangeReason::TooFewPairs { pairs: 3, needed: 6, judged: 1, confidence: 0.95 };
        assert_eq!(
            said(&few),
            "3 pairs of runs are too few to say worse or better: 6 are needed for 1 judged figure \
             at 95% confidence."
        );
        let turn = |side, records| Turn { side, records };
        let order = vec![turn(When::Before, 1), turn(When::After, 1)];
        assert!(
            said(&ChangeReason::NotInTurns { order }).contains("in the order before, after, so")
        );
        assert_eq!(
            said(&ChangeReason::Claim { error_rate: 0.05 }),
            "A difference is called \"differs\" if its whole interval is above the margin (1 \
             ms/s in lost). Over all judged figures together, such a claim is wrong in at most \
             5% of comparisons."
        );
        let moved = ChangeReason::ControlChanged {
            arm: "control".to_owned(),
            measure: "lost".to_owned(),
            shift: difference(20.0, 900.0).comparison,
        };
        assert!(said(&moved).starts_with("control changed too"), "{}", said(&moved));
        assert!(said(&moved).contains("Only the machine can change a control"));
        let kernel = Setting {
            what: SettingName::Kernel,
            arms: Vec::new(),
            before: Some("6.0".into()),
            after: Some("6.1".into()),
        };
        let across = Change { differs: vec![kernel], ..change.clone() };
        let moved = reason(&moved, &across, None);
        assert!(!moved.contains("Only the machine"), "{moved}");
        assert!(moved.ends_with("the figures do not contain this part of the effect."), "{moved}");
        let none = ChangeReason::NoInterval { arms: vec!["case".to_owned()] };
        assert!(said(&none).starts_with("For case there are too few blocks"));
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let change = change(ChangeState::NotComparable, Basis::Blocks);
        let obstacle = |one: &ChangeReason| reason(one, &change, None);
        let with = |record: &str, has: Option<&str>| RecordWith {
            record: record.to_owned(),
            has: has.map(str::to_owned),
        };
        let (record, other) = (with("a.json", Some("twin")), with("b\u{1b}.json", None));
        let held = ChangeReason::OtherControl { arm: "x".to_owned(), record, other };
        assert_eq!(
            obstacle(&held),
            "x is compared with twin in a.json, and with no control in b .json."
        );
        let by = ["busy", "host", "kernel"].map(str::to_owned).into();
        let said = obstacle(&ChangeReason::Confounded { by });
        assert_eq!(said, "The two sides differ in --busy, the machine and the kernel.");
        let kernel = Setting {
            what: SettingName::Kernel,
            arms: Vec::new(),
            before: Some("6.0".into()),
            after: Some("6.1".into()),
        };
        let mixed = ChangeReason::MixedSide {
            record: "a".to_owned(),
            other: "b".to_owned(),
            setting: kernel,
        };
        let said = obstacle(&mixed);
        assert_eq!(said, "a and b are on the same side but differ in kernel: 6.0 and 6.1.");
    }

    #[test]
    fn values_are_shown_as_what_they_are() {
        let of = |what, before, after| {
            let arms = vec!["case".to_owned()];
            setting(&Setting { what, arms, before, after }).join("; ")
        };
        let whole = |count| Some(SettingValue::Whole(count));
        assert_eq!(of(SettingName::Memory, whole(8 << 30), None), "memory of case; 8 GiB; unknown");
        let words = |words: &[&str]| {
            Some(SettingValue::Words(words.iter().map(|word| (*word).to_owned()).collect()))
        };
        assert_eq!(
            of(SettingName::Otp, words(&["25", "13.1"]), words(&["27", "15"])),
            "OTP of case; 25 (erts 13.1); 27 (erts 15)"
        );
        assert_eq!(
            of(SettingName::EmulatorFlags, words(&[]), words(&["+S", "2\u{1b}"])),
            "emulator flags of case; none; +S 2 "
        );
        assert_eq!(
            of(SettingName::CpuLimit, Some(SettingValue::Number(0.5)), None),
            "CPU quota around tailback of case; 0.5 CPUs; none"
        );
        assert_eq!(
            of(SettingName::VirtualMachine, Some(SettingValue::Holds(true)), None),
            "virtual machine of case; yes; unknown"
        );
    }

    #[test]
    fn a_step_names_a_command_that_a_shell_takes() {
        let mut change = change(ChangeState::NotComparable, Basis::Blocks);
        let explain = |record: &str| {
            let explain = ChangeSuggestion::Explain { record: record.to_owned() };
            suggestion(&explain, &change).command
        };
        assert_eq!(explain("a b.json").as_deref(), Some("tailback explain 'a b.json'"));
        assert_eq!(explain("-"), None);
        let across = ChangeSuggestion::Across { names: vec!["host".to_owned(), "busy".to_owned()] };
        let said = suggestion(&across, &change).what;
        assert!(said.starts_with("Make records that differ in one thing."), "{said}");
        assert!(said.ends_with("add --across host,busy."), "{said}");
        change.reasons = vec![ChangeReason::Confounded { by: vec!["busy".to_owned()] }];
        let said = suggestion(&across, &change).what;
        assert!(said.starts_with("Give all runs the same --busy. Or"), "{said}");
        let pairs = make_pairs(8, Purpose::Cause);
        assert!(pairs.what.contains("let tailback run 8 pairs of them"), "{pairs:?}");
        assert!(pairs.command.is_some_and(|command| command.ends_with("--pairs 8")));
    }
}
