//! Findings as incidents: each has one beginning and one end, however often it comes and goes in
//! between.

use crate::subject::Subject;
use model::Live;
use model::live::Finding;
use serde::Serialize;

/// How long a finding has to be present without a break before it is an incident, in seconds.
/// Each look covers the last five seconds, so a single second is present for five.
const BEGINS_S: f64 = 8.0;

/// An incident has ended after it was absent for this long, in seconds.
const ENDS_S: f64 = 60.0;

/// Most incidents at a time, in all and with a victim in one control group. A group that invents
/// names uses up its own share first.
const MOST: usize = 256;
const MOST_OF_GROUP: usize = 32;

/// The beginning or the end of an incident.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Stall and name of the first victim, and the group whose limit it is, else the group of the
    /// victim. Together with `began`, it is the same at the beginning and the end of an incident.
    pub id: String,
    /// Beginning or end.
    pub event: Change,
    /// When the incident began (RFC 3339, UTC).
    pub began: String,
    /// From its beginning to the last time it was seen, in seconds; absent at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasted_s: Option<f64>,
    /// What it cost so far, in seconds: all threads of its victim, or all programs that the limit
    /// of a group holds up.
    pub lost_s: f64,
    /// The finding as it was at the beginning. At the end: as it was when it cost most, with the
    /// longest wait of the whole incident.
    pub finding: Finding,
}

/// The beginning or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It began.
    Began,
    /// It was not seen for a minute, or the watch ended.
    Ended,
}

/// The incidents in progress, and findings that may become one.
#[derive(Debug, Default)]
pub struct Incidents {
    all: Vec<Incident>,
    has_dropped: bool,
}

#[derive(Debug)]
struct Incident {
    id: String,
    began: String,
    began_s: f64,
    seen_s: f64,
    lost_s: f64,
    /// Whether it was present for long enough.
    has_begun: bool,
    /// What the finding is about, as it was last seen.
    subject: Subject,
    /// The finding as it was last seen.
    finding: Finding,
    /// The finding as it was when it cost most, with the longest wait of the whole incident.
    worst: Finding,
}

/// A finding of the last seconds, and what it is about.
struct Seen<'a> {
    finding: &'a Finding,
    subject: Subject,
}

impl Seen<'_> {
    /// Whether an incident was last seen as this stall of this group or program.
    fn is(&self, one: &Incident) -> bool {
        self.finding.stall == one.finding.stall && self.subject == one.subject
    }

    /// Whether an incident is about the same group or has the same victim.
    fn is_like(&self, one: &Incident) -> bool {
        let victim = Subject::victim(&self.finding.victim);
        self.subject == one.subject || victim == Subject::victim(&one.finding.victim)
    }
}

/// A moment of a watch.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Seconds since the start of the watch.
    pub now_s: f64,
    /// Seconds since the last look.
    pub passed_s: f64,
    /// The time of day (RFC 3339, UTC).
    pub clock: &'a str,
}

impl Incidents {
    /// Takes the findings of the last seconds. Returns the incidents that ended or began with
    /// them.
    pub fn look(&mut self, last: &Live, moment: Moment) -> Vec<Event> {
        let of = |finding| Seen { finding, subject: Subject::of(finding) };
        let all: Vec<Seen> = last.findings.iter().map(of).collect();
        all.iter().for_each(|seen| self.see(seen, &all, moment));
        let now_s = moment.now_s;
        // A finding that was present for a moment was no incident.
        self.all.retain(|one| one.has_begun || one.seen_s >= now_s);
        let (ended, others): (Vec<_>, Vec<_>) =
            self.all.drain(..).partition(|one| now_s - one.seen_s >= ENDS_S);
        self.all = others;
        let ended = ended.iter().map(Incident::end);
        ended.chain(self.all.iter_mut().filter_map(|one| one.begin(now_s))).collect()
    }

