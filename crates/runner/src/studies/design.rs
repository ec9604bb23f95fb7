//! What a study file says, checked against the declarations of its scenario.

use super::error::StudyError;
use super::factors::{self, Factor, Fixed, Placed};
use super::prior_findings::prior_findings;
use super::read::{Reader, suggestion};
use model::factorial::PriorFinding;
use model::{Meta, Settings, units};
use scenarios::AnyScenario;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys of a study file.
const KEYS: &[&str] = &[
    "name", "about", "scenario", "control", "against", "blocks", "time", "wash-out", "seed",
    "fixed", "factors", "found", "guest", "output", "quick",
];

/// Keys of the file's table for quick runs.
const QUICK_KEYS: &[&str] = &["control", "blocks", "time", "fixed", "factors"];

/// Number of blocks if the file gives none; six is the fewest that give an interval.
const BLOCKS: Blocks = Blocks { least: 6, most: 24, until_settled: true };

/// The most blocks.
const MOST_BLOCKS: u64 = 1000;

/// Longest name of a study, in characters. It is used in file names too.
const LONGEST_NAME: usize = 60;

/// Longest description, in characters.
const LONGEST_ABOUT: usize = 2000;

/// A study as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// Its name: lower-case letters, digits and dashes.
    pub name: String,
    /// What it is about, in the file's own words.
    pub about: Option<String>,
    /// Id of its scenario.
    pub scenario: &'static str,
    /// Whether the settings for a quick run are used.
    pub quick: bool,
    /// SHA-256 of the file, in hexadecimal.
    pub content: String,
    /// Every parameter, with its value unless a factor sets it.
    pub settings: Settings,
    /// What is varied.
    pub factors: Vec<Factor>,
    /// Indices of the control's levels, one per factor.
    pub control: Vec<usize>,
    /// What the combinations are compared with.
    pub against: Against,
    /// How many blocks.
    pub blocks: Blocks,
    /// Time budget; no new block starts after it.
    pub time: Option<Duration>,
    /// Whether an unjudged trial of the control runs after each trial with the cause.
    pub wash_out: bool,
    /// Seed of every random choice; if absent, one is drawn.
    pub seed: Option<u64>,
    /// Earlier findings about its levels.
    pub found: Vec<PriorFinding>,
    /// The machine of its guests, if kernels are a factor.
    pub guest: GuestSize,
    /// Where its results go.
    pub output: Output,
}

/// What the combinations of a study are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// The control that the scenario makes for the control's levels: the same work without the
    /// cause.
    Scenario,
    /// The combination of the control's levels itself.
    Cell,
}

/// How many blocks are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Fewest blocks.
    pub least: u32,
    /// Most blocks.
    pub most: u32,
    /// Whether a settled verdict ends the study between these two numbers.
    pub until_settled: bool,
}

/// The machine that each guest gets. If the file leaves a value out, the default of `tailback vm`
/// applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestSize {
    /// Virtual CPUs.
    pub cpus: Option<u32>,
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// A folder that becomes its root file system; `host` means the one of this machine.
    pub root: Option<String>,
}

/// Where results go. Relative paths start from the working folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Folder of the record.
    pub folder: Option<PathBuf>,
    /// File of the report.
    pub report: Option<PathBuf>,
}

type Result<T> = std::result::Result<T, StudyError>;

impl Design {
    /// Reads a study file. `path` is for messages, and gives the name of a study that has none.
    ///
    /// Both the ordinary and the quick form are checked, whichever is asked for.
    ///
    /// # Errors
    /// If it is no TOML, or has an unknown key, parameter or value. The error has line and
    /// column.
    pub fn read(text: &str, path: &Path, quick: bool) -> Result<Self> {
        let reader = Reader { path, text };
        let root = reader.root()?;
        let [ordinary, quickly] = [false, true].map(|quick| Form { reader, root: &root, quick });
        let (ordinary, quickly) = (ordinary.design()?, quickly.design()?);
        Ok(if quick { quickly } else { ordinary })
    }

    /// Runs exactly this many blocks, whatever the file says.
    pub fn exactly(&mut self, blocks: u32) {
        self.blocks = Blocks { least: blocks, most: blocks, until_settled: false };
    }

    /// The scenario.
    pub fn scenario(&self) -> Option<&'static dyn AnyScenario> {
        scenarios::find(self.scenario)
    }
}

/// The ordinary or the quick form of a file.
struct Form<'a> {
    reader: Reader<'a>,
    root: &'a DeTable<'a>,
    quick: bool,
}

