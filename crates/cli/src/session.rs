//! The state that commands share with the rest of the program. `main` makes it once and passes
//! it.

use crate::guard::Guard;
use crate::machine;
use crate::output::Output;
use crate::signals::{ENDING, ENDING_SERVICE, Interruption};
use model::Machine;
use scenarios::erlang::Otps;
use std::cell::Cell;

/// One run of the program.
pub struct Session {
    /// Returns the declaration of the whole command line.
    pub command_line: fn() -> clap::Command,
    /// Standard output.
    pub out: Output,
    /// What this run holds on the machine, and may leave behind.
    pub guard: Guard,
    /// The OTPs found so far.
    pub otps: Otps,
    interruption: Interruption,
    /// Whether signals are handled already. A second handler would end the program at once.
    notices: Cell<bool>,
}

impl Session {
    /// A run with this command line. Fetching an OTP is reported on standard error, and stops if
    /// the user interrupts.
    pub fn new(command_line: fn() -> clap::Command) -> Self {
        let interruption = Interruption::default();
        let noticed = interruption.clone();
        let otps = Otps::new(crate::output::note, move || noticed.noticed());
        let (out, guard) = (Output::default(), Guard::default());
        Session { command_line, out, guard, otps, interruption, notices: Cell::new(false) }
    }

    /// Starts to notice interruptions. Before that, a signal ends the program.
    pub fn interruption(&self) -> &Interruption {
        self.interruption_by(&ENDING)
    }

    /// The same for a service, which ignores SIGHUP as a request to end.
    pub fn interruption_of_service(&self) -> &Interruption {
        self.interruption_by(&ENDING_SERVICE)
    }

    fn interruption_by(&self, signals: &[i32]) -> &Interruption {
        if !self.notices.replace(true) {
            self.interruption.watch(signals);
        }
        &self.interruption
    }

    /// The facts about this machine, with whether this run has it alone.
    pub fn machine(&self) -> Machine {
        machine::here(self.guard.hold())
    }
}
