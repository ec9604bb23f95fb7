//! `tailback load`: the load generators. Only tailback itself starts them.

use crate::command::{Failure, Run, Session};
pub use ::load::Load;

impl Run for Load {
    fn run(&self, _: &Session) -> Result<u8, Failure> {
        Ok(::load::run(self, &scenarios::generators()))
    }
}
