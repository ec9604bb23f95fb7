//! What differs between records.

use super::sides::{Named, Obstacle, Sides};
use model::change::across::{HOST, KERNEL, OTP, TAILBACK};
use model::change::{ChangeReason, ChangeSuggestion, Setting, SettingName, SettingValue};
use model::machine::Guest;
use model::{Judged, Machine, Meta, ParameterKind, Role, Value, Vm};
use std::collections::BTreeSet;

/// One machine does not report exactly the same memory after each boot. A smaller relative
/// difference than this does not count.
const SAME_MEMORY: f64 = 0.05;

/// The flag by which a control runs, unjudged, after each trial with the cause. What trials leave
/// behind changes the figures only without it.
const WASH_OUT: &str = "wash-out";

/// What a difference means for a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It follows from another difference, or hardly matters. It is reported and never prevents a
    /// comparison.
    Told,
    /// A difference in something that is used: a kernel, an OTP, a file, a word. One of these may
    /// be what is compared.
    What,
    /// A difference that makes figures incomparable: the machine, the amount of load, the length
    /// of a measurement, the version of the tool.
    Ground,
}

/// Something that differs between two records.
struct Found {
    setting: Setting,
    part: Part,
    /// The word by which `--across` allows it.
    thing: String,
}

/// Differences in machine, VM, tool and parameters between the first records of the sides. Empty
/// for different scenarios, because these have other parameters.
pub(super) fn differences(sides: &Sides) -> Vec<Setting> {
    let Some(((before, _), (after, _))) = sides.first() else { return Vec::new() };
    if before.scenario != after.scenario {
        return Vec::new();
    }
    between(before, after, sides.meta).into_iter().map(|found| found.setting).collect()
}

/// Why the records are incomparable, and what to do. Either the records of one side differ from
/// each other. Or the sides differ in something that is not compared. Or they differ in more than
/// one thing that is used; then the cause of a change cannot be known.
pub(super) fn in_the_way(sides: &Sides) -> Vec<Obstacle> {
    let of_sides =
        [sides.before, sides.after].into_iter().filter_map(|side| unlike(side, sides.meta));
    of_sides.chain(apart(sides)).collect()
}

