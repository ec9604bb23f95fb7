//! Factors, their levels, and parameters that are fixed.

use super::error::StudyError;
use super::read::{Entry, Reader, suggestion};
use model::{Meta, Parameter, Settings, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The factor whose levels are kernels, each in a guest of its own.
pub(super) const KERNEL: &str = "kernel";

/// Longest name of a factor or of a level, in characters.
const LONGEST_NAME: usize = 200;

/// Something that is varied.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Its name: the name of a parameter, or one that the file chose.
    pub name: String,
    /// Its levels, in the order of the file.
    pub levels: Vec<Level>,
}

/// One setting of a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Its name: the parameter's value, or one that the file chose.
    pub name: String,
    /// The parameters that it sets.
    pub settings: Settings,
}

/// Parameters that keep one value, with the position of each in the file.
pub(super) type Fixed = BTreeMap<&'static str, (Value, Range<usize>)>;

/// A factor, with the position of its name in the file.
pub(super) type Placed = (Factor, Range<usize>);

type Result<T> = std::result::Result<T, StudyError>;

/// Reads parameters that keep one value.
pub(super) fn fixed(reader: Reader, table: &DeTable, meta: &Meta, place: &str) -> Result<Fixed> {
    let mut fixed = Fixed::new();
    for entry in reader.entries(table) {
        let name = parameter(reader, &entry, meta, place)?.name;
        fixed.insert(name, (value(reader, entry.value, meta, name)?, entry.at));
    }
    Ok(fixed)
}

/// Reads factors.
pub(super) fn factors(
    reader: Reader,
    table: &DeTable,
    meta: &Meta,
    place: &str,
) -> Result<Vec<Placed>> {
    let mut factors = Vec::new();
    for entry in reader.entries(table) {
        check_name(reader, &entry, "a factor")?;
        let levels = match entry.value.get_ref() {
            DeValue::Array(array) if entry.key == KERNEL && meta.parameter(KERNEL).is_none() => {
                let values: Vec<&Spanned<DeValue>> = array.iter().collect();
                kernels_of(reader, &values)?
            }
            DeValue::Array(array) => {
                let name = parameter(reader, &entry, meta, place)?.name;
                let values: Vec<&Spanned<DeValue>> = array.iter().collect();
                values_of(reader, meta, name, &values)?
            }
            DeValue::Table(table) => named_levels(reader, entry.key, table, meta)?,
            other => {
                let why = format!(
                    "factor `{}` is a list of values of the parameter of that name, or a table of \
                     named levels, but this is of type {}",
                    entry.key,
                    other.type_str()
                );
                return Err(reader.bad(entry.value.span(), why));
            }
        };
        if levels.is_empty() {
            let why = format!("factor `{}` has no level; give it two or more", entry.key);
            return Err(reader.bad(entry.value.span(), why));
        }
        factors.push((Factor { name: entry.key.to_owned(), levels }, entry.at));
    }
    Ok(factors)
}

/// The levels of a factor that varies one parameter.
fn values_of(
    reader: Reader,
    meta: &Meta,
    parameter: &str,
    values: &[&Spanned<DeValue>],
) -> Result<Vec<Level>> {
    let mut levels: Vec<Level> = Vec::new();
    let mut names = BTreeSet::new();
    for place in values {
        let value = value(reader, place, meta, parameter)?;
        let name = value.to_string();
        if !names.insert(name.clone()) {
            let why = format!(
                "factor `{parameter}` has level `{name}` twice; a level that is to be held against \
                 itself takes names of its own"
            );
            return Err(reader.bad(place.span(), why));
        }
        let settings = [(parameter.to_owned(), value)].into_iter().collect();
        levels.push(Level { name, settings });
    }
    Ok(levels)
}

/// The levels of a factor of kernels. None of them sets a parameter.
fn kernels_of(reader: Reader, values: &[&Spanned<DeValue>]) -> Result<Vec<Level>> {
    let mut levels: Vec<Level> = Vec::new();
    for place in values {
        let name = reader.string(place, "a kernel")?;
        if levels.iter().any(|level| level.name == name) {
            return Err(reader.bad(place.span(), format!("kernel `{name}` is there twice")));
        }
        levels.push(Level { name: name.to_owned(), settings: Settings::default() });
    }
    Ok(levels)
}

/// The levels of a factor whose levels the file names itself.
fn named_levels(reader: Reader, factor: &str, table: &DeTable, meta: &Meta) -> Result<Vec<Level>> {
    let mut levels = Vec::new();
    for entry in reader.entries(table) {
        check_name(reader, &entry, "a level")?;
        let place = format!("level `{}` of factor `{factor}`", entry.key);
        let fixed = fixed(reader, reader.table(entry.value, &place)?, meta, &place)?;
        let settings = fixed.into_iter().map(|(name, (value, _))| (name.to_owned(), value));
        levels.push(Level { name: entry.key.to_owned(), settings: settings.collect() });
    }
    Ok(levels)
}

fn parameter(
    reader: Reader,
    entry: &Entry,
    meta: &Meta,
    place: &str,
) -> Result<&'static Parameter> {
    meta.parameter(entry.key).ok_or_else(|| {
        let names = (meta.parameters.all)().iter().map(|parameter| parameter.name);
        let known = suggestion(entry.key, names);
        let why = format!("{place}: {} has no parameter `{}`{known}", meta.id, entry.key);
        reader.bad(entry.at.clone(), why)
    })
}

fn value(reader: Reader, place: &Spanned<DeValue>, meta: &Meta, name: &str) -> Result<Value> {
    let word = reader.word(place, &format!("a value of `{name}`"))?;
    meta.read(name, &word).map_err(|why| reader.bad(place.span(), format!("`{name}`: {why}")))
}

fn check_name(reader: Reader, entry: &Entry, what: &str) -> Result<()> {
    let length = entry.key.chars().count();
    if (1..=LONGEST_NAME).contains(&length) && !entry.key.chars().any(os::terminal::steers) {
        return Ok(());
    }
    let why =
        format!("the name of {what} has 1 to {LONGEST_NAME} characters, none of them control");
    Err(reader.bad(entry.at.clone(), why))
}

/// Refuses a parameter that is both fixed and varied, or that two factors set.
pub(super) fn check_contradictions(
    reader: Reader,
    factors: &[Placed],
    fixed: &Fixed,
) -> Result<()> {
    let mut setters: BTreeMap<&str, &str> = BTreeMap::new();
    for (factor, at) in factors {
        let of_levels = factor.levels.iter().flat_map(|level| level.settings.0.keys());
        for name in of_levels.map(String::as_str).collect::<BTreeSet<&str>>() {
            if fixed.contains_key(name) {
                let why = format!(
                    "factor `{}` varies parameter `{name}`, which is fixed too; take it out of one",
                    factor.name
                );
                return Err(reader.bad(at.clone(), why));
            }
            if let Some(other) = setters.insert(name, &factor.name) {
                let why = format!(
                    "factors `{other}` and `{}` both set parameter `{name}`; let one of them",
                    factor.name
                );
                return Err(reader.bad(at.clone(), why));
            }
        }
    }
    Ok(())
}
