//! `tailback bisect`: finds the version or the commit where a stall begins or ends.

mod boots;
mod flags;
mod log;
mod show;
mod tree;
mod versions;

use super::matrix::{Asked as Names, Guests, Name, Way, inner};
use super::vm::session::Host;
use crate::command::{Failure, Run, Session};
use crate::exit;
use crate::output;
use crate::settings::draw_seed;
use ::bisect::{By, Event, Outcome, Rule, Source, search};
use boots::{Booted, Building};
pub use flags::Bisect;
use log::{Asked, Log};
use model::prose::figures;
use scenarios::AnyScenario;
use std::path::PathBuf;
use tree::{Commits, Restored, Tree, lost_choices};
use versions::Versions;

impl Run for Bisect {
    /// The exit code says whether one version was found.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let scenario = scenarios::find(&self.scenario)
            .ok_or_else(|| Failure::usage("no such scenario; see tailback list"))?;
        let loop_devices = inner(&self.scenario, &self.run_words(0))?.loop_devices;
        let interruption = session.interruption();
        let interrupted = || interruption.noticed();
        let host = Host::look(session.machine(), self.machine.clone(), 1, loop_devices)?;
        let look = |name: &str| host.kernel(name, &interrupted).map(|kernel| kernel.image);
        let way = Way::Guests(Guests { session, host: &host, interrupted: &interrupted });
        let asked = Asked {
            by_effect: self.by_effect,
            machine: format!("{:?}", self.machine),
            ..Asked::new(&self.scenario, self.run_words(0)[2..].to_vec(), &self.good, &self.bad)
        };
        match &self.build {
            None => {
                let checksum = |name: &str| host.checksum(name, &interrupted);
                self.of_list(session, scenario, way, asked, &checksum)
            }
            Some(command) => {
                let folder = std::env::current_dir()
                    .map_err(|error| Failure::usage(format!("the working folder: {error}")))?;
                let tree = Tree::open(&folder, &interrupted)?;
                let is_set = |name: &str| std::env::var_os(name).is_some();
                let lost = os::user::is_exposed().then(|| lost_choices(&is_set)).flatten();
                lost.iter().for_each(|line| output::note(line));
                self.of_tree(session, scenario, way, asked, &tree, command, &look)
            }
        }
    }

    fn load(&self) -> Option<String> {
        Some("bisect".to_owned())
    }
}

impl Bisect {
    fn of_list(
        &self,
        session: &Session,
        scenario: &'static dyn AnyScenario,
        way: Way,
        asked: Asked,
        checksum: &dyn Fn(&str) -> Result<Option<String>, Failure>,
    ) -> Result<u8, Failure> {
        let names = Names::kernels(&self.kernels)?;
        let all: Vec<String> = names.into_iter().map(|Name { asked, .. }| asked).collect();
        let mut versions = Versions::new(all.clone(), &self.good, &self.bad)?;
        self.check_boots(versions.steps()?)?;
        let asked = asked.with_versions(&all, checksum)?;
        let mut log = Log::open(&asked, self.log.as_deref(), self.fresh)?;
        self.search(session, scenario, way, &mut versions, &mut log, None)
    }

    #[allow(clippy::too_many_arguments, reason = "the inputs of the search, and the tree")]
    fn of_tree(
        &self,
        session: &Session,
        scenario: &'static dyn AnyScenario,
        way: Way,
        asked: Asked,
        tree: &Tree,
        command: &str,
        look: &dyn Fn(&str) -> Result<PathBuf, Failure>,
    ) -> Result<u8, Failure> {
        let good = tree.end("--good", &self.good)?;
        let bad = tree.end("--bad", &self.bad)?;
        let mut commits = Commits::new(tree, &good, &bad)?;
        self.check_boots(commits.steps()?)?;
        let kernel = self.kernel.clone().unwrap_or_else(|| ".".to_owned());
        let with = Some((tree.folder().to_owned(), format!("{command}\n{kernel}")));
        let asked = Asked { good, bad, tree: with, ..asked };
        let mut log = Log::open(&asked, self.log.as_deref(), self.fresh)?;
        // A bisection that was killed left the tree at a commit, without a branch.
        let was = match (tree.branch(), log.was()) {
            (None, Some(was)) => was.to_owned(),
            _ => tree.head()?,
        };
        log.add_was(&was)?;
        let restored = Restored::to(tree, &was);
        let building = Building { tree, command: command.to_owned(), kernel, look, built: None };
        let ended = self.search(session, scenario, way, &mut commits, &mut log, Some(building));
        if restored.now() {
            log.add_restored()?;
        }
        ended
    }

