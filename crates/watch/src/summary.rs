//! The last line of the output: the conclusion from what all programs lost.
//!
//! "All well" means that no program lost a noticeable part of its time for any reason. That there
//! is no finding is not enough: a loss without a finding is reported with its largest part.

use crate::findings;
use crate::tick::Job;
use model::Live;
use model::live::{
    AnswerState, Finding, NeighbourPart, NotMeasurable, Program, Scope, Source, SourceUse, Victim,
    VictimThread, Why,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The least loss that is noticed, in milliseconds a second: a tenth of a thread's time.
pub const NOTICED_MS_PER_S: f64 = 100.0;

/// And at least this share of the time that the program wanted.
pub const NOTICED_SHARE: f64 = 0.1;

/// If a program had less than this share in a part, it is not named alone.
const ALONE: f64 = 0.9;

/// If a thread was ready behind one other program for more than this many times as long as it ran,
/// they did not share the CPU evenly.
const UNEVEN: u64 = 3;

/// A loss above this part of both limits is near them.
const NEAR: f64 = 0.5;

/// The conclusion.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    /// Nothing could be measured.
    NothingMeasured,
    /// There are no figures for the programs that were named.
    NoFigures,
    /// The first finding is the conclusion.
    Finding,
    /// The first finding is the conclusion, and this program loses more without a finding.
    FindingBeside(Loss),
    /// There is no finding, but this program loses noticeably.
    Loses(Loss),
    /// No program loses noticeably, but all of them together do.
    Together(Together),
    /// No program loses noticeably, but this one is near that.
    Near(Loss),
    /// No program loses noticeably. This is the program that loses most, if any loses time.
    AllWell(Option<Loss>),
    /// No program loses noticeably, but the hypervisor takes CPU time.
    Stolen(Stolen),
    /// No program was seen to lose noticeably, but not every cause or thread was measured.
    PartlyMeasured,
}

/// What all programs of the machine lose, where none loses noticeably.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Together {
    /// What they lose together, in milliseconds a second.
    pub ms_per_s: f64,
    /// Its share of the time that they want.
    pub share: f64,
    /// The program that loses most.
    pub most: Loss,
}

/// CPU time that the hypervisor takes. A program that runs when it does loses that time without
/// being ready, so it is in no program's loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stolen {
    /// The time, in milliseconds a second.
    pub ms_per_s: f64,
    /// Its share of the CPU time that programs wanted.
    pub share: f64,
}

/// What a program loses, and its largest part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loss {
    /// The program.
    pub program: Program,
    /// Its whole loss, in milliseconds a second.
    pub ms_per_s: f64,
    /// The cause of the largest part.
    pub to: To,
    /// Whether other programs than the named one had a notable share in that part.
    pub and_others: bool,
    /// The largest part, in milliseconds a second.
    pub part_ms_per_s: f64,
}

/// The cause of a loss of time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum To {
    /// This program had the CPU, for this reason.
    Neighbour(Program, Why),
    /// Its own threads had the CPU.
    OwnThreads,
    /// A quota.
    Quota,
    /// It is confined to CPUs while another CPU is idle.
    Confined,
    /// Another CPU that it may use was idle.
    BesideIdle,
    /// Interrupts.
    Interrupts,
    /// The hypervisor.
    Hypervisor,
    /// Waking up on an idle CPU.
    Waking,
    /// Readers of its memory map.
    MmapLock,
    /// The lock of its memory map, which its own threads held.
    OwnMmapLock,
    /// Memory: its threads freed some, moved pages, or waited until pages were read back.
    Memory,
    /// It slept until a thread of this program woke it, and that thread was kept from running.
    AsleepBehind(Program),
    /// The cause is not known.
    NotToldApart,
}

