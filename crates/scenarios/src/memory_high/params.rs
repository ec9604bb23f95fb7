//! The parameters of `memory-high`.

use super::sentences::MemoryHighFact;
use crate::ScenarioError;
use crate::params::{self, List, Size, Time, YesNo, between, choice, whole_us};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The parameters of `memory-high`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct MemoryHighParams {
    /// Limit of the group. high slows it down; max kills its processes, and the worker is restarted
    #[arg(long, default_value = "high")]
    pub by: By,
    /// Value of the limit
    #[arg(long, default_value = "32MiB", value_parser = between(Size::mib(16)..=Size::tib(1)))]
    pub limit: Size,
    /// Memory that the worker keeps once it has filled it
    #[arg(long, default_value = "64MiB", value_parser = between(Size::mib(1)..=Size::tib(1)))]
    pub need: Size,
    /// Memory that each unit of work frees and fills again
    #[arg(long, default_value = "256KiB", value_parser = between(Size::kib(4)..=Size::mib(64)))]
    pub unit: Size,
    /// Least time between the starts of two units of work. 0s: no pause
    #[arg(long, default_value = "5ms", value_parser = whole_us(Time::ZERO..=Time::s(1)))]
    pub every: Time,
    /// Whether the group may swap
    #[arg(long, default_value = "no")]
    pub swap: YesNo,
    /// Fixes to try, separated by semicolons: memory-max, swap
    #[arg(
        long,
        default_value = "memory-max; swap",
        default_value_if("quick", "true", "memory-max")
    )]
    pub fixes: List<MemoryFix>,
    /// How long the worker runs in a trial
    #[arg(
        long,
        default_value = "800ms",
        default_value_if("quick", "true", "500ms"),
        value_parser = between(Time::ms(100)..=Time::s(3600))
    )]
    pub duration: Time,
}

/// A limit of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// `memory.high`
    High,
    /// `memory.max`
    Max,
}

/// A fix to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemoryFix {
    /// `memory.max` instead, and a restart
    MemoryMax,
    /// Swap for the group
    Swap,
}

choice!(By, MemoryFix);

impl Default for MemoryHighParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

impl MemoryHighParams {
    /// What the worker keeps, and so needs: whole units.
    pub fn kept(&self) -> Size {
        let need = self.need.get();
        Size::bytes(need.checked_next_multiple_of(self.unit.get()).unwrap_or(need))
    }

    /// A limit that the worker does not reach. It is the kept memory, a quarter of it, and 16 MiB
    /// for the program itself and the kernel's memory for it.
    pub fn enough(&self) -> Size {
        let kept = self.kept().get();
        Size::bytes(kept.saturating_add(kept / 4).saturating_add(16 << 20))
    }

    /// The same work in the same group, with a `memory.high` above its need.
    pub fn control(&self) -> Self {
        MemoryHighParams { by: By::High, limit: self.limit.max(self.enough()), ..self.clone() }
    }

    /// The same parameters with a fix.
    pub fn with(&self, fix: MemoryFix) -> Self {
        match fix {
            MemoryFix::MemoryMax => MemoryHighParams { by: By::Max, ..self.clone() },
            MemoryFix::Swap => MemoryHighParams { swap: YesNo::Yes, ..self.clone() },
        }
    }

    /// Refuses parameters that allow no trial.
    ///
    /// # Errors
    /// If the worker would keep less than two units.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let two = self.unit.get().saturating_mul(2);
        if self.need.get() < two {
            let (need, two) = ((&self.need).into(), (&Size::bytes(two)).into());
            return Err(ScenarioError::unusable(MemoryHighFact::FewUnits { need, two }));
        }
        Ok(())
    }
}
