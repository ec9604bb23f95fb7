//! The trait of parameter structs, and everything that is derived from their flags.

use super::{kind, settings};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, Command};
use model::{Parameter, Parameters, Plan, Settings, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

/// The flag of a quick run. A parameter may have another default for it.
const QUICK: &str = "quick";

/// Heading of the parameters in the help.
const HEADING: &str = "Parameters";

/// The parameters of a scenario.
pub trait Params:
    clap::Args
    + Serialize
    + DeserializeOwned
    + Clone
    + PartialEq
    + Debug
    + Default
    + Send
    + Sync
    + 'static
{
    /// The defaults of a quick run.
    fn quick() -> Self {
        defaults(true)
    }

    /// Reads the settings of an arm, in the form of a record. A setting that an older record lacks
    /// gets the current default.
    ///
    /// # Errors
    /// If a value is not valid for this scenario: the record was changed, or a newer version wrote
    /// it.
    fn read(settings: &Settings) -> Result<Self, String> {
        settings::read(settings)
    }

    /// The same, without the reason for an error.
    fn of(settings: &Settings) -> Option<Self> {
        Self::read(settings).ok()
    }

    /// The parameters of the first case of a plan.
    fn of_case(plan: &Plan) -> Option<Self> {
        Self::of(&plan.case()?.settings)
    }

    /// The parameters in the form of a record.
    fn settings(&self) -> Settings {
        settings::of(self)
    }
}

impl<P> Params for P where
    P: clap::Args
        + Serialize
        + DeserializeOwned
        + Clone
        + PartialEq
        + Debug
        + Default
        + Send
        + Sync
        + 'static
{
}

/// The settings of an arm with a change. None if they are not settings of this scenario.
pub(crate) fn changed<P: Params>(
    settings: &Settings,
    change: impl FnOnce(&mut P),
) -> Option<Settings> {
    let mut params = P::of(settings)?;
    change(&mut params);
    Some(params.settings())
}

/// Everything that is derived from the declaration of parameters.
struct Described<P> {
    /// The flags of the parameters and of a quick run, used to parse values.
    command: Command,
    /// All parameters.
    list: Vec<Parameter>,
    /// The defaults.
    ordinary: P,
    /// The defaults of a quick run.
    quick: P,
    /// The defaults as declared, by name: ordinary and quick.
    declared: BTreeMap<&'static str, [String; 2]>,
}

/// The parameters of a scenario, for its declaration.
pub(crate) const fn of<P: Params>() -> Parameters {
    Parameters { all: list::<P>, read: read::<P> }
}

/// The defaults of a quick or an ordinary run.
pub(crate) fn defaults<P: Params>(quick: bool) -> P {
    let described = described::<P>();
    if quick { described.quick.clone() } else { described.ordinary.clone() }
}

fn list<P: Params>() -> &'static [Parameter] {
    &described::<P>().list
}

/// Adds the flags of the parameters to a command without other flags.
pub(crate) fn flags<P: Params>(command: Command) -> Command {
    let described = described::<P>();
    P::augment_args(command).mut_args(|arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let defaults = match described.declared.get(name(&arg)) {
            Some([default, quick]) if default != quick => {
                format!("default: {default}; quick: {quick}")
            }
            Some([default, _]) => format!("default: {default}"),
            None => return arg,
        };
        let (_, value) = kind::of(&arg);
        arg.help(format!("{help} [{defaults}]"))
            .hide_default_value(true)
            .value_name(value)
            // So `--busy -1` gets the error message of its own range.
            .allow_hyphen_values(true)
            .help_heading(HEADING)
    })
}

/// Parses a value in the form of the command line.
fn read<P: Params>(name: &str, text: &str) -> Result<Value, String> {
    let described = described::<P>();
    if described.list.iter().all(|parameter| parameter.name != name) {
        return Err(format!("there is no parameter `{name}`"));
    }
    let matches =
        parsed(&described.command, &[&format!("--{name}={text}")]).map_err(|e| why(&e))?;
    let params = P::from_arg_matches(&matches).map_err(|e| why(&e))?;
    params.settings().0.remove(name).ok_or_else(|| format!("`{name}` is not in a record"))
}