    /// Ends all incidents, because the watch ends.
    pub fn end_all(&mut self) -> Vec<Event> {
        self.all.drain(..).filter(|one| one.has_begun).map(|one| one.end()).collect()
    }

    /// Whether there were more incidents at a time than are kept.
    pub fn has_dropped(&self) -> bool {
        self.has_dropped
    }

    /// `all` are the findings of that moment.
    fn see(&mut self, seen: &Seen, all: &[Seen], moment: Moment) {
        let finding = seen.finding;
        let lost_s = finding.cost_ms_per_s / 1e3 * moment.passed_s;
        if let Some(one) = self.known(seen, all) {
            one.seen_s = moment.now_s;
            one.lost_s += lost_s;
            one.subject.clone_from(&seen.subject);
            one.finding.clone_from(finding);
            let worst_ms = one.worst.worst_ms.max(finding.worst_ms);
            if finding.cost_ms_per_s >= one.worst.cost_ms_per_s {
                one.worst.clone_from(finding);
            }
            one.worst.worst_ms = worst_ms;
            return;
        }
        let group = &finding.victim.group;
        let of_group = self.all.iter().filter(|one| one.finding.victim.group == *group).count();
        if self.all.len() >= MOST || of_group >= MOST_OF_GROUP {
            self.has_dropped = true;
            return;
        }
        self.all.push(Incident {
            id: id(seen),
            began: moment.clock.to_owned(),
            began_s: moment.now_s - moment.passed_s,
            seen_s: moment.now_s,
            lost_s,
            has_begun: false,
            subject: seen.subject.clone(),
            finding: finding.clone(),
            worst: finding.clone(),
        });
    }

    /// The incident of a finding. If the stall of an incident is gone and the same group or victim
    /// has another stall, that stall continues the incident.
    fn known(&mut self, seen: &Seen, all: &[Seen]) -> Option<&mut Incident> {
        let became = |one: &Incident| seen.is_like(one) && !all.iter().any(|other| other.is(one));
        let same = self.all.iter().position(|one| seen.is(one));
        let at = same.or_else(|| self.all.iter().position(became))?;
        self.all.get_mut(at)
    }
}

impl Incident {
    /// Its beginning, if it has just become long enough.
    fn begin(&mut self, now_s: f64) -> Option<Event> {
        if self.has_begun || now_s - self.began_s < BEGINS_S {
            return None;
        }
        self.has_begun = true;
        Some(self.event(Change::Began, None, &self.finding))
    }

    fn end(&self) -> Event {
        self.event(Change::Ended, Some(self.seen_s - self.began_s), &self.worst)
    }

    fn event(&self, event: Change, lasted_s: Option<f64>, finding: &Finding) -> Event {
        Event {
            id: self.id.clone(),
            event,
            began: self.began.clone(),
            lasted_s,
            lost_s: self.lost_s,
            finding: finding.clone(),
        }
    }
}

