//! Parameters: one struct a scenario, from which clap and serde make flags, help, man page,
//! completions, JSON, defaults, quick values, the factors of study files and the settings in a
//! record.
//!
//! A field says all there is to say, once: its comment is the help, its type says how a value is
//! written, its attributes are default, quick default and range:
//!
//! ```text
//! /// Scanners, and as many spinners
//! #[arg(
//!     long,
//!     default_value = "0,10",
//!     default_value_if("quick", "true", "10"),
//!     value_parser = counts(0..=10_000, 20)
//! )]
//! pub busy: Counts,
//! ```
//!
//! [`Default`] comes from an empty command line, and so does [`Params::quick`] with `--quick`. Text
//! is read into a type where it comes in; nothing behind that looks a setting up by its name.

mod choice;
mod describe;
mod erl;
mod kind;
mod list;
mod open;
mod read;
mod settings;
#[cfg(test)]
mod tests;
mod text;
mod values;

pub use choice::{OneOf, YesNo};
pub(crate) use choice::{choice, read as read_word, word};
pub use describe::Params;
pub(crate) use describe::{changed, defaults, flags, of};
pub use erl::{ErlFlags, FlagValue, Programs};
pub use list::List;
pub use open::{Auto, OrNone};
pub(crate) use read::{auto, between, counts, literal, or_none, whole, whole_ms, whole_us};
pub use values::{Counts, Cpu, Decimal, Folder, ProcFile, Quota, Size, Time};