/// What is wrong with a value, without the flag, which clap would put before it.
fn why(error: &clap::Error) -> String {
    if let Some(source) = error.source() {
        return source.to_string();
    }
    // For a choice, clap itself lists the words, but in two lines.
    match (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue)) {
        (Some(ContextValue::String(value)), Some(ContextValue::Strings(words))) => {
            format!("`{value}` is none of {}", words.join(", "))
        }
        _ => error.to_string().trim().to_owned(),
    }
}

fn parsed(command: &Command, words: &[&str]) -> Result<ArgMatches, clap::Error> {
    command.clone().try_get_matches_from(words)
}

fn name(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_default()
}

/// Derives everything from a declaration, once for each scenario.
///
/// # Panics
/// If the declaration contradicts itself. A test of every scenario rules this out.
fn described<P: Params>() -> &'static Described<P> {
    // A static: the result depends on nothing but the type `P`. Computing it builds and parses a
    // command of clap, and every reading of an arm's settings needs the defaults in it.
    static ALL: Mutex<BTreeMap<TypeId, &'static (dyn Any + Send + Sync)>> =
        Mutex::new(BTreeMap::new());
    let all = || ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let id = TypeId::of::<P>();
    let known = all().get(&id).copied();
    if let Some(described) = known.and_then(|known| known.downcast_ref()) {
        return described;
    }
    // There is one per scenario, and it exists as long as the program.
    let described: &'static Described<P> = Box::leak(Box::new(Described::work_out()));
    all().insert(id, described);
    described
}

impl<P: Params> Described<P> {
    fn work_out() -> Self {
        let quick = Arg::new(QUICK).long(QUICK).action(ArgAction::SetTrue);
        let flags: &'static Command =
            Box::leak(Box::new(P::augment_args(Command::new("tailback"))));
        let command = flags.clone().no_binary_name(true).disable_help_flag(true).arg(quick);
        let lines: [&[&str]; 2] = [&[], &["--quick"]];
        let [(ordinary, raw), (quick, raw_quick)] =
            lines.map(|words| Self::of_words(&command, words));
        let values = [settings::of(&ordinary), settings::of(&quick)];
        let list = flags.get_arguments().map(|arg| parameter(arg, &values)).collect();
        let both =
            |arg: &'static Arg| (name(arg), [as_declared(&raw, arg), as_declared(&raw_quick, arg)]);
        let declared = flags.get_arguments().map(both).collect();
        Described { command, list, ordinary, quick, declared }
    }

    fn of_words(command: &Command, words: &[&str]) -> (P, ArgMatches) {
        let matches = parsed(command, words);
        let read = matches.and_then(|matches| Ok((P::from_arg_matches(&matches)?, matches)));
        read.unwrap_or_else(|error| panic!("a default is none of its own values: {error}"))
    }
}

/// The declared text of a default. `matches` decides whether it is the ordinary or the quick one.
fn as_declared(matches: &ArgMatches, arg: &Arg) -> String {
    let raw = matches.get_raw(arg.get_id().as_str()).into_iter().flatten().next();
    raw.map(|raw| raw.to_string_lossy().into_owned()).unwrap_or_default()
}

fn parameter(arg: &'static Arg, [ordinary, quick]: &[Settings; 2]) -> Parameter {
    let name = name(arg);
    let of = |settings: &Settings| match settings.0.get(name) {
        Some(value) => value.clone(),
        None => panic!("--{name} has another name in a record"),
    };
    let (kind, _) = kind::of(arg);
    let former = arg.get_all_aliases().and_then(|names| names.first().copied());
    Parameter { name, former, kind, default: of(ordinary), quick: of(quick) }
}