impl<'a> Form<'a> {
    fn design(&self) -> Result<Design> {
        let Form { reader, root, quick } = *self;
        reader.known(root, KEYS, "a study file")?;
        let meta = self.scenario()?;
        let (fixed, factors) = (self.fixed(meta)?, self.factors(meta)?);
        factors::check_contradictions(reader, &factors, &fixed)?;
        let mut settings = meta.defaults(quick);
        fixed.into_iter().for_each(|(name, (value, _))| settings.set(name, value));
        let factors: Vec<Factor> = factors.into_iter().map(|(factor, _)| factor).collect();
        Ok(Design {
            name: self.name()?,
            about: self.about()?,
            scenario: meta.id,
            quick,
            content: hexadecimal(&Sha256::digest(reader.text)),
            settings,
            control: self.control(meta, &factors)?,
            against: self.against()?,
            blocks: self.blocks()?,
            time: self.time()?,
            wash_out: self.wash_out()?,
            seed: root
                .get("seed")
                .map(|v| reader.whole(v, "seed", 0..=i64::MAX as u64))
                .transpose()?,
            found: self.found(meta, &factors)?,
            guest: self.guest()?,
            output: self.output()?,
            factors,
        })
    }

    /// The value of a key. In the quick form, the value of the quick table is preferred.
    fn own(&self, key: &str) -> Result<Option<&'a Spanned<DeValue<'a>>>> {
        let quick = self.quick_table()?.and_then(|table| table.get(key));
        Ok(quick.or_else(|| self.root.get(key)))
    }

    fn quick_table(&self) -> Result<Option<&'a DeTable<'a>>> {
        let Some(value) = self.root.get("quick").filter(|_| self.quick) else { return Ok(None) };
        let table = self.reader.table(value, "quick")?;
        self.reader.known(table, QUICK_KEYS, "[quick]")?;
        Ok(Some(table))
    }

