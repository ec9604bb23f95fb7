//! What records do not have in common.

use super::sides::{Named, Obstacle, Sides};
use model::change::Setting;
use model::machine::Guest;
use model::{Kind, Machine, Meta, Record, Role, Value, Vm};
use std::collections::BTreeSet;

/// What may be named besides parameters as what is compared.
pub const ACROSS: [&str; 4] = [HOST, KERNEL, OTP, TAILBACK];

const HOST: &str = "host";
const KERNEL: &str = "kernel";
const OTP: &str = "otp";
const TAILBACK: &str = "tailback";

/// Memory of one machine is not the same number after each start; a difference of less is none.
const SAME_MEMORY: f64 = 0.05;

/// What a difference is to a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It follows from another difference, or hardly matters: told, and never in the way.
    Told,
    /// Something that is used: a kernel, an OTP, a file, a word. One of them may be what is compared.
    What,
    /// Something without which figures say nothing of each other: the machine, how much load there
    /// is, how long it is measured, the version of the tool.
    Ground,
}

/// Something that is not the same in two records.
struct Found {
    setting: Setting,
    part: Part,
    /// What `--across` has to name to allow it.
    thing: String,
}

/// Machine, VM, tool and parameters, where the first records of the sides differ.
pub(super) fn differences(sides: &Sides) -> Vec<Setting> {
    let Some(((before, _), (after, _))) = sides.first() else { return Vec::new() };
    between(before, after, sides.meta).into_iter().map(|found| found.setting).collect()
}

/// What makes the records incomparable, with what to do: records of one side that are not alike;
/// what differs between the sides and is no part of what is compared; and more than one thing that is
/// used, since then nobody knows which of them it was.
pub(super) fn in_the_way(sides: &Sides) -> Vec<Obstacle> {
    let of_sides =
        [sides.before, sides.after].into_iter().filter_map(|side| unlike(side, sides.meta));
    of_sides.chain(apart(sides)).collect()
}

/// A record that is not made as the first of its side.
fn unlike(side: &[Named], meta: Option<&Meta>) -> Option<Obstacle> {
    let ((first, first_name), others) = side.split_first()?;
    others.iter().find_map(|(other, name)| {
        let found = between(first, other, meta).into_iter().find(|f| f.part != Part::Told)?;
        let Setting { what, before, after } = found.setting;
        let why = format!(
            "{first_name} and {name} are of one side but differ in {what}: {before}, then {after}."
        );
        Some((why, Some("Name records of one set-up for each side.".to_owned())))
    })
}

fn apart(sides: &Sides) -> Option<Obstacle> {
    let ((before, _), (after, _)) = sides.first()?;
    let found = between(before, after, sides.meta);
    let things = |wanted: Part| -> BTreeSet<&str> {
        let of_part = found.iter().filter(|found| found.part == wanted);
        let things = of_part.map(|found| found.thing.as_str());
        things.filter(|thing| !sides.across.iter().any(|name| name == thing)).collect()
    };
    let (mut in_the_way, used) = (things(Part::Ground), things(Part::What));
    // One of them alone is what is compared, unless something else was named.
    let alone = used.len() == 1 && sides.across.is_empty() && in_the_way.is_empty();
    if !alone {
        in_the_way.extend(used);
    }
    if in_the_way.is_empty() {
        return None;
    }
    let names = in_the_way.iter().copied().collect::<Vec<&str>>();
    let words: Vec<String> = names.iter().map(|thing| in_words(thing)).collect();
    let next = format!(
        "Make records that differ in one thing; or, where all of that is what you compare, add --across {}.",
        sides.across.iter().map(String::as_str).chain(names).collect::<Vec<&str>>().join(",")
    );
    Some((format!("They differ in {}.", words.join(", ")), Some(next)))
}

fn in_words(thing: &str) -> String {
    match thing {
        HOST => "the machine".to_owned(),
        KERNEL => "the kernel".to_owned(),
        OTP => "the OTP release".to_owned(),
        TAILBACK => "the version of tailback".to_owned(),
        parameter => format!("--{parameter}"),
    }
}

/// All that differs, the machine first.
fn between(before: &Record, after: &Record, meta: Option<&Meta>) -> Vec<Found> {
    let mut list = List(Vec::new());
    machine(&mut list, &before.host, &after.host);
    kernel(&mut list, &before.host, &after.host);
    list.add(
        ("tailback", TAILBACK),
        Part::Ground,
        before.tool.version.clone(),
        after.tool.version.clone(),
    );
    vms(&mut list, before, after);
    for (name, was, is) in parameters(before, after) {
        let (thing, part) = part(meta, &name);
        list.add((&format!("--{name}"), thing.unwrap_or(&name)), part, was, is);
    }
    list.0
}

struct List(Vec<Found>);

impl List {
    fn add(&mut self, (what, thing): (&str, &str), part: Part, before: String, after: String) {
        if before != after {
            let setting = Setting { what: what.to_owned(), before, after };
            self.0.push(Found { setting, part, thing: thing.to_owned() });
        }
    }
}

