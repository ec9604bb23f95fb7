//! What a command shares with the rest of the program: made once by `main`, and passed.

use crate::guard::Guard;
use crate::machine;
use crate::output::Output;
use crate::signals::{ENDING, ENDING_SERVICE, Interruption};
use model::Machine;
use scenarios::erlang::Otps;
use std::cell::Cell;

/// One run of the program.
pub struct Session {
    /// Declares the whole command line.
    pub command_line: fn() -> clap::Command,
    /// Standard output.
    pub out: Output,
    /// What this run holds, and may leave behind.
    pub guard: Guard,
    /// The OTPs that were found so far.
    pub otps: Otps,
    interruption: Interruption,
    /// Whether it notices anything yet. A second handler would end the program at once.
    notices: Cell<bool>,
}

impl Session {
    /// A run with this command line. An OTP that is fetched says so on standard error, and stops
    /// when the user interrupts.
    pub fn new(command_line: fn() -> clap::Command) -> Self {
        let interruption = Interruption::default();
        let noticed = interruption.clone();
        let otps = Otps::new(crate::output::note, move || noticed.noticed());
        let (out, guard) = (Output::default(), Guard::default());
        Session { command_line, out, guard, otps, interruption, notices: Cell::new(false) }
    }

    /// Begins to notice that the user interrupts; until then a signal ends the program.
    pub fn interruption(&self) -> &Interruption {
        self.interruption_by(&ENDING)
    }

    /// The same for a service, which SIGHUP does not end.
    pub fn interruption_of_service(&self) -> &Interruption {
        self.interruption_by(&ENDING_SERVICE)
    }

    fn interruption_by(&self, signals: &[i32]) -> &Interruption {
        if !self.notices.replace(true) {
            self.interruption.watch(signals);
        }
        &self.interruption
    }

    /// This machine, and whether this run has it alone.
    pub fn machine(&self) -> Machine {
        machine::here(self.guard.hold())
    }
}