/// A record that was not made in the same way as the first one of its side.
fn unlike(side: &[Named], meta: Option<&Meta>) -> Option<Obstacle> {
    let ((first, record), others) = side.split_first()?;
    others.iter().find_map(|(another, other)| {
        let found = between(first, another, meta).into_iter().find(|f| f.part != Part::Told)?;
        let reason = ChangeReason::MixedSide {
            record: (*record).to_owned(),
            other: (*other).to_owned(),
            setting: found.setting,
        };
        Some((reason, Some(ChangeSuggestion::OneSetUp)))
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
    // A single such difference is what is compared, unless `--across` names something else.
    let alone = used.len() == 1 && sides.across.is_empty() && in_the_way.is_empty();
    if !alone {
        in_the_way.extend(used);
    }
    if in_the_way.is_empty() {
        return None;
    }
    let by: Vec<String> = in_the_way.into_iter().map(str::to_owned).collect();
    let names = sides.across.iter().chain(&by).cloned().collect();
    Some((ChangeReason::Confounded { by }, Some(ChangeSuggestion::Across { names })))
}

/// All differences, the machine first.
fn between(before: &Judged, after: &Judged, meta: Option<&Meta>) -> Vec<Found> {
    let mut list = List(Vec::new());
    machine(&mut list, &before.machine, &after.machine);
    kernel(&mut list, &before.machine, &after.machine);
    let version = |record: &Judged| text(&record.tool.version);
    list.add((SettingName::Tailback, TAILBACK), Part::Ground, version(before), version(after));
    vms(&mut list, before, after);
    let washed = |record: &Judged| Some(SettingValue::Holds(record.plan.wash_out));
    let wash_out = SettingName::Parameter(WASH_OUT.to_owned());
    list.add((wash_out, WASH_OUT), Part::Ground, washed(before), washed(after));
    for (name, was, is) in parameters(before, after) {
        let (thing, part) = part(meta, &name);
        let thing = thing.unwrap_or(&name);
        list.add((SettingName::Parameter(name.clone()), thing), part, was, is);
    }
    list.0
}

struct List(Vec<Found>);

impl List {
    fn add(
        &mut self,
        what: (SettingName, &str),
        part: Part,
        before: Option<SettingValue>,
        after: Option<SettingValue>,
    ) {
        self.add_of(what, Vec::new(), part, (before, after));
    }

    /// A difference that only some arms have.
    fn add_of(
        &mut self,
        (what, thing): (SettingName, &str),
        arms: Vec<String>,
        part: Part,
        (before, after): (Option<SettingValue>, Option<SettingValue>),
    ) {
        if before != after {
            let setting = Setting { what, arms, before, after };
            self.0.push(Found { setting, part, thing: thing.to_owned() });
        }
    }
}

/// What stays the same when another kernel is booted. The host name is not recorded, so two
/// machines of the same model look like one.
fn machine(list: &mut List, was: &Machine, is: &Machine) {
    let mut add = |what: SettingName, of: &dyn Fn(&Machine) -> Option<SettingValue>| {
        list.add((what, HOST), Part::Ground, of(was), of(is));
    };
    add(SettingName::Architecture, &|host| text(&host.arch));
    add(SettingName::Cpus, &|host| whole(host.cpus.len()));
    add(SettingName::AllowedCpus, &|host| whole(host.allowed_cpus.len()));
    add(SettingName::CpuModel, &|host| text(host.cpu_model.as_ref()?));
    let (old, new) = (was.memory_bytes, is.memory_bytes);
    if !old.zip(new).is_some_and(|(old, new)| nearly(old, new)) {
        add(SettingName::Memory, &|host| host.memory_bytes.map(SettingValue::Whole));
    }
    add(SettingName::VirtualMachine, &|host| host.virtualised.map(SettingValue::Holds));
    let guest = |of: fn(&Guest) -> Option<SettingValue>| {
        move |host: &Machine| host.guest.as_ref().and_then(of)
    };
    add(SettingName::GuestAccelerator, &guest(|guest| text(&guest.accelerator)));
    add(SettingName::GuestClock, &guest(|guest| text(guest.clock.as_ref()?)));
    add(SettingName::Qemu, &guest(|guest| text(&guest.qemu)));
    add(
        SettingName::GuestHostCpus,
        &guest(|guest| Some(SettingValue::Whole(guest.host_cpus.into()))),
    );
    add(SettingName::GuestHostKernel, &guest(|guest| text(&guest.host_kernel)));
    add(SettingName::CpuLimit, &|host| host.cgroup.as_ref()?.cpu_limit.map(SettingValue::Number));
    add(SettingName::MemoryLimit, &|host| {
        // Less than a MiB is not a difference.
        host.cgroup.as_ref()?.memory_limit_bytes.map(|bytes| SettingValue::Whole(bytes >> 20 << 20))
    });
}

fn kernel(list: &mut List, was: &Machine, is: &Machine) {
    let mut add = |what: SettingName, part: Part, of: &dyn Fn(&Machine) -> Option<SettingValue>| {
        list.add((what, KERNEL), part, of(was), of(is));
    };
    add(SettingName::Kernel, Part::What, &|host| text(&host.kernel));
    add(SettingName::KernelBuild, Part::What, &|host| text(&host.kernel_build));
    add(SettingName::Preemption, Part::What, &|host| text(host.preemption.as_ref()?));
    add(SettingName::Hz, Part::What, &|host| host.hz.map(|hz| SettingValue::Whole(hz.into())));
    add(SettingName::ClockSource, Part::What, &|host| text(host.clocksource.as_ref()?));
    add(SettingName::Distribution, Part::Told, &|host| text(host.distribution.as_ref()?));
}

fn nearly(was: u64, is: u64) -> bool {
    was.abs_diff(is) as f64 <= SAME_MEMORY * was.max(is) as f64
}

fn text(word: &str) -> Option<SettingValue> {
    Some(SettingValue::from(word))
}

fn whole(count: usize) -> Option<SettingValue> {
    u64::try_from(count).ok().map(SettingValue::Whole)
}

/// OTP releases and flags, arm by arm, because each arm may have its own. Flags follow from
/// parameters, which are compared separately.
fn vms(list: &mut List, before: &Judged, after: &Judged) {
    let otp = |vm: &Vm| SettingValue::Words(vec![vm.otp.clone(), vm.erts.clone()]);
    let flags = |vm: &Vm| SettingValue::Words(vm.flags.clone());
    let arms = before.plan.arms.iter().map(|arm| arm.id.as_str());
    let pairs: Vec<(&str, &Vm, &Vm)> =
        arms.filter_map(|arm| Some((arm, vm_of(before, arm)?, vm_of(after, arm)?))).collect();
    for (what, thing, part, of) in [
        (SettingName::Otp, OTP, Part::What, &otp as &dyn Fn(&Vm) -> SettingValue),
        (SettingName::EmulatorFlags, "", Part::Told, &flags),
    ] {
        // Arms with the same change are reported together.
        let mut changed: Vec<(SettingValue, SettingValue, Vec<String>)> = Vec::new();
        for (arm, was, is) in &pairs {
            let (was, is) = (of(was), of(is));
            match changed.iter_mut().find(|(w, i, _)| *w == was && *i == is) {
                Some((.., arms)) => arms.push((*arm).to_owned()),
                None => changed.push((was, is, vec![(*arm).to_owned()])),
            }
        }
        for (was, is, mut arms) in changed {
            if arms.len() == pairs.len() {
                arms.clear();
            }
            list.add_of((what.clone(), thing), arms, part, (Some(was), Some(is)));
        }
    }
}

/// The VM of an arm. All trials of an arm have the same flags, so its first VM represents it.
fn vm_of<'a>(record: &'a Judged, arm: &str) -> Option<&'a Vm> {
    let mut of_arm = record.trials.iter().filter(|trial| trial.arm == arm);
    of_arm.find_map(|trial| trial.observation.vm.as_ref())
}