/// What stays when another kernel is started. The name of a host is not recorded, so two machines of
/// one model pass for one.
fn machine(list: &mut List, was: &Machine, is: &Machine) {
    let mut add = |what: &str, of: &dyn Fn(&Machine) -> String| {
        list.add((what, HOST), Part::Ground, of(was), of(is));
    };
    add("architecture", &|host| host.arch.clone());
    add("CPUs", &|host| host.cpus.len().to_string());
    add("CPUs that may be used", &|host| host.allowed_cpus.len().to_string());
    add("CPU model", &|host| text(host.cpu_model.as_deref()));
    let (old, new) = (was.memory_bytes, is.memory_bytes);
    if !old.zip(new).is_some_and(|(old, new)| nearly(old, new)) {
        add("memory", &|host| amount(host.memory_bytes));
    }
    add("virtual machine", &|host| {
        text(host.virtualised.map(|yes| if yes { "yes" } else { "no" }))
    });
    let guest = |of: fn(&Guest) -> String| {
        move |host: &Machine| host.guest.as_ref().map_or_else(|| "no guest".to_owned(), of)
    };
    add("accelerator of the guest", &guest(|guest| guest.accelerator.clone()));
    add("clock of the guest", &guest(|guest| text(guest.clock.as_deref())));
    add("QEMU", &guest(|guest| guest.qemu.clone()));
    add("CPUs of the guest's host", &guest(|guest| guest.host_cpus.to_string()));
    add("kernel of the guest's host", &guest(|guest| guest.host_kernel.clone()));
    let limit = |host: &Machine| host.cgroup.as_ref().and_then(|group| group.cpu_limit);
    add("CPU quota around tailback", &|host| {
        text(limit(host).map(|cpus| cpus.to_string()).as_deref())
    });
    add("memory limit around tailback", &|host| {
        amount(host.cgroup.as_ref().and_then(|group| group.memory_limit_bytes))
    });
}

fn kernel(list: &mut List, was: &Machine, is: &Machine) {
    let mut add = |what: &str, part: Part, of: &dyn Fn(&Machine) -> String| {
        list.add((what, KERNEL), part, of(was), of(is));
    };
    add("kernel", Part::What, &|host| host.kernel.clone());
    add("kernel build", Part::What, &|host| host.kernel_build.clone());
    add("preemption", Part::What, &|host| text(host.preemption.as_deref()));
    add("HZ", Part::What, &|host| text(host.hz.map(|hz| hz.to_string()).as_deref()));
    add("clock source", Part::What, &|host| text(host.clocksource.as_deref()));
    add("distribution", Part::Told, &|host| text(host.distribution.as_deref()));
}

fn nearly(was: u64, is: u64) -> bool {
    was.abs_diff(is) as f64 <= SAME_MEMORY * was.max(is) as f64
}

fn text(word: Option<&str>) -> String {
    word.unwrap_or("unknown").to_owned()
}

fn amount(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{} MiB", bytes >> 20))
}

/// OTP releases and flags, arm by arm: each arm may have its own. Flags follow from parameters, which are
/// looked at by themselves.
fn vms(list: &mut List, before: &Record, after: &Record) {
    let otp = |vm: &Vm| format!("{} (erts {})", vm.otp, vm.erts);
    let flags = |vm: &Vm| match vm.flags.is_empty() {
        true => "none".to_owned(),
        false => vm.flags.join(" "),
    };
    let arms = before.plan.arms.iter().map(|arm| arm.id.as_str());
    let pairs: Vec<(&str, &Vm, &Vm)> =
        arms.filter_map(|arm| Some((arm, vm_of(before, arm)?, vm_of(after, arm)?))).collect();
    for (what, thing, part, of) in [
        ("OTP", OTP, Part::What, &otp as &dyn Fn(&Vm) -> String),
        ("emulator flags", "", Part::Told, &flags),
    ] {
        // Arms that changed alike are told together.
        let mut changed: Vec<(String, String, Vec<&str>)> = Vec::new();
        for (arm, was, is) in &pairs {
            let (was, is) = (of(was), of(is));
            match changed.iter_mut().find(|(w, i, _)| *w == was && *i == is) {
                Some((.., arms)) => arms.push(arm),
                None => changed.push((was, is, vec![arm])),
            }
        }
        for (was, is, arms) in changed {
            let of_all = arms.len() == pairs.len();
            let what =
                if of_all { what.to_owned() } else { format!("{what} of {}", arms.join(", ")) };
            list.add((&what, thing), part, was, is);
        }
    }
}

/// The VM of an arm. All trials of an arm have the same flags, so its first one speaks for it.
fn vm_of<'a>(record: &'a Record, arm: &str) -> Option<&'a Vm> {
    let mut of_arm = record.trials.iter().filter(|trial| trial.arm == arm);
    of_arm.find_map(|trial| trial.observation.vm.as_ref())
}

/// The parameters whose values differ in an arm of the same name, with the first such pair of values.
fn parameters(before: &Record, after: &Record) -> Vec<(String, String, String)> {
    let text = |value: Option<&Value>| value.map_or_else(|| "none".to_owned(), Value::to_string);
    let mut found: Vec<(String, String, String)> = Vec::new();
    // What is shown and not judged may be anything.
    for was in before.plan.arms.iter().filter(|arm| arm.role != Role::Baseline) {
        let Some(is) = after.plan.arms.iter().find(|arm| arm.id == was.id) else { continue };
        let names: BTreeSet<&String> = was.settings.0.keys().chain(is.settings.0.keys()).collect();
        for name in names {
            let (old, new) = (was.settings.0.get(name), is.settings.0.get(name));
            if old != new && !found.iter().any(|(known, ..)| known == name) {
                found.push((name.clone(), text(old), text(new)));
            }
        }
    }
    found
}

/// What a parameter is to a comparison, and the thing that it belongs to where that is not itself.
fn part(meta: Option<&Meta>, name: &str) -> (Option<&'static str>, Part) {
    match meta.and_then(|meta| meta.parameter(name)).map(|parameter| parameter.kind) {
        // Where it runs, on the same machine.
        Some(Kind::Cpu) => (None, Part::Told),
        // Which erl it is; its release is a difference of the same thing.
        Some(Kind::Programs) => (Some(OTP), Part::What),
        Some(Kind::Word | Kind::Flags) => (None, Part::What),
        Some(Kind::Folder | Kind::Amount) | None => (None, Part::Ground),
    }
}
