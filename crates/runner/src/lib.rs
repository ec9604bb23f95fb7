//! Runs a study: arms in randomised blocks. The study is judged and saved after each block.

mod create;
mod events;
mod order;
mod probed;
pub mod save;
pub mod studies;
mod study;
mod undecided;
mod underway;

pub use create::{check_folder, create_text};
pub use events::{Event, Listener};
pub use order::{order_of_block, seed_of_trial};
pub use save::{
    Fill, SaveError, save, save_text, save_with, sweep, target, unfinished, would_lose,
};
pub use study::{End, ProbeWhen, Study};
pub use undecided::undecided;
pub use underway::Underway;