/// A parameter, and its value on both sides.
type Changed = (String, Option<SettingValue>, Option<SettingValue>);

/// The parameters whose values differ between arms with the same id, with the first differing
/// pair of values.
fn parameters(before: &Judged, after: &Judged) -> Vec<Changed> {
    let is = |value: Option<&Value>| value.map(|value| SettingValue::Text(value.to_string()));
    let mut found: Vec<Changed> = Vec::new();
    // Arms that are shown and not judged may have any settings.
    for was in before.plan.arms.iter().filter(|arm| arm.role != Role::Baseline) {
        let Some(now) = after.plan.arms.iter().find(|arm| arm.id == was.id) else { continue };
        let names: BTreeSet<&String> = was.settings.0.keys().chain(now.settings.0.keys()).collect();
        for name in names {
            let (old, new) = (was.settings.0.get(name), now.settings.0.get(name));
            if old != new && !found.iter().any(|(known, ..)| known == name) {
                found.push((name.clone(), is(old), is(new)));
            }
        }
    }
    found
}

/// What a difference in a parameter means for a comparison, and the thing to which the parameter
/// belongs if that is not the parameter itself.
fn part(meta: Option<&Meta>, name: &str) -> (Option<&'static str>, Part) {
    match meta.and_then(|meta| meta.parameter(name)).map(|parameter| parameter.kind) {
        // This is the place where something runs, on the same machine.
        Some(ParameterKind::Cpu) => (None, Part::Told),
        // This selects the erl; its release is a difference in the same thing.
        Some(ParameterKind::Programs) => (Some(OTP), Part::What),
        Some(ParameterKind::Word | ParameterKind::Flags) => (None, Part::What),
        Some(ParameterKind::Folder | ParameterKind::Amount) | None => (None, Part::Ground),
    }
}