/// Draws the conclusion.
pub fn summary(live: &Live) -> Summary {
    // Processes that are named by number are known to exist. If one sleeps, all is well.
    let by_name = live.scope.pids.is_empty() && live.scope != Scope::default();
    let is_unmeasured = |state: &AnswerState| matches!(state, AnswerState::NotMeasurable(_));
    if live.findings.is_empty() && live.answers.iter().all(|answer| is_unmeasured(&answer.state)) {
        return Summary::NothingMeasured;
    }
    if !live.findings.is_empty() {
        return larger(live).map_or(Summary::Finding, Summary::FindingBeside);
    }
    if by_name && live.victims.is_empty() {
        return Summary::NoFigures;
    }
    let worst = |limit: f64| {
        let all = live.victims.iter().filter(|victim| is_noticed(victim, live.over_ns, limit));
        all.max_by_key(|victim| victim.lost_ns()).map(|victim| loss(victim, live.over_ns))
    };
    let of_one = worst(1.0).map(Summary::Loses).or_else(|| stolen(live).map(Summary::Stolen));
    of_one
        .or_else(|| together(live, worst(0.0)?).map(Summary::Together))
        .or_else(|| worst(NEAR).map(Summary::Near))
        .or_else(|| (!sees_all(live)).then_some(Summary::PartlyMeasured))
        .unwrap_or_else(|| Summary::AllWell(worst(0.0)))
}

/// The loss of all programs of the machine, if it is noticeable for each CPU. `most` is the largest
/// loss of one.
fn together(live: &Live, most: Loss) -> Option<Together> {
    let (lost, busy) = (live.machine.lost_ns?, live.machine.busy_ns?);
    let wanted = lost.saturating_add(busy);
    let (ms_per_s, share) = (rate(lost, live.over_ns), lost as f64 / wanted.max(1) as f64);
    let limit = NOTICED_MS_PER_S * f64::from(live.machine.cpus.max(1));
    let is_noticed = live.scope == Scope::default() && ms_per_s >= limit && share >= NOTICED_SHARE;
    is_noticed.then_some(Together { ms_per_s, share, most })
}

/// The largest loss that no finding explains, if it is more than any finding costs.
fn larger(live: &Live) -> Option<Loss> {
    let costs = live.findings.iter().map(|finding| finding.cost_ms_per_s);
    let most = costs.fold(NOTICED_MS_PER_S, f64::max);
    let noticed = live.victims.iter().filter(|victim| is_noticed(victim, live.over_ns, 1.0));
    let losses = noticed.map(|victim| (victim, loss(victim, live.over_ns)));
    let listed: HashSet<&Program> = live.victims.iter().map(|victim| &victim.program).collect();
    let is_open = |(victim, loss): &(&Victim, Loss)| {
        loss.ms_per_s - explained(live, &listed, victim, loss) > most
    };
    let open = losses.filter(is_open).map(|(_, loss)| loss);
    open.max_by(|one, other| one.ms_per_s.total_cmp(&other.ms_per_s))
}

/// The group whose quota a finding is about.
fn quota_of(finding: &Finding) -> Option<String> {
    findings::find(&finding.stall)?.quota(finding)
}

