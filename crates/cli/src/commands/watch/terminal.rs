//! The terminal while it shows the live screen. It is always restored at the end.

use super::screen::{State, draw};
use crate::exit::Failure;
use model::Live;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::time::Duration;

/// The screen, and the choices of the user.
pub struct Terminal {
    terminal: DefaultTerminal,
    state: State,
}

impl Terminal {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// If it accepts no commands.
    pub fn enter() -> Result<Self, Failure> {
        let terminal = ratatui::try_init().map_err(|error| {
            Failure::need(format!("the terminal: {error}; use --for 30s, or --json"))
        })?;
        Ok(Terminal { terminal, state: State::default() })
    }

    /// Draws the screen, and handles a key if one comes within `time`. Returns whether to
    /// continue: false if the terminal has gone.
    pub fn show(&mut self, live: Option<&Live>, time: Duration) -> bool {
        if self.terminal.draw(|frame| draw(frame, live, &self.state)).is_err() {
            return false;
        }
        match event::poll(time) {
            Ok(false) => true,
            Ok(true) => match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    self.state.key(key, live)
                }
                Ok(_) => true,
                Err(_) => false,
            },
            Err(_) => false,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
