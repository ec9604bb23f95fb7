//! Parameters: one struct per scenario. From it, clap and serde derive flags, help, man page,
//! completions, JSON, defaults, quick values, the factors of study files and the settings in a
//! record.
//!
//! A field declares everything in one place. Its comment is the help. Its type defines how a value
//! is written. Its attributes are the default, the quick default and the range:
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
//! [`Default`] parses an empty command line, and [`Params::quick`] parses one with `--quick`. Text
//! is parsed into a type where it enters the program. No later code looks up a setting by its
//! name.

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