/// How much of a loss the findings explain: what they cost that program. They explain all of it
/// if the program sleeps behind the victim of one, which stands ready, or is stalled for memory
/// like another program of its group. Findings about a quota explain what that quota costs any
/// program, once. `listed` are the programs of all victims.
fn explained(live: &Live, listed: &HashSet<&Program>, victim: &Victim, loss: &Loss) -> f64 {
    let is = |one: &Program, other: &Program| one.name == other.name && one.group == other.group;
    let stands_ready =
        |finding: &Finding| findings::find(&finding.stall).is_some_and(|entry| entry.stands_ready);
    let is_behind = |finding: &Finding| match &loss.to {
        To::AsleepBehind(holder) => stands_ready(finding) && is(&finding.victim, holder),
        To::Memory => {
            let group = finding.victim.group.as_ref();
            findings::is_for_memory(finding)
                && group.is_some()
                && group == loss.program.group.as_ref()
        }
        _ => false,
    };
    if live.findings.iter().any(is_behind) {
        return loss.ms_per_s;
    }
    // Programs of two sessions may have one name. If the victim of a finding is listed itself, the
    // finding is about no other one.
    let is_own = |finding: &&Finding| {
        let about = &finding.victim;
        is(about, &loss.program) && (*about == loss.program || !listed.contains(about))
    };
    let own = live.findings.iter().filter(is_own);
    let (of_quotas, others): (Vec<&Finding>, Vec<&Finding>) =
        own.partition(|finding| quota_of(finding).is_some());
    let cost = |finding: &&Finding| finding.cost_ms_per_s;
    let own_quota = of_quotas.iter().map(cost).fold(0.0, f64::max);
    // The cost of such a finding is that of all programs under the quota. Without eBPF, the part of
    // each program is not known.
    let of_quota = Some(found_quotas(live, victim)).filter(|part| *part > 0.0);
    of_quota.unwrap_or(own_quota) + others.iter().map(cost).sum::<f64>()
}

/// What a program loses to the quotas that a finding is about, in milliseconds a second.
fn found_quotas(live: &Live, victim: &Victim) -> f64 {
    let groups: BTreeSet<String> = live.findings.iter().filter_map(quota_of).collect();
    let parts = &victim.parts;
    let is_own = victim.program.group.as_ref().is_some_and(|group| groups.contains(group));
    let above = parts.ancestors.iter().filter(|part| groups.contains(&part.group));
    let above = above.map(|part| part.ns).fold(0, u64::saturating_add);
    let own = if is_own { parts.own_quota_ns } else { 0 };
    rate(own.saturating_add(above), live.over_ns)
}

/// What the hypervisor takes, if that is noticeable.
fn stolen(live: &Live) -> Option<Stolen> {
    let (steal, busy) = (live.machine.steal_ns?, live.machine.busy_ns?);
    let ms_per_s = rate(steal, live.over_ns);
    let share = steal as f64 / steal.saturating_add(busy).max(1) as f64;
    let is_noticed = ms_per_s >= NOTICED_MS_PER_S && share >= NOTICED_SHARE;
    is_noticed.then_some(Stolen { ms_per_s, share })
}

/// Whether all that counts as a loss was seen, of all threads.
pub fn sees_all(live: &Live) -> bool {
    let needed = [
        Source::Scheduler,
        Source::MmapLock,
        Source::MappingLock,
        Source::Reclaim,
        Source::Calls,
        Source::Pressure,
    ];
    let is_missing = |one: &SourceUse| needed.contains(&one.source) && one.missing.is_some();
    let full = AnswerState::NotMeasurable(NotMeasurable::TableFull);
    !live.sources.iter().any(is_missing) && live.answers.iter().all(|one| one.state != full)
}

/// Whether what a program loses is above this part of the limits, or what one of its threads
/// loses: in a large program, one thread that does not run is a small part.
fn is_noticed(victim: &Victim, over_ns: u64, part: f64) -> bool {
    is_much(victim, over_ns, part) || victim.threads.iter().any(|one| is_starved(one, over_ns))
}

/// Whether a thread was ready for longer than it ran, and for a noticeable time.
fn is_starved(thread: &VictimThread, over_ns: u64) -> bool {
    rate(thread.ready_ns, over_ns) >= NOTICED_MS_PER_S && thread.ready_ns > thread.ran_ns
}

/// Whether one of its threads got far less than the program that took most of its time. That
/// program may have kept several threads from running, each on another CPU: only the time behind it
/// that falls to this thread counts, in proportion to its ready time. Programs of another group
/// count together, as far as they are named.
fn is_uneven(victim: &Victim, over_ns: u64) -> bool {
    let share = longest_behind_job(victim) as f64 / victim.parts.ready_ns.max(1) as f64;
    let is_short = |thread: &VictimThread| {
        let behind_ns = thread.ready_ns as f64 * share;
        is_starved(thread, over_ns) && behind_ns > thread.ran_ns.saturating_mul(UNEVEN) as f64
    };
    victim.threads.iter().any(is_short)
}