    fn search(
        &self,
        session: &Session,
        scenario: &'static dyn AnyScenario,
        way: Way,
        source: &mut dyn Source<Error = Failure>,
        log: &mut Log,
        building: Option<Building>,
    ) -> Result<u8, Failure> {
        let seed = self.seed.unwrap_or_else(draw_seed);
        let (inside, before) = (source.steps()?, log.boots());
        let gone_on = match before {
            0 => String::new(),
            boots => format!("; continues after {}", figures::plural(boots as u64, "boot")),
        };
        output::note(&format!(
            "bisect {}: boots both ends and about {} between them; seed {seed}{gone_on}",
            self.scenario,
            figures::plural(inside.into(), "version")
        ));
        let tree = building.as_ref().map(|building| building.tree);
        let shown = |version: &str| tree.map_or_else(|| version.to_owned(), |t| t.shown(version));
        let words = |seed| self.run_words(seed);
        let by_effect = self.by_effect;
        let started = log.guests();
        let mut boots = Booted {
            scenario,
            way,
            words: &words,
            seed,
            log,
            building,
            by_effect,
            lost: None,
            started,
        };
        let ran = self.ran(source, &mut boots, &shown);
        let outcome = ran.map_err(|failure| boots::interrupted(failure, boots.log))?;
        let code = show::outcome(session, &outcome, &shown, &boots.log.path, self);
        // An open bisection keeps its log: it may continue with more boots.
        if code != exit::BROKEN {
            boots.log.end()?;
        }
        Ok(code)
    }

    fn ran(
        &self,
        source: &mut dyn Source<Error = Failure>,
        boots: &mut Booted,
        shown: &dyn Fn(&str) -> String,
    ) -> Result<Outcome, Failure> {
        if self.by_effect {
            boots.find_threshold(&source.ends())?;
        }
        search(source, boots, self.rule(), &mut |event| tell(&event, shown))
    }

    /// Refuses a number of boots that is too small for an answer, before anything is written.
    fn check_boots(&self, inside: u32) -> Result<(), Failure> {
        let rule = self.rule();
        let fewest = Rule::fewest(rule.by, inside);
        if rule.most >= fewest {
            return Ok(());
        }
        let steps = figures::plural(inside.into(), "step");
        Err(Failure::usage(format!(
            "--boots {}: with about {steps} between the ends, a version needs at least {fewest} \
             boots",
            rule.most
        )))
    }

    fn rule(&self) -> Rule {
        let (by, most) = match self.by_effect {
            false => (By::Verdict, 12),
            true => (By::Effect, 40),
        };
        Rule { by, most: self.boots.unwrap_or(most) }
    }

    /// The words of `run SCENARIO`.
    fn run_words(&self, seed: u64) -> Vec<String> {
        let mut words = vec!["--seed".to_owned(), seed.to_string()];
        words.extend(self.quick.then(|| "--quick".to_owned()));
        for flag in ["--no-probe", "--no-fixes"] {
            let asked = |word: &String| word == flag || flag == "--no-probe" && word == "--probe";
            if !self.words.iter().any(asked) {
                words.push(flag.to_owned());
            }
        }
        words.extend(self.words.iter().cloned());
        words
    }
}

/// Prints the progress of the bisection.
fn tell(event: &Event, shown: &dyn Fn(&str) -> String) {
    match event {
        Event::Begins(version, left) => {
            let left = figures::plural((*left).into(), "version");
            output::note(&format!("bisect: {}; about {left} left", shown(version)));
        }
        Event::Booted(version, came) => {
            output::note(&format!("bisect: {}: {}", shown(version), show::boot(came)));
        }
        Event::Ends(_) => {}
    }
}
