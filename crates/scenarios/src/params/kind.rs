//! The kind of a parameter's values, derived from the type of its flag.

use super::erl::Programs;
use super::open::{Auto, OrNone};
use super::values::{Counts, Cpu, Decimal, Folder, ProcFile, Quota, Size, Time};
use clap::Arg;
use model::ParameterKind;
use std::any::TypeId;

/// The kind of a flag's values, and the placeholder for a value in a usage line.
pub(super) fn of(arg: &Arg) -> (ParameterKind, &'static str) {
    let known = [
        (TypeId::of::<u32>(), ParameterKind::Amount, "N"),
        (TypeId::of::<i32>(), ParameterKind::Amount, "N"),
        (TypeId::of::<Auto<u32>>(), ParameterKind::Amount, "N"),
        (TypeId::of::<Counts>(), ParameterKind::Amount, "N,.."),
        (TypeId::of::<OrNone<Decimal>>(), ParameterKind::Amount, "X"),
        (TypeId::of::<Time>(), ParameterKind::Amount, "TIME"),
        (TypeId::of::<OrNone<Quota>>(), ParameterKind::Amount, "QUOTA/PERIOD"),
        (TypeId::of::<Size>(), ParameterKind::Amount, "SIZE"),
        (TypeId::of::<Auto<Cpu>>(), ParameterKind::Cpu, "CPU"),
        (TypeId::of::<ProcFile>(), ParameterKind::Word, "FILE"),
        (TypeId::of::<Programs>(), ParameterKind::Programs, "PATH,.."),
        (TypeId::of::<Auto<Folder>>(), ParameterKind::Folder, "FOLDER"),
    ];
    let id = arg.get_value_parser().type_id();
    match known.into_iter().find(|(known, ..)| id == *known) {
        Some((_, kind, name)) => (kind, name),
        None if !arg.get_possible_values().is_empty() => (ParameterKind::Word, "WORD"),
        // Emulator flags, or words that may contain some. To be safe, this also covers any type
        // that only one scenario has, because flags in a study file need trust.
        None => (ParameterKind::Flags, "FLAGS"),
    }
}
