//! The OTPs that nodes are started from. They are searched, fetched if they are missing, and kept
//! with the application that was compiled for each.

use super::refused::refused;
use crate::ScenarioError;
use beam::{App, Cache, Fetch, Otp};
use model::Need;
use model::problem::RefusedFlags;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An OTP and the application compiled for it.
#[derive(Debug, Clone)]
pub(crate) struct Vm {
    /// The word that selects the OTP: `debian:trixie`, or the path of its `erl`.
    pub word: String,
    /// The OTP.
    pub otp: Otp,
    /// The application.
    pub app: App,
}

impl Vm {
    /// The name of an arm with this OTP, if there are several OTPs.
    pub fn named(&self, id: &str) -> String {
        format!("{id}@otp{}", self.otp.release)
    }

    /// Flags that this OTP refuses, with the reason.
    pub fn refuses(&self, flags: impl ToString, why: String) -> RefusedFlags {
        RefusedFlags { otp: self.otp.release, flags: flags.to_string(), why }
    }
}

/// The OTPs that were found so far. Asking an OTP takes time, and every trial needs the answer.
pub struct Otps {
    known: RefCell<BTreeMap<Option<String>, Vm>>,
    note: fn(&str),
    interrupted: Box<dyn Fn() -> bool>,
}

impl Default for Otps {
    /// No known OTPs. A fetch prints nothing and cannot be interrupted.
    fn default() -> Self {
        Otps::new(|_| (), || false)
    }
}

impl Otps {
    /// No known OTPs. `note` gets a message if an OTP must be fetched. `interrupted` ends a fetch.
    pub fn new(note: fn(&str), interrupted: impl Fn() -> bool + 'static) -> Self {
        Otps { known: RefCell::default(), note, interrupted: Box::new(interrupted) }
    }

    /// The OTP for a word, with the application compiled for it.
    pub(crate) fn vm(&self, word: Option<&str>) -> Result<Vm, ScenarioError> {
        let key = word.map(str::to_owned);
        if let Some(vm) = self.known.borrow().get(&key) {
            return Ok(vm.clone());
        }
        let vm = prepared(word, self.find(word)?)?;
        // The OTP's own word, as in the settings of an arm, leads to the same OTP.
        let words = [key, Some(vm.word.clone())];
        self.known.borrow_mut().extend(words.map(|word| (word, vm.clone())));
        Ok(vm)
    }

    /// The OTP for a word, run as the caller, with an application that the caller compiled. What a
    /// user executes in a shell must not be compiled by another user.
    pub(super) fn vm_of_caller(&self, word: Option<&str>) -> Result<Vm, ScenarioError> {
        prepared(word, self.find(word)?.of_caller().map_err(refused)?)
    }

    /// The OTP for a word. It is fetched if it is missing.
    fn find(&self, word: Option<&str>) -> Result<Otp, ScenarioError> {
        let fetch = Fetch { note: &mut |line| (self.note)(line), interrupted: &self.interrupted };
        Otp::named(word, &Cache::of_user("otp"), fetch).map_err(refused)
    }
}

/// An OTP with the application compiled for it, and the word that selects it.
fn prepared(word: Option<&str>, otp: Otp) -> Result<Vm, ScenarioError> {
    let app = App::prepare(&otp, &cache()?).map_err(refused)?;
    let path = otp.erl.display().to_string();
    let word = word.filter(|_| otp.origin.is_some()).map_or(path, str::to_owned);
    Ok(Vm { word, otp, app })
}

/// The folder for compiled applications.
pub(super) fn cache() -> Result<PathBuf, ScenarioError> {
    let folder = os::folders::cache().map(|base| base.join("tailback/erlang"));
    folder.ok_or(ScenarioError::Missing(Need::CacheFolder))
}
