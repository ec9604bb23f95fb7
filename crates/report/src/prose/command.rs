//! Commands of tailback, built from the runs in a record.

use model::machine::{GuestOf, ROOT_OF_HOST};
use model::suggestion::Command;
use model::{Meta, Parameter, Run, Settings, Value};
use os::quote;

/// The guest in which a command is to run.
#[derive(Debug, Clone, Copy)]
pub struct InGuest<'a> {
    /// Its kernel, its CPUs and its root.
    pub guest: &'a GuestOf,
    /// The path of its program, if the user named one.
    pub program: Option<&'a str>,
}

/// The parameters of `tailback sim` that are taken from a record.
const OF_SIM: [&str; 7] = ["cpus", "threads", "quota", "period", "fast", "sleep", "kernel"];

/// The command line of a run. None if this version does not know the scenario.
///
/// It contains only what the scenario declares: parameters that differ from their defaults, with
/// values that they accept. So a record cannot put words of its own into a command.
pub fn line(run: &Run, meta: Option<&Meta>) -> Option<String> {
    words(run, meta).map(|words| format!("tailback {words}"))
}

/// The same command, in a guest like the one of the record, since another kernel or program would
/// give other figures. None if the name of its kernel or of its root has no meaning on another
/// machine.
pub fn line_in(guest: Option<InGuest>, run: &Run, meta: Option<&Meta>) -> Option<String> {
    let words = words(run, meta)?;
    match guest.filter(|_| run.command == Command::Run) {
        None => Some(format!("tailback {words}")),
        Some(InGuest { guest: GuestOf { kernel, cpus, root }, program }) => {
            let root = match root.as_deref() {
                None => "",
                Some(ROOT_OF_HOST) => " --root host",
                Some(_) => return None,
            };
            let program = program.map(|path| format!(" --program {}", quote::word(path)));
            let program = program.unwrap_or_default();
            let kernel = known(kernel)?;
            Some(format!("tailback vm --kernel {kernel} --cpus {cpus}{root}{program} -- {words}"))
        }
    }
}

/// The name, if it is the name of a Debian kernel or of a kernel from `make kernels`.
fn known(name: &str) -> Option<&str> {
    let rest = ["debian:", "built:"].iter().find_map(|kind| name.strip_prefix(kind))?;
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    (!rest.is_empty() && rest.chars().all(sound)).then_some(name)
}

fn words(run: &Run, meta: Option<&Meta>) -> Option<String> {
    let meta = meta.filter(|meta| meta.id == run.scenario)?;
    let (name, words) = match run.command {
        Command::Run => ("run", of_run(&run.parameters, meta)),
        Command::Sim => ("sim", of_sim(&run.parameters)),
    };
    let words = words.iter().map(|word| quote::word(word));
    let all = [name.to_owned(), meta.id.to_owned()].into_iter().chain(words);
    Some(all.collect::<Vec<_>>().join(" "))
}

fn of_run(parameters: &Settings, meta: &Meta) -> Vec<String> {
    let words = |parameter: &Parameter| {
        let name = parameter.name;
        let text = parameters.0.get(name)?.to_string();
        let value = meta.read(name, &text).ok().filter(|value| *value != parameter.default)?;
        Some([format!("--{name}"), value.to_string()])
    };
    (meta.parameters.all)().iter().filter_map(words).flatten().collect()
}

fn of_sim(parameters: &Settings) -> Vec<String> {
    let words = |name: &&str| {
        let value = parameters.0.get(*name).filter(|value| is_sound(value))?;
        Some([format!("--{name}"), value.to_string()])
    };
    OF_SIM.iter().filter_map(words).flatten().collect()
}

/// Whether the value is a number, a duration or a version.
fn is_sound(value: &Value) -> bool {
    match value {
        Value::Number(number) => *number >= 0,
        Value::Numbers(_) => false,
        Value::Text(text) => {
            let starts = text.starts_with(|c: char| c.is_ascii_digit());
            starts && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::META;

    fn run(command: Command, parameters: &[(&str, Value)]) -> Run {
        let mut settings = Settings::default();
        for (name, value) in parameters {
            settings.set(name, value.clone());
        }
        Run { command, scenario: META.id.to_owned(), parameters: settings }
    }

    #[test]
    fn what_differs_from_the_defaults_is_written_and_nothing_else() {
        let text = |text: &str| Value::Text(text.to_owned());
        let line = |parameters: &[(&str, Value)]| {
            super::line(&run(Command::Run, parameters), Some(&META)).unwrap()
        };
        assert_eq!(line(&[("busy", Value::Numbers(vec![0, 10]))]), "tailback run some-stall");
        assert_eq!(
            line(&[("busy", Value::Numbers(vec![1])), ("flags", text("+sfwi 10"))]),
            "tailback run some-stall --busy 1 --flags '+sfwi 10'"
        );
        assert_eq!(line(&[("evil; rm", text("x"))]), "tailback run some-stall");
        assert_eq!(line(&[("busy", text("$(reboot)"))]), "tailback run some-stall");
        assert_eq!(
            line(&[("flags", text("a'; reboot #"))]),
            "tailback run some-stall --flags \"a'; reboot #\""
        );
        assert_eq!(super::line(&run(Command::Run, &[]), None), None);
        let other = Run { scenario: "other".to_owned(), ..run(Command::Run, &[]) };
        assert_eq!(super::line(&other, Some(&META)), None);
    }

    #[test]
    fn what_came_from_a_guest_is_run_in_one() {
        let with = |kernel: &str, root: Option<&str>, program: Option<&str>| {
            let root = root.map(str::to_owned);
            let guest = GuestOf { kernel: kernel.to_owned(), cpus: 8, root };
            line_in(
                Some(InGuest { guest: &guest, program }),
                &run(Command::Run, &[("busy", Value::Numbers(vec![1]))]),
                Some(&META),
            )
        };
        let in_root = |kernel: &str, root: Option<&str>| with(kernel, root, None);
        let of = |kernel: &str| in_root(kernel, None);
        let line = "tailback vm --kernel debian:6.12 --cpus 8 -- run some-stall --busy 1";
        assert_eq!(of("debian:6.12").as_deref(), Some(line));
        for bad in ["/tmp/vmlinuz", "debian:", "debian:6; reboot", "debian:$(x)", "debian:../x"] {
            assert_eq!(of(bad), None, "{bad}");
        }
        let line =
            "tailback vm --kernel debian:6.12 --cpus 8 --root host -- run some-stall --busy 1";
        assert_eq!(in_root("debian:6.12", Some("host")).as_deref(), Some(line));
        assert_eq!(in_root("debian:6.12", Some("/tmp/x")), None);
        let line = "tailback vm --kernel debian:6.12 --cpus 8 --program '/a b/$(x)' -- run \
                    some-stall --busy 1";
        assert_eq!(with("debian:6.12", None, Some("/a b/$(x)")).as_deref(), Some(line));
    }

    #[test]
    fn a_simulation_has_its_own_parameters() {
        let text = |text: &str| Value::Text(text.to_owned());
        let parameters =
            [("cpus", Value::Number(64)), ("kernel", text("5.7")), ("quota", text("-x $(y)"))];
        let line = super::line(&run(Command::Sim, &parameters), Some(&META)).unwrap();
        assert_eq!(line, "tailback sim some-stall --cpus 64 --kernel 5.7");
    }
}