/// The longest time behind one job: a program and the others of its group, if that group is one
/// job. In the victim's own group, each of them competes with it alone.
fn longest_behind_job(victim: &Victim) -> u64 {
    let of_job = |part: &NeighbourPart| {
        let group = part.program.group.as_ref()?;
        let is_one = Job::of_group(group).is_some_and(|job| job.is_one());
        (is_one && victim.program.group.as_ref() != Some(group)).then(|| group.clone())
    };
    // One pass: a record from elsewhere may have any number of neighbours.
    let mut jobs: BTreeMap<String, u64> = BTreeMap::new();
    let mut longest = 0_u64;
    for part in &victim.parts.neighbours {
        let Some(group) = of_job(part) else {
            longest = longest.max(part.ns);
            continue;
        };
        let sum = jobs.entry(group).or_default();
        *sum = sum.saturating_add(part.ns);
        longest = longest.max(*sum);
    }
    longest
}

fn is_much(victim: &Victim, over_ns: u64, part: f64) -> bool {
    let lost = victim.lost_ns();
    // Freeing memory takes CPU time, which must not count twice.
    let off_cpu = lost.saturating_sub(victim.memory.ns);
    let wanted = victim.ran_ns.saturating_add(off_cpu).max(lost).max(1);
    rate(lost, over_ns) >= NOTICED_MS_PER_S * part
        && lost as f64 / wanted as f64 >= NOTICED_SHARE * part
}

fn loss(victim: &Victim, over_ns: u64) -> Loss {
    let (to, ns) = largest(victim);
    let and_others = has_others(victim, &to, ns);
    let to = match to {
        // On each CPU, the weight of a group is only the part for its threads there. So groups of
        // the same weight may share one CPU unevenly.
        To::Neighbour(who, Why::Shared(_)) if is_uneven(victim, over_ns) => {
            To::Neighbour(who, Why::Unknown)
        }
        to => to,
    };
    Loss {
        program: victim.program.clone(),
        ms_per_s: rate(victim.lost_ns(), over_ns),
        to,
        and_others,
        part_ms_per_s: rate(ns, over_ns),
    }
}

/// Whether a part of this length is not that of the one program that its cause names.
fn has_others(victim: &Victim, to: &To, ns: u64) -> bool {
    let of_one = match to {
        To::Neighbour(..) => victim.parts.neighbours.iter().map(|part| part.ns).max(),
        To::AsleepBehind(_) => victim.asleep.iter().map(|one| one.stalled_ns).max(),
        _ => return false,
    };
    (of_one.unwrap_or(0) as f64) < ns as f64 * ALONE
}

/// The largest part. All time behind other programs counts as one part, since they share one CPU.
fn largest(victim: &Victim) -> (To, u64) {
    let (parts, lock) = (&victim.parts, victim.lock);
    let first = parts.neighbours.iter().max_by_key(|part| part.ns);
    let (who, why) = first.map(|part| (part.program.clone(), part.why.clone())).unwrap_or_default();
    let holder = victim.asleep.iter().max_by_key(|one| one.stalled_ns);
    let holder = holder.map(|one| one.holder.clone()).unwrap_or_default();
    let all = [
        (To::NotToldApart, parts.not_told_apart_ns),
        (To::Waking, parts.waking_ns),
        (To::Hypervisor, parts.hypervisor_ns),
        (To::Interrupts, parts.interrupts_ns),
        (To::BesideIdle, parts.beside_idle_ns),
        (To::Confined, parts.confined.as_ref().map_or(0, |part| part.ns)),
        (To::OwnThreads, parts.own_program_ns),
        (To::AsleepBehind(holder), victim.stalled_ns()),
        (To::Memory, victim.memory.ns),
        (To::OwnMmapLock, lock.ns.saturating_sub(lock.foreign_ns)),
        (To::MmapLock, lock.foreign_ns),
        (To::Quota, parts.quota_ns()),
        (To::Neighbour(who, why), parts.neighbours_ns()),
    ];
    all.into_iter().max_by_key(|(_, ns)| *ns).unwrap_or((To::NotToldApart, 0))
}