/// Two quotas, as those of a container and of its pod, may throttle the same program from the same
/// second on. So the group is the one that has the quota.
fn id(seen: &Seen) -> String {
    let victim = &seen.finding.victim;
    let group = seen.subject.limit().or(victim.group.as_deref()).unwrap_or("/");
    format!("{}:{}:{group}", seen.finding.stall, victim.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{group, process, second, thread, throttled};
    use crate::{Since, Tick, Window, live};
    use model::live::{Opaque, Program, Scope};

    /// A second in which this stall held these programs up.
    fn findings(stall: &str, names: &[&str]) -> Live {
        let finding = |name: &&str| Finding {
            stall: stall.to_owned(),
            victim: Program { name: (*name).to_owned(), ..Program::default() },
            cost_ms_per_s: 500.0,
            ..Finding::default()
        };
        Live { findings: names.iter().map(finding).collect(), ..Live::default() }
    }

    /// The events of these seconds, one after the other.
    fn events(incidents: &mut Incidents, seconds: &[Live]) -> Vec<Event> {
        let look = |(number, live): (usize, &Live)| {
            let now_s = number as f64 + 1.0;
            let clock = format!("second {now_s}");
            incidents.look(live, Moment { now_s, passed_s: 1.0, clock: &clock })
        };
        seconds.iter().enumerate().flat_map(look).collect()
    }

    fn times(count: usize, live: Live) -> Vec<Live> {
        vec![live; count]
    }

    #[test]
    fn an_incident_that_flaps_has_one_beginning_and_one_end() {
        let mut seconds = Vec::new();
        for _ in 0..50 {
            seconds.extend(times(10, findings("cpu-quota", &["web"])));
            seconds.extend(times(20, findings("cpu-quota", &[])));
        }
        seconds.extend(times(120, Live::default()));
        let all = events(&mut Incidents::default(), &seconds);
        let [began, ended] = &all[..] else { panic!("{all:?}") };
        assert_eq!((began.event, began.began.as_str()), (Change::Began, "second 1"));
        assert_eq!((ended.event, ended.lasted_s), (Change::Ended, Some(1_480.0)));
        assert_eq!((&ended.id, &ended.began), (&began.id, &began.began));
        assert_eq!((ended.lost_s, began.id.as_str()), (250.0, "cpu-quota:web:/"));
    }

    #[test]
    fn the_end_shows_the_finding_as_it_was_when_it_cost_most() {
        let costs = |cost: f64| {
            let mut live = findings("cpu-quota", &["web"]);
            live.findings[0].cost_ms_per_s = cost;
            live
        };
        let rising = [times(9, costs(100.0)), times(3, costs(900.0)), times(3, costs(20.0))];
        let all = events(
            &mut Incidents::default(),
            &[rising.concat(), times(60, Live::default())].concat(),
        );
        let costs: Vec<f64> = all.iter().map(|event| event.finding.cost_ms_per_s).collect();
        assert_eq!(costs, [100.0, 900.0]);
    }

    #[test]
    fn a_second_of_throttling_now_and_then_is_no_incident() {
        // A day in which each look covers the last five seconds.
        let tick = |held_ms| {
            let mut tick = second();
            process(&mut tick, 7, "web", Some("/a"));
            let mut one = thread(7, 100, held_ms);
            one.throttled_ns[0] = held_ms * 1_000_000;
            tick.threads.push(one);
            tick.lineages.insert("/a".into(), vec!["/a".into()]);
            tick.groups.push(group("/a", 50, 400, (u64::from(held_ms > 0), held_ms)));
            tick
        };
        let (bad, good) = (tick(900), tick(0));
        let look = |at: usize| {
            let of_second = |at: usize| if at.is_multiple_of(30) { &bad } else { &good };
            let ticks: Vec<&Tick> = (at..at + 5).map(of_second).collect();
            live(&Window::of(ticks), &Since::default(), &Scope::default(), &[], "")
        };
        let found = look(28).findings;
        assert!(found.iter().any(|one| one.stall == "cpu-quota"), "{found:?}");
        let seconds: Vec<Live> = (0..600).map(look).collect();
        assert_eq!(events(&mut Incidents::default(), &seconds), []);
    }

    #[test]
    fn two_programs_are_two_incidents_and_the_end_of_the_watch_ends_both() {
        let mut incidents = Incidents::default();
        let one = times(4, findings("cpu-quota", &["web"]));
        let both = times(9, findings("cpu-quota", &["db", "web"]));
        let began = events(&mut incidents, &[one, both].concat());
        let began: Vec<&str> = began.iter().map(|one| one.began.as_str()).collect();
        assert_eq!(began, ["second 1", "second 5"]);
        let ended = incidents.end_all();
        assert_eq!(ended.len(), 2);
        assert!(ended.iter().all(|one| one.event == Change::Ended), "{ended:?}");
        assert!(incidents.end_all().is_empty());
    }

    #[test]
    fn a_stall_that_becomes_another_one_is_one_incident() {
        let mut incidents = Incidents::default();
        let first = times(20, findings("cpu-quota", &["web"]));
        let then = times(20, findings("quota-blind", &["web"]));
        let none = times(90, Live::default());
        let all = events(&mut incidents, &[first, then, none].concat());
        let [began, ended] = &all[..] else { panic!("{all:?}") };
        assert_eq!((&ended.id, ended.lasted_s), (&began.id, Some(40.0)));
        assert_eq!(ended.finding.stall, "quota-blind");
    }

    #[test]
    fn a_quota_is_one_incident_whichever_program_it_throttles_most() {
        let ticks = [throttled(["nginx", "php"]), throttled(["php", "nginx"])];
        let lives = ticks
            .map(|tick| live(&Window::of([&tick]), &Since::default(), &Scope::default(), &[], ""));
        let victims = lives.each_ref().map(|live| live.findings[0].victim.name.clone());
        assert_eq!(victims, ["nginx", "php"]);
        let seconds: Vec<Live> = (0..30).map(|at| lives[at % 2].clone()).collect();
        let mut incidents = Incidents::default();
        let began = events(&mut incidents, &seconds);
        let [began] = &began[..] else { panic!("{began:?}") };
        assert_eq!(began.id, "cpu-quota:nginx:/a");
        let ended = incidents.end_all();
        let [ended] = &ended[..] else { panic!("{ended:?}") };
        assert_eq!((&ended.id, ended.lasted_s), (&began.id, Some(30.0)));
    }

    #[test]
    fn another_limit_of_the_same_group_is_another_incident() {
        let sample = |stall: &str, victim: &str| {
            let all = crate::findings::samples().into_iter();
            let mut found = all.clone().find(|one| one.stall == stall).unwrap();
            found.victim.name = victim.to_owned();
            Live { findings: vec![found], ..Live::default() }
        };
        let [quota, memory] = [sample("cpu-quota", "nginx"), sample("memory-high", "cache")];
        let seconds = [times(9, quota), times(9, memory)].concat();
        let mut incidents = Incidents::default();
        let began = events(&mut incidents, &seconds);
        let began: Vec<&str> = began.iter().map(|one| one.finding.stall.as_str()).collect();
        assert_eq!(began, ["cpu-quota", "memory-high"]);
    }

    #[test]
    fn two_quotas_that_throttle_one_program_at_once_are_told_apart() {
        let of = |group: &str| {
            let mut samples = crate::findings::samples().into_iter();
            let mut found = samples.find(|one| one.stall == "cpu-quota").unwrap();
            let mut facts: serde_json::Value = found.facts.read().unwrap();
            facts["group"] = group.into();
            found.facts = Opaque::of(&facts);
            found.victim.name = "web".to_owned();
            found
        };
        let both = Live { findings: vec![of("/pod/web"), of("/pod")], ..Live::default() };
        let mut incidents = Incidents::default();
        let began = events(&mut incidents, &times(9, both));
        let ids: Vec<&str> = began.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["cpu-quota:web:/pod/web", "cpu-quota:web:/pod"]);
        assert_eq!(began[0].began, began[1].began);
        let ended: Vec<String> = incidents.end_all().into_iter().map(|one| one.id).collect();
        assert_eq!(ended, ids);
    }

    #[test]
    fn a_group_that_invents_names_leaves_room_for_others() {
        let mut incidents = Incidents::default();
        let names: Vec<String> = (0..MOST).map(|number| format!("eve{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut crowd = findings("cpu-quota", &names);
        let mut other = findings("cpu-quota", &["web"]).findings;
        other[0].victim.group = Some("/web".to_owned());
        crowd.findings.extend(other);
        let began = events(&mut incidents, &times(9, crowd));
        assert_eq!(began.len(), MOST_OF_GROUP + 1);
        assert!(incidents.has_dropped() && began.iter().any(|one| one.id.ends_with(":/web")));
    }
}