    fn scenario(&self) -> Result<&'static Meta> {
        let ids = scenarios::ALL.iter().map(|scenario| scenario.meta().id);
        let value = self.root.get("scenario").ok_or_else(|| {
            let known = ids.clone().collect::<Vec<_>>().join(", ");
            self.reader.bad(0..0, format!("no key `scenario`; it is one of {known}"))
        })?;
        let id = self.reader.string(value, "scenario")?;
        scenarios::find(id).map(AnyScenario::meta).ok_or_else(|| {
            let why = format!("unknown scenario `{id}`{}", suggestion(id, ids));
            self.reader.bad(value.span(), why)
        })
    }

    fn name(&self) -> Result<String> {
        let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let Some(value) = self.root.get("name") else {
            let stem = self.reader.path.file_stem().unwrap_or_default().to_string_lossy();
            let name: String = stem.to_lowercase().chars().take(LONGEST_NAME).collect();
            let name = name.replace(|c| !sound(c), "-");
            return Ok(if name.is_empty() { "study".to_owned() } else { name });
        };
        let name = self.reader.string(value, "name")?;
        if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(sound) {
            return Ok(name.to_owned());
        }
        let why = format!("name has 1 to {LONGEST_NAME} lower-case letters, digits and dashes");
        Err(self.reader.bad(value.span(), why))
    }

    fn about(&self) -> Result<Option<String>> {
        let Some(value) = self.root.get("about") else { return Ok(None) };
        let about = self.reader.string(value, "about")?;
        if about.chars().count() > LONGEST_ABOUT {
            let why = format!("about has at most {LONGEST_ABOUT} characters");
            return Err(self.reader.bad(value.span(), why));
        }
        Ok(Some(about.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    fn fixed(&self, meta: &Meta) -> Result<Fixed> {
        let mut fixed = Fixed::new();
        let of_quick = self.quick_table()?.and_then(|table| table.get("fixed"));
        for (value, place) in [(self.root.get("fixed"), "fixed"), (of_quick, "quick.fixed")] {
            let Some(value) = value else { continue };
            let table = self.reader.table(value, place)?;
            fixed.extend(factors::fixed(self.reader, table, meta, place)?);
        }
        Ok(fixed)
    }

    fn factors(&self, meta: &Meta) -> Result<Vec<Placed>> {
        let reader = self.reader;
        let value = self.root.get("factors").ok_or_else(|| {
            reader.bad(0..0, "no table `factors`; a study varies something, as in busy = [0, 10]")
        })?;
        let mut found = factors::factors(reader, reader.table(value, "factors")?, meta, "factors")?;
        if found.is_empty() {
            return Err(reader.bad(value.span(), "factors has no factor; a study varies something"));
        }
        let Some(value) = self.quick_table()?.and_then(|table| table.get("factors")) else {
            return Ok(found);
        };
        let table = reader.table(value, "quick.factors")?;
        for (factor, at) in factors::factors(reader, table, meta, "quick.factors")? {
            let Some(place) = found.iter().position(|(other, _)| other.name == factor.name) else {
                let known = suggestion(&factor.name, found.iter().map(|(f, _)| f.name.as_str()));
                let why =
                    format!("the file has no factor `{}` to make smaller{known}", factor.name);
                return Err(reader.bad(at, why));
            };
            found[place] = (factor, at);
        }
        Ok(found)
    }

    /// The control's levels: those that the file names, else the first level of each factor.
    fn control(&self, meta: &Meta, factors: &[Factor]) -> Result<Vec<usize>> {
        let Some(value) = self.own("control")? else { return Ok(vec![0; factors.len()]) };
        let reader = self.reader;
        let table = reader.table(value, "control")?;
        let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        reader.known(table, &names, "control, which names a level of each factor")?;
        let level = |factor: &Factor| {
            let place = table.get(factor.name.as_str()).ok_or_else(|| {
                let why = format!("control names no level of factor `{}`", factor.name);
                reader.bad(value.span(), why)
            })?;
            let word = reader.word(place, "a level")?;
            let found = factor.levels.iter().position(|level| level.name == word);
            found.or_else(|| factor.level_of_value(meta, &word)).ok_or_else(|| {
                let known = suggestion(&word, factor.levels.iter().map(|l| l.name.as_str()));
                let why = format!("factor `{}` has no level `{word}`{known}", factor.name);
                reader.bad(place.span(), why)
            })
        };
        factors.iter().map(level).collect()
    }

    fn against(&self) -> Result<Against> {
        let Some(value) = self.root.get("against") else { return Ok(Against::Scenario) };
        match self.reader.string(value, "against")? {
            "scenario" => Ok(Against::Scenario),
            "cell" => Ok(Against::Cell),
            other => {
                let why = format!("against is `scenario` or `cell`, and not `{other}`");
                Err(self.reader.bad(value.span(), why))
            }
        }
    }

    fn blocks(&self) -> Result<Blocks> {
        let Some(value) = self.own("blocks")? else { return Ok(BLOCKS) };
        let number = |value, what: &str| {
            let number = self.reader.whole(value, what, 1..=MOST_BLOCKS)?;
            Ok(u32::try_from(number).unwrap_or(u32::MAX))
        };
        if let DeValue::Table(table) = value.get_ref() {
            self.reader.known(table, &["least", "most"], "blocks")?;
            let of = |key: &str| table.get(key).map(|value| number(value, key)).transpose();
            let least = of("least")?.unwrap_or(BLOCKS.least);
            let most = of("most")?.unwrap_or(BLOCKS.most.max(least));
            if most < least {
                let why = format!("blocks: least is {least}, and most is {most}");
                return Err(self.reader.bad(value.span(), why));
            }
            return Ok(Blocks { least, most, until_settled: true });
        }
        let what = "blocks (or a table with least and most)";
        number(value, what).map(|n| Blocks { least: n, most: n, until_settled: false })
    }

    fn time(&self) -> Result<Option<Duration>> {
        let Some(value) = self.own("time")? else { return Ok(None) };
        let text = self.reader.string(value, "time")?;
        let time = units::parse_duration(text);
        time.map(Some).map_err(|why| self.reader.bad(value.span(), format!("time: {why}")))
    }

    fn wash_out(&self) -> Result<bool> {
        let Some(value) = self.root.get("wash-out") else { return Ok(false) };
        let bad = || self.reader.bad(value.span(), "wash-out is true or false");
        value.get_ref().as_bool().ok_or_else(bad)
    }

    fn found(&self, meta: &Meta, factors: &[Factor]) -> Result<Vec<PriorFinding>> {
        let Some(value) = self.root.get("found") else { return Ok(Vec::new()) };
        let all = Form { quick: false, ..*self }.factors(meta)?;
        let all: Vec<Factor> = all.into_iter().map(|(factor, _)| factor).collect();
        prior_findings(self.reader, value, factors, &all)
    }

    fn guest(&self) -> Result<GuestSize> {
        let Some(value) = self.root.get("guest") else { return Ok(GuestSize::default()) };
        let table = self.reader.table(value, "guest")?;
        self.reader.known(table, &["cpus", "memory", "root"], "guest")?;
        let cpus = table.get("cpus").map(|value| self.reader.whole(value, "cpus", 1..=4096));
        let memory = table.get("memory").map(|value| {
            let text = self.reader.string(value, "memory")?;
            let size = units::parse_size(text);
            size.map_err(|why| self.reader.bad(value.span(), format!("memory: {why}")))
        });
        let cpus = cpus.transpose()?.and_then(|cpus| u32::try_from(cpus).ok());
        let root = table.get("root").map(|value| self.reader.string(value, "root"));
        let root = root.transpose()?.map(str::to_owned);
        Ok(GuestSize { cpus, memory: memory.transpose()?, root })
    }

    fn output(&self) -> Result<Output> {
        let Some(value) = self.root.get("output") else { return Ok(Output::default()) };
        let table = self.reader.table(value, "output")?;
        self.reader.known(table, &["folder", "report"], "[output]")?;
        let path = |key: &str| {
            let value = table.get(key);
            let path = value.map(|value| self.reader.string(value, key).map(PathBuf::from));
            path.transpose()
        };
        let report = path("report")?;
        let is_text = |path: &PathBuf| path.extension().is_some_and(|end| end == "txt");
        if let (Some(path), Some(value)) = (&report, table.get("report"))
            && !is_text(path)
        {
            let why = "a report is text; name a file that ends in .txt";
            return Err(self.reader.bad(value.span(), why));
        }
        Ok(Output { folder: path("folder")?, report })
    }
}

impl Factor {
    /// The level of a value that is written in another way: `0.3s` for `300ms`.
    fn level_of_value(&self, meta: &Meta, word: &str) -> Option<usize> {
        let value = meta.read(&self.name, word).ok()?.to_string();
        self.levels.iter().position(|level| level.name == value)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