fn rate(ns: u64, over_ns: u64) -> f64 {
    ns as f64 / over_ns.max(1) as f64 * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{Answer, AsleepBehind, LockWaits, MachineLoad, MemoryWaits, Missing, Parts};
    use model::not_seen::NoPrograms;

    const MS: u64 = 1_000_000;

    /// A second in which a program ran for 400 ms and lost this, half of it to another.
    fn live(lost_ms: u64) -> Live {
        let of = |name: &str| Program { name: name.to_owned(), ..Program::default() };
        let behind = NeighbourPart { program: of("hog"), ns: lost_ms * MS, ..Default::default() };
        let parts = Parts { ready_ns: lost_ms * MS, neighbours: vec![behind], ..Parts::default() };
        let victim = Victim { program: of("web"), ran_ns: 400 * MS, parts, ..Victim::default() };
        let no = AnswerState::NotHitting { most_ms_per_s: 0.0, finding_at_ms_per_s: 1.0 };
        Live {
            over_ns: 1000 * MS,
            victims: vec![victim],
            answers: vec![Answer { stall: "neighbour".to_owned(), state: no }],
            ..Live::default()
        }
    }

    #[test]
    fn a_loss_is_told_whether_a_finding_explains_it_or_not() {
        let Summary::Loses(loss) = summary(&live(250)) else { panic!() };
        assert_eq!((loss.program.name.as_str(), loss.ms_per_s), ("web", 250.0));
        assert!(matches!(loss.to, To::Neighbour(who, _) if who.name == "hog"));
        let of = |name: &str, cost_ms_per_s| {
            let victim = Program { name: name.to_owned(), ..Program::default() };
            let finding = Finding { victim, cost_ms_per_s, ..Finding::default() };
            summary(&Live { findings: vec![finding], ..live(250) })
        };
        assert_eq!(of("web", 160.0), Summary::Finding, "it is about that loss");
        assert_eq!(of("db", 251.0), Summary::Finding);
        let Summary::FindingBeside(_) = of("web", 10.0) else { panic!("most of it is open") };
        let Summary::FindingBeside(loss) = of("db", 12.0) else { panic!() };
        assert_eq!((loss.program.name.as_str(), loss.ms_per_s), ("web", 250.0));
    }

    #[test]
    fn a_program_is_named_alone_only_for_a_part_that_is_its_own() {
        let and_others = |other_ms: u64| {
            let mut live = live(250);
            let parts = &mut live.victims[0].parts;
            parts.neighbours[0].ns = (250 - other_ms) * MS;
            parts.other_neighbours_ns = other_ms * MS;
            let Summary::Loses(loss) = summary(&live) else { panic!() };
            assert_eq!(loss.part_ms_per_s, 250.0);
            loss.and_others
        };
        assert_eq!([0, 20, 30, 200].map(and_others), [false, false, true, true]);
        let mut live = live(20);
        let holder = |ns| AsleepBehind { ns, stalled_ns: ns, ..AsleepBehind::default() };
        live.victims[0].asleep = vec![holder(150 * MS), holder(140 * MS)];
        let Summary::Loses(loss) = summary(&live) else { panic!() };
        assert!(matches!(loss.to, To::AsleepBehind(_)) && loss.and_others);
    }

    #[test]
    fn findings_about_one_quota_explain_its_time_once_and_for_all_its_programs() {
        let finding = |stall: &str, victim: &Program, cost_ms_per_s| Finding {
            stall: stall.to_owned(),
            victim: victim.clone(),
            cost_ms_per_s,
            facts: findings::samples().into_iter().find(|one| one.stall == stall).unwrap().facts,
            ..Finding::default()
        };
        let mut live = live(700);
        live.victims[0].program.group = Some("/app".to_owned());
        live.victims[0].parts.ready_ns = 1_000 * MS;
        live.victims[0].parts.own_quota_ns = 300 * MS;
        let web = live.victims[0].program.clone();
        live.findings = ["busy-wait", "more-schedulers", "cpu-quota"]
            .map(|stall| finding(stall, &web, 300.0))
            .into();
        let Summary::FindingBeside(loss) = summary(&live) else { panic!() };
        assert_eq!((loss.program.name.as_str(), loss.ms_per_s), ("web", 1_000.0));
        // Another program of the group is the victim: the same quota explains this loss.
        let db = Program { name: "db".to_owned(), ..web };
        live.victims[0].parts.own_quota_ns = 950 * MS;
        live.findings = vec![finding("cpu-quota", &db, 100.0)];
        assert_eq!(summary(&live), Summary::Finding);
        live.findings = vec![finding("neighbour", &db, 100.0)];
        assert!(matches!(summary(&live), Summary::FindingBeside(_)));
    }

    #[test]
    fn a_finding_explains_no_loss_of_another_program_of_that_name() {
        let mut live = live(250);
        live.victims[0].program.pid = 7;
        let mut other = live.victims[0].clone();
        other.program.pid = 8;
        other.parts.ready_ns = 300 * MS;
        other.parts.neighbours[0].ns = 300 * MS;
        live.victims.push(other);
        let victim = live.victims[0].program.clone();
        live.findings = vec![Finding { victim, cost_ms_per_s: 250.0, ..Finding::default() }];
        let Summary::FindingBeside(loss) = summary(&live) else { panic!() };
        assert_eq!((loss.program.pid, loss.ms_per_s), (8, 300.0));
    }

    #[test]
    fn a_finding_explains_sleep_and_memory_only_if_it_is_about_these() {
        let beside = |live: &Live, stall: &str, victim: Program| {
            let stall = stall.to_owned();
            let finding = Finding { stall, victim, cost_ms_per_s: 12.0, ..Finding::default() };
            let live = Live { findings: vec![finding], ..live.clone() };
            matches!(summary(&live), Summary::FindingBeside(_))
        };
        let db = Program { name: "db".to_owned(), ..Program::default() };
        let asleep = AsleepBehind {
            holder: db.clone(),
            ns: 150 * MS,
            stalled_ns: 150 * MS,
            ..AsleepBehind::default()
        };
        let mut sleeps = live(20);
        sleeps.victims[0].asleep = vec![asleep];
        assert!(!beside(&sleeps, "neighbour", db.clone()));
        assert!(beside(&sleeps, "mmap-lock", db.clone()), "its victim is not ready");
        let group = Some("/app".to_owned());
        let db = Program { group: group.clone(), ..db };
        let mut frees = live(90);
        frees.victims[0].program.group = group;
        frees.victims[0].memory = MemoryWaits { ns: 95 * MS, ..MemoryWaits::default() };
        assert!(!beside(&frees, "memory-high", db.clone()));
        assert!(beside(&frees, "neighbour", db), "it takes no memory");
    }

    #[test]
    fn many_small_losses_are_told_together() {
        let of = |lost: u64, busy: u64| {
            let (lost_ns, busy_ns) = (Some(lost * MS), Some(busy * MS));
            let machine = MachineLoad { cpus: 4, lost_ns, busy_ns, ..MachineLoad::default() };
            summary(&Live { machine, ..live(40) })
        };
        let Summary::Together(all) = of(4_950, 4_050) else { panic!() };
        assert_eq!((all.ms_per_s, all.share), (4_950.0, 0.55));
        assert_eq!((all.most.program.name.as_str(), all.most.ms_per_s), ("web", 40.0));
        assert!(matches!(of(399, 2_000), Summary::AllWell(_)), "less than a tenth of each CPU");
        assert!(matches!(of(440, 4_000), Summary::AllWell(_)), "a small part of the work");
        assert!(matches!(of(445, 4_000), Summary::Together(_)));
    }

    #[test]
    fn one_situation_on_either_side_of_the_limit_is_near_it() {
        assert!(matches!(summary(&live(99)), Summary::Near(_)));
        assert!(matches!(summary(&live(51)), Summary::Near(_)));
        assert!(matches!(summary(&live(40)), Summary::AllWell(Some(_))));
        // A program that wants ten CPUs does not notice a tenth of one.
        let mut large = live(150);
        large.victims[0].ran_ns = 9_000 * MS;
        assert!(matches!(summary(&large), Summary::AllWell(_)));
    }

    #[test]
    fn nothing_is_well_where_a_program_waits_for_anything_but_a_cpu() {
        let told = |change: &dyn Fn(&mut Victim)| {
            let mut live = live(10);
            change(&mut live.victims[0]);
            match summary(&live) {
                Summary::Loses(loss) => loss.to,
                other => panic!("{other:?}"),
            }
        };
        let own = LockWaits { ns: 200 * MS, ..LockWaits::default() };
        assert_eq!(told(&|victim| victim.lock = own), To::OwnMmapLock);
        let foreign = LockWaits { foreign_ns: 200 * MS, ..own };
        assert_eq!(told(&|victim| victim.lock = foreign), To::MmapLock);
        let memory = MemoryWaits { ns: 200 * MS, ..MemoryWaits::default() };
        assert_eq!(told(&|victim| victim.memory = memory), To::Memory);
        let holder = Program { name: "db".to_owned(), ..Program::default() };
        let behind = |stalled_ns| AsleepBehind {
            holder: holder.clone(),
            ns: 300 * MS,
            stalled_ns,
            ..AsleepBehind::default()
        };
        let to = told(&|victim| victim.asleep = vec![behind(200 * MS)]);
        assert_eq!(to, To::AsleepBehind(holder.clone()));
        // Sleep behind a program that only shares a busy machine is no loss.
        let mut shares = live(10);
        shares.victims[0].asleep = vec![behind(0)];
        assert!(matches!(summary(&shares), Summary::AllWell(_)));
    }

    #[test]
    fn one_thread_that_does_not_run_is_noticed_in_a_large_program() {
        let mut large = live(950);
        let thread = VictimThread { ran_ns: 50 * MS, ready_ns: 950 * MS, ..Default::default() };
        let workers = VictimThread { ran_ns: 1_000 * MS, ..Default::default() };
        large.victims[0].ran_ns = 31_000 * MS;
        large.victims[0].threads = vec![workers.clone(), workers];
        assert!(matches!(summary(&large), Summary::AllWell(_)));
        large.victims[0].threads.push(thread);
        let Summary::Loses(loss) = summary(&large) else { panic!() };
        assert_eq!((loss.program.name.as_str(), loss.ms_per_s), ("web", 950.0));
    }

    #[test]
    fn a_thread_that_gets_far_less_than_its_neighbour_shares_nothing_evenly() {
        let why = |threads: u64, ran_ms: u64, behind_ms: u64| {
            let mut live = live(threads * 800);
            let victim = &mut live.victims[0];
            let (ran_ns, ready_ns) = (ran_ms * MS, 800 * MS);
            let thread = VictimThread { ran_ns, ready_ns, ..Default::default() };
            victim.threads = vec![thread; threads as usize];
            victim.ran_ns = threads * ran_ns;
            victim.parts.neighbours[0].ns = threads * behind_ms * MS;
            victim.parts.neighbours[0].why = Why::Shared(None);
            victim.parts.other_neighbours_ns = threads * (800 - behind_ms) * MS;
            match summary(&live) {
                Summary::Loses(Loss { to: To::Neighbour(_, why), .. }) => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(why(1, 500, 800), Why::Shared(None));
        // One of five programs that share a CPU.
        assert_eq!(why(1, 200, 200), Why::Shared(None));
        // The same on four CPUs, each program with four threads.
        assert_eq!(why(4, 200, 200), Why::Shared(None));
        assert_eq!(why(1, 60, 800), Why::Unknown);
        assert_eq!(why(4, 60, 800), Why::Unknown);
    }

    #[test]
    fn the_programs_of_one_group_take_a_cpu_together() {
        let uneven = |groups: [&str; 3]| {
            let named = |group: &str| {
                let group = Some(group.to_owned());
                let program = Program { name: "step".to_owned(), group, ..Program::default() };
                NeighbourPart { program, ns: 300 * MS, ..NeighbourPart::default() }
            };
            let neighbours = groups.map(named).into();
            let parts = Parts { ready_ns: 900 * MS, neighbours, ..Parts::default() };
            let thread =
                VictimThread { ran_ns: 110 * MS, ready_ns: 900 * MS, ..VictimThread::default() };
            let program = Program { group: Some("/own".to_owned()), ..Program::default() };
            let victim = Victim { program, parts, threads: vec![thread], ..Victim::default() };
            is_uneven(&victim, 1000 * MS)
        };
        assert!(uneven(["/ci", "/ci", "/ci"]));
        assert!(!uneven(["/a", "/b", "/c"]), "each took less than three times as much");
        assert!(!uneven(["/own"; 3]), "each competes with it alone");
        for group in ["/", "/system.slice", "/user.slice/user-0.slice/session-1.scope"] {
            assert!(!uneven([group; 3]), "{group} holds several jobs");
        }
    }

    #[test]
    fn nothing_is_well_where_the_hypervisor_takes_much() {
        let of = |steal, busy, lost| {
            let (steal_ns, busy_ns) = (Some(steal * MS), Some(busy * MS));
            let machine = MachineLoad { steal_ns, busy_ns, ..MachineLoad::default() };
            summary(&Live { machine, ..live(lost) })
        };
        let Summary::Stolen(stolen) = of(1_000, 1_000, 10) else { panic!() };
        assert_eq!((stolen.ms_per_s, stolen.share), (1_000.0, 0.5));
        assert!(matches!(of(150, 1_500, 10), Summary::AllWell(_)));
        assert!(matches!(of(90, 10, 10), Summary::AllWell(_)));
        assert!(matches!(of(1_000, 1_000, 250), Summary::Loses(_)));
    }

    #[test]
    fn where_nothing_is_measured_nothing_is_well() {
        let mut none = live(10);
        none.answers[0].state = AnswerState::NotMeasurable(NotMeasurable::NoNode);
        assert_eq!(summary(&none), Summary::NothingMeasured);
        let missing = Some(Missing::NoPrograms(NoPrograms::PidNamespace));
        let sources = vec![SourceUse { source: Source::Scheduler, missing }];
        assert_eq!(summary(&Live { sources, ..live(10) }), Summary::PartlyMeasured);
        for (source, missing) in
            [(Source::Calls, Missing::NoCalls), (Source::MappingLock, Missing::NoSymbols)]
        {
            let sources = vec![SourceUse { source, missing: Some(missing) }];
            assert_eq!(summary(&Live { sources, ..live(10) }), Summary::PartlyMeasured);
        }
        let mut full = live(10);
        let state = AnswerState::NotMeasurable(NotMeasurable::TableFull);
        full.answers.push(Answer { stall: "neighbour".to_owned(), state });
        assert_eq!(summary(&full), Summary::PartlyMeasured);
        let scope = Scope { comm: Some("web".to_owned()), ..Scope::default() };
        let unseen = Live { scope, victims: Vec::new(), ..live(10) };
        assert_eq!(summary(&unseen), Summary::NoFigures);
    }
}
