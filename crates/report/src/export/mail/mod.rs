//! A ladder as a regression report to the kernel developers, in the form that
//! Documentation/admin-guide/reporting-regressions.rst in the Linux sources asks for. A person
//! reads and sends it; tailback does not send it.

mod names;
mod refusal;
mod release;
mod upstream;

use super::reproducer::{self, reproducer};
use crate::prose::{ladder as prose, plain};
use crate::{Look, ReportError, Shown, repro, text};
use model::ladder::{Ladder, Step};
use model::prose::figures::{plural, signed};
use model::{Judged, Machine, State};
use names::{Names, without_folders};
use release::Introduced;
use std::fmt::Write as _;
use upstream::Upstream;

/// The width of mails.
const LOOK: Look = Look { color: false, width: 72, why: false };

/// Digits of a checksum that are enough to distinguish kernels.
const DIGITS: usize = 16;

/// Why the difference is not exactly the difference of the two effects.
const SHIFT: &str = "The difference between two kernels is the median over all pairs of their \
                     blocks. So it is not exactly the difference between their effects.";

/// What the commands after this text do.
const HOW: &str = "tailback runs a case with the cause beside a control without the cause. The \
                   first command runs both in a guest of each kernel in turns, and then in fresh \
                   pairs of guests, side by side. The second command runs both on the newer kernel \
                   alone.";

/// Distributions whose name is in the build string of their kernels (`uname -v`).
const DISTRIBUTIONS: [&str; 2] = ["Debian", "Ubuntu"];

/// Distributions by a mark in the release of their kernels (`uname -r`). A number follows the mark.
const MARKS: [(&str, &str); 4] = [
    (".fc", "Fedora"),
    (".el", "RHEL or a distribution like it"),
    (".amzn", "Amazon Linux"),
    ("-arch", "Arch Linux"),
];

/// The end of the releases of SUSE.
const END_OF_SUSE: &str = "-default";

/// A report, and the remaining work of its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The report, with the header lines To, Cc and Subject.
    pub text: String,
    /// The steps before it is sent, one per line.
    pub before: Vec<String>,
    /// The two kernels that it compares, the better one first, by the names of their records.
    pub kernels: [String; 2],
}

/// The data of a report.
struct Report<'a> {
    ladder: &'a Ladder,
    step: &'a Step,
    good: Shown<'a>,
    bad: Shown<'a>,
    introduced: Introduced,
    upstream: &'static Upstream,
}

/// Checks that a scenario shows a stall of the kernel, which its developers want reported.
///
/// # Errors
/// If it does not.
pub fn is_of_the_kernel(scenario: &str) -> Result<(), ReportError> {
    upstream::of(scenario).map(drop).map_err(ReportError::NoMail)
}

/// The report of a ladder of kernels. `runs` are the records of its versions, under the names of
/// the versions.
///
/// # Errors
/// If the ladder shows no regression, or only steps that do not count as one.
pub fn mail(ladder: &Ladder, runs: &[Shown]) -> Result<Mail, ReportError> {
    let names = Names::of(ladder);
    let ladder = names.ladder(ladder);
    let of = |short: &str| runs.iter().find(|run| names.short(run.name) == short);
    let asked = |short: &str| of(short).map_or_else(String::new, |run| run.name.to_owned());
    let records: Vec<(String, Judged)> =
        runs.iter().map(|run| (names.short(run.name), without_folders(run.record))).collect();
    let shown: Vec<Shown> = records
        .iter()
        .zip(runs)
        .map(|((name, record), run)| Shown::new(record, run.meta, name))
        .collect();
    let report = Report::of(&ladder, &shown).map_err(ReportError::NoMail)?;
    let mut text = report.head() + &report.body();
    let mut before = report.before();
    match reproducer(&report.bad) {
        Ok(program) => text.push_str(&report.program(&program)),
        Err(error) => before.push(format!("write a program that shows the stall: {error}")),
    }
    Ok(Mail { text, before, kernels: [&report.good, &report.bad].map(|run| asked(run.name)) })
}

/// The remaining work with the configurations of both kernels, the better one first. `files` has
/// the files that were written.
pub fn to_attach(files: &[Option<String>; 2]) -> String {
    match files {
        [Some(good), Some(bad)] => format!("attach both configurations: {good} and {bad}"),
        [Some(one), None] => format!("attach {one} and the .config of the worse kernel"),
        [None, Some(one)] => format!("attach {one} and the .config of the better kernel"),
        [None, None] => "attach the .config of both kernels".to_owned(),
    }
}

impl<'a> Report<'a> {
    fn of(ladder: &'a Ladder, runs: &[Shown<'a>]) -> Result<Self, String> {
        let steps = refusal::rising(ladder)?;
        let upstream = upstream::of(&ladder.scenario)?;
        let of = |step| Report::of_step(ladder, step, runs, upstream);
        let mut reports = steps.into_iter().map(of);
        let largest = reports.next().unwrap_or_else(|| Err("there is no step".to_owned()));
        largest.or_else(|why| reports.find_map(Result::ok).ok_or(why))
    }

    fn of_step(
        ladder: &'a Ladder,
        step: &'a Step,
        runs: &[Shown<'a>],
        upstream: &'static Upstream,
    ) -> Result<Self, String> {
        let run = |name: &str| {
            let found = runs.iter().find(|run| run.name == name).copied();
            found.ok_or_else(|| format!("there is no record of {}", plain(name)))
        };
        let (good, bad) = (run(&step.from)?, run(&step.to)?);
        let [older, newer] = refusal::releases(ladder, step)?;
        refusal::of_step(ladder, step, good.record, bad.record)?;
        let introduced = release::introduced(&older, &newer).ok_or_else(|| {
            let [from, to] = [plain(&step.from), plain(&step.to)];
            format!(
                "{from} and {to} have the same name in git; find the commit with tailback bisect"
            )
        })?;
        Ok(Report { ladder, step, good, bad, introduced, upstream })
    }

    /// The mail headers.
    fn head(&self) -> String {
        let stable = self.introduced.stable.then_some(upstream::STABLE);
        let lists = self.upstream.lists.iter().copied();
        let copies: Vec<&str> =
            std::iter::once(upstream::REGRESSIONS).chain(lists).chain(stable).collect();
        format!(
            "To: {}\nCc: {}\nSubject: [REGRESSION] {}\n\n",
            upstream::KERNEL,
            copies.join(", "),
            self.title()
        )
    }

    /// The name of the stall.
    fn stall(&self) -> String {
        self.bad.meta.map_or_else(|| plain(&self.ladder.scenario), |meta| meta.title.into())
    }

    /// One line with the stall, the size of the regression, and the two releases.
    fn title(&self) -> String {
        let shift = self.step.shift.as_ref();
        let by = shift.map(|shift| signed(shift.shift, shift.unit)).unwrap_or_default();
        let [from, to] = self.releases();
        format!("{}: {by} from {from} to {to}", self.stall())
    }

    /// Both releases. Versions are only their numbers, if these differ.
    fn releases(&self) -> [String; 2] {
        let both = [self.good, self.bad].map(|run| release(run.record));
        let short = both.each_ref().map(|whole| release::short(whole).to_owned());
        if short[0] == short[1] { both } else { short }
    }

    fn body(&self) -> String {
        let [from, to] = self.releases();
        let mut said = vec![
            format!(
                "In Linux {to} this stall is larger than in {from}: {}.{}",
                self.stall(),
                self.emulated()
            ),
            format!("First bad version measured: {}", version(self.ladder, self.bad)),
            format!("{}: {}", self.last_good(), version(self.ladder, self.good)),
            format!("In {to}: {}", self.bad.prose().headline()),
        ];
        said.extend(prose::followed(self.ladder, self.bad.meta));
        said.extend(prose::boundaries(self.ladder));
        said.push(SHIFT.to_owned());
        let regzbot = format!(
            "#regzbot introduced: {}\n#regzbot title: {}\n\n",
            self.introduced.range,
            self.title()
        );
        let kernels: Vec<&str> = self.ladder.rungs.iter().map(|rung| rung.name.as_str()).collect();
        let both = repro::matrix(self.bad.record, &kernels);
        let alone = repro::command(self.bad.record);
        [
            paragraphs(&said),
            self.others(),
            regzbot,
            paragraphs(&self.range()),
            self.conditions(),
            paragraphs(&[HOW.to_owned()]),
            format!("  {both}\n\n  {alone}\n"),
        ]
        .concat()
    }

    /// A warning about sizes if the guests were emulated.
    fn emulated(&self) -> &'static str {
        let guest = self.bad.record.machine.guest.as_ref();
        match guest.is_some_and(|guest| guest.emulated()) {
            true => {
                " It was measured in emulated guests. Their times stretch, so the sizes do not hold \
                 for real machines: only differences between case and control, and between kernels, \
                 count."
            }
            false => "",
        }
    }

    /// The label of the older kernel.
    fn last_good(&self) -> &'static str {
        match self.good.record.judgement.state {
            State::Affected => "Last better version measured",
            _ => "Last good version measured",
        }
    }

    /// The limits of the range.
    fn range(&self) -> Vec<String> {
        let tags = &self.introduced.not_measured;
        let said = (!tags.is_empty()).then(|| {
            format!(
                "Not measured, but the bases of measured releases: {}. The change may also be in a \
                 stable series only.",
                tags.join(", ")
            )
        });
        said.into_iter().collect()
    }

    /// The versions outside the step, one per line.
    fn others(&self) -> String {
        let other = |name: &str| name != self.step.from && name != self.step.to;
        let others = self.ladder.rungs.iter().filter(|rung| other(&rung.name));
        let line = |(name, release): (&str, &str)| {
            let effect = effect_of(self.ladder, name);
            format!("  {} ({}): {effect}\n", plain(release), plain(name))
        };
        let lines: String = others.map(|rung| line((&rung.name, &rung.release))).collect();
        match lines.is_empty() {
            true => lines,
            false => format!("Other versions:\n{lines}\n"),
        }
    }

    /// The machine and both kernels.
    fn conditions(&self) -> String {
        let machine = &self.bad.record.machine;
        let mut said = vec![on(machine)];
        if let Some(guest) = &machine.guest {
            let (qemu, host) = (plain(&guest.qemu), plain(&guest.host_kernel));
            let cpus = plural(guest.host_cpus.into(), "CPU");
            said.push(format!(
                "It is a guest of QEMU {qemu}. Its host has Linux {host} and {cpus}."
            ));
        }
        let mut lines = paragraphs(&said);
        for run in [self.bad, self.good] {
            lines.push_str(&kernel(run.record));
        }
        let who: Vec<String> = self.distributions().iter().map(|who| format!("{who}.")).collect();
        lines + &paragraphs(&who)
    }

    /// The kernels that are builds of a distribution.
    fn distributions(&self) -> Vec<String> {
        let of = |run: &Shown| {
            let machine = &run.record.machine;
            let name = distribution(&machine.kernel_build, &machine.kernel)?;
            Some(format!("Kernel {} is a build of {name}", release(run.record)))
        };
        [self.bad, self.good].iter().filter_map(of).collect()
    }

    /// Whether the kernels are known to have different configurations.
    fn differ_in_configuration(&self) -> bool {
        let of = |run: Shown<'a>| (run.record.machine.hz, &run.record.machine.preemption);
        of(self.good) != of(self.bad)
    }

    /// The program that shows the stall without tailback.
    fn program(&self, program: &str) -> String {
        let both = match self.good.record.judgement.state {
            State::Affected => {
                " The older kernel has the stall too: run the program on both kernels, and compare \
                 the averages."
            }
            _ => "",
        };
        let needs = match reproducer::need(&self.bad.record.scenario) {
            None => "only a C compiler.".to_owned(),
            Some(need) => format!("a C compiler. {need}"),
        };
        let how = format!("The program below shows the stall; it needs {needs}{both}");
        let build = "  gcc -O2 -pthread -o stall stall.c && ./stall";
        format!("\n{}{build}\n\n----- stall.c -----\n{program}", paragraphs(&[how]))
    }

    /// The remaining work of the sender.
    fn before(&self) -> Vec<String> {
        let sources: Vec<String> =
            self.upstream.sources.iter().map(|source| format!("-f {source}")).collect();
        let mut steps = vec![
            "check https://lore.kernel.org/regressions/ and \
             https://linux-regtracking.leemhuis.info/regzbot/ for an existing report"
                .to_owned(),
            "measure the newest mainline kernel too".to_owned(),
            format!(
                "add to the To field the addresses that this prints: scripts/get_maintainer.pl {}",
                sources.join(" ")
            ),
        ];
        let vanilla = "measure two kernels from kernel.org with the same configuration";
        if self.differ_in_configuration() {
            steps.push(format!("{vanilla}: these kernels differ in HZ or preemption"));
        } else if !self.distributions().is_empty() {
            steps.push(format!("{vanilla}: one or both of these are from a distribution"));
        }
        if !self.emulated().is_empty() {
            steps.push(
                "the guests were emulated: show the stall on a real machine or with KVM".to_owned(),
            );
        }
        steps.push(
            "send the mail as plain text without line wrapping, or attach stall.c".to_owned(),
        );
        steps
    }
}

/// The distribution that has built a kernel, by its build string and its release.
fn distribution(build: &str, release: &str) -> Option<&'static str> {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let has = |mark: &str| release.split(mark).skip(1).any(is_number);
    let named = DISTRIBUTIONS.into_iter().find(|name| build.contains(name));
    let marked = || MARKS.into_iter().find(|(mark, _)| has(mark)).map(|(_, name)| name);
    named.or_else(marked).or_else(|| release.ends_with(END_OF_SUSE).then_some("SUSE"))
}

/// Sentences, one paragraph each.
fn paragraphs(said: &[String]) -> String {
    said.iter().map(|said| LOOK.wrap(said, "", "") + "\n\n").collect()
}

/// A version with its verdict and its effect.
fn version(ladder: &Ladder, run: Shown) -> String {
    let (release, name, state) = (release(run.record), plain(run.name), run.record.judgement.state);
    format!("{release} ({name}): {state}, {}.", effect_of(ladder, run.name))
}

/// The effect of a version, with its interval.
fn effect_of(ladder: &Ladder, name: &str) -> String {
    let rung = ladder.rungs.iter().find(|rung| rung.name == name);
    rung.and_then(prose::effect).unwrap_or_else(|| "no figure".to_owned())
}

/// The machine in one sentence.
fn on(machine: &Machine) -> String {
    let mut words = vec![plain(&machine.arch)];
    words.extend(machine.cpu_model.as_deref().map(plain));
    words.push(plural(machine.cpus.len() as u64, "CPU"));
    let gib = |bytes: u64| format!("{:.1} GiB of memory", bytes as f64 / f64::from(1 << 30));
    words.extend(machine.memory_bytes.map(gib));
    format!("Machine: {}.", words.join(", "))
}

/// A kernel: its build, its known options, and the start of its checksum.
fn kernel(record: &Judged) -> String {
    let machine = &record.machine;
    let mut text = format!("{}\n  {}\n", text::host(machine), plain(&machine.kernel_build));
    if let Some(guest) = &machine.guest {
        let sum: String = plain(&guest.kernel_sha256).chars().take(DIGITS).collect();
        let _ = writeln!(text, "  SHA-256 of its image begins with {sum}");
    }
    text + "\n"
}

/// The kernel release of a study.
fn release(record: &Judged) -> String {
    plain(&record.machine.kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing as of;
    use model::change::ChangeReason;
    use model::ladder::{Repeated, Rung};
    use model::{ChangeState, Comparison, State, testing};

    /// A version with this effect.
    fn rung(name: &str, release: &str, effect: f64) -> Rung {
        let effect = Comparison {
            low: Some(effect - 10.0),
            high: Some(effect + 10.0),
            ..testing::shift(effect)
        };
        Rung {
            name: name.to_owned(),
            release: release.to_owned(),
            preemption: None,
            verdict: Some(State::Affected),
            effect: Some(effect),
        }
    }

    /// A step between two versions, confirmed by fresh pairs.
    fn step(from: &str, to: &str, by: f64) -> Step {
        let shift =
            Comparison { low: Some(by - 15.0), high: Some(by + 15.0), ..testing::shift(by) };
        Step {
            shift: Some(shift),
            repeated: Some(Repeated { pairs: vec![by; 5], alike: 5, needed: 5, among: 1 }),
            ..testing::step(from, to, ChangeState::Differs)
        }
    }

    fn ladder(rungs: Vec<Rung>, steps: Vec<Step>) -> Ladder {
        Ladder {
            scenario: "mmap-lock".into(),
            arm: Some("case".into()),
            measure: Some("lost".into()),
            margin: Some(20.0),
            rungs,
            ..testing::ladder(steps)
        }
    }

    fn run(release: &str) -> Judged {
        let mut record = of::record();
        record.scenario = "mmap-lock".to_owned();
        record.machine.kernel = release.to_owned();
        record.machine.kernel_build = "#1 SMP Debian 7.0.13-1".to_owned();
        record
    }

    fn refused(ladder: &Ladder) -> String {
        let runs = ["7.0.13", "7.1.13", "7.2.2"].map(run);
        let names = ["a", "b", "c"];
        let shown: Vec<Shown> =
            runs.iter().zip(names).map(|(run, name)| Shown::new(run, None, name)).collect();
        mail(ladder, &shown).unwrap_err().to_string()
    }

    fn rungs() -> Vec<Rung> {
        vec![rung("a", "7.0.13", 536.0), rung("b", "7.1.13", 778.0), rung("c", "7.2.2", 14.0)]
    }

    #[test]
    fn a_report_names_both_versions_the_range_and_what_was_not_tried() {
        let mut ladder = ladder(rungs(), vec![step("a", "b", 244.0)]);
        ladder.rungs.pop();
        ladder.rungs.insert(0, rung("old", "6.12.1", 907.0));
        let runs = ["7.0.13+deb14", "7.1.13+deb14"].map(run);
        let shown = [
            Shown::new(&runs[0], Some(&of::META), "a"),
            Shown::new(&runs[1], Some(&of::META), "b"),
        ];
        let mail = mail(&ladder, &shown).unwrap();
        let text = &mail.text;
        let subject = "Subject: [REGRESSION] something stalls: +244 ms/s from 7.0.13 to 7.1.13\n";
        assert!(text.contains(subject), "{text}");
        assert!(text.contains("\n#regzbot introduced: v7.0..v7.1\n"), "{text}");
        assert!(text.contains("bases of measured releases: v7.0, v7.1."), "{text}");
        assert!(!text.contains("stable@") && text.contains("\nCc: regressions@"), "{text}");
        let bad =
            "First bad version measured: 7.1.13+deb14 (b): affected, +778 ms/s [768,\n788].\n";
        assert!(text.contains(bad), "{text}");
        assert!(text.contains("Other versions:\n  6.12.1 (old): +907 ms/s [897, 917]\n"), "{text}");
        assert!(mail.before.iter().any(|line| line.contains("measure two kernels")), "{mail:?}");
        assert_eq!(mail.kernels, ["a", "b"]);
        let free = |line: &&str| line.starts_with(['#', ' ']);
        let wide = |line: &&str| line.chars().count() > 72 && !free(line);
        let body = text.lines().skip_while(|line| !line.is_empty());
        assert_eq!(body.filter(wide).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn a_distribution_is_known_by_the_build_or_the_release() {
        assert_eq!(distribution("#1 SMP Debian 7.0.13-1", "7.0.13+deb14"), Some("Debian"));
        for (release, name) in [
            ("6.11.5-300.fc41.x86_64", "Fedora"),
            ("5.14.0-503.11.1.el9_5.x86_64", "RHEL or a distribution like it"),
            ("6.1.102-111.182.amzn2023.x86_64", "Amazon Linux"),
            ("6.10.5-arch1-1", "Arch Linux"),
            ("6.4.0-150600.21-default", "SUSE"),
        ] {
            assert_eq!(distribution("#1 SMP PREEMPT_DYNAMIC", release), Some(name), "{release}");
        }
        for release in ["7.1.0", "7.1.0-rc2", "7.1.0-fcmy", "7.1.0.elm", "7.1.0-default-mine"] {
            assert_eq!(distribution("#1 SMP", release), None, "{release}");
        }
    }

    #[test]
    fn a_report_tells_nobody_where_the_kernels_are() {
        let names = ["/home/me/a/linux", "/home/me/b/linux"];
        let rungs = vec![rung(names[0], "7.0.0", 536.0), rung(names[1], "7.1.0-rc2", 778.0)];
        let other = Step {
            reasons: vec![ChangeReason::NoTrials { record: names[1].to_owned() }],
            ..testing::step(names[1], "c", ChangeState::NotComparable)
        };
        let ladder = ladder(rungs, vec![step(names[0], names[1], 244.0), other]);
        let mut runs = ["7.0.0", "7.1.0-rc2"].map(run);
        for (run, name) in runs.iter_mut().zip(names) {
            let kernel_name = name.to_owned();
            let root = Some("/home/me/root".to_owned());
            let guest = model::machine::Guest { kernel_name, root, ..Default::default() };
            run.machine.guest = Some(guest);
            run.tool.argv[0] = "/home/me/arm64/tailback".to_owned();
            run.machine.kernel_build = "#1 SMP".to_owned();
        }
        let shown: Vec<Shown> = runs
            .iter()
            .zip(names)
            .map(|(run, name)| Shown::new(run, Some(&of::META), name))
            .collect();
        let mail = mail(&ladder, &shown).unwrap();
        assert_eq!(mail.kernels, names, "the names of the records, not the short ones");
        let text = mail.text;
        assert!(!text.contains("/home/me"), "{text}");
        // Both commands name it.
        assert!(text.matches(" --program ./tailback ").count() >= 2, "{text}");
        assert!(text.contains("7.1.0-rc2 (linux (2)): affected, +778"), "{text}");
        assert!(
            text.contains("introduced: v7.0..v7.1-rc2\n") && !text.contains("a build of"),
            "{text}"
        );
        assert!(text.contains(": +244 ms/s from 7.0.0 to 7.1.0-rc2\n"), "not yet 7.1: {text}");
    }

    #[test]
    fn a_program_that_makes_control_groups_has_to_run_as_root() {
        let how = |scenario: &str| {
            let two = ladder(rungs()[..2].to_vec(), vec![step("a", "b", 244.0)]);
            let ladder = Ladder { scenario: scenario.to_owned(), ..two };
            let mut runs = ["7.0.13", "7.1.13"].map(run);
            runs.iter_mut().for_each(|run| run.scenario = scenario.to_owned());
            let shown = [Shown::new(&runs[0], None, "a"), Shown::new(&runs[1], None, "b")];
            let text = Report::of(&ladder, &shown).unwrap().program("int main");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(how("mmap-lock").contains("; it needs only a C compiler. The older"));
        let quota = how("cpu-quota");
        assert!(quota.contains("; it needs a C compiler. Run it as root: it makes"), "{quota}");
        assert!(how("memory-high").contains("Run it as root, with cgroup v2: it makes"));
    }

    #[test]
    fn what_shows_no_regression_is_refused_with_the_reason() {
        let equal = Step { repeated: None, ..step("a", "b", 2.0) };
        assert!(refused(&ladder(rungs(), vec![equal])).contains("no boundary is named"));
        let falls = ladder(rungs(), vec![step("b", "c", -764.0)]);
        assert!(refused(&falls).contains("c stalls less than b, which is no regression"));
        let again = ladder(rungs(), vec![step("a", "b", 244.0)]);
        assert!(
            refused(&again)
                .contains("c stalls no more than a: check whether it fixes the stall of b")
        );
        let turned = vec![rung("a", "7.1.13", 536.0), rung("b", "7.0.13", 778.0)];
        let turned = ladder(turned, vec![step("a", "b", 244.0)]);
        assert!(refused(&turned).contains("name the older version first"));
        let same = vec![rung("a", "7.1.13", 536.0), rung("b", "7.1.13+own", 778.0)];
        assert!(
            refused(&ladder(same, vec![step("a", "b", 244.0)]))
                .contains("have the same name in git")
        );
        // The case of these records loses 900 ms/s.
        let two = || rungs()[..2].to_vec();
        let small = refused(&ladder(two(), vec![step("a", "b", 50.0)]));
        assert!(
            small.contains("the difference may be less than 50 ms/s, which is 5% of the old"),
            "{small}"
        );
        // The lower end of the interval decides; here it is 15 ms/s below the difference.
        let limit = |by: f64| ladder(two(), vec![step("a", "b", by)]);
        assert!(refused(&limit(64.0)).contains("the difference may be less than 50 ms/s"));
        let shown = ["7.0.13", "7.1.13"].map(run);
        let shown = [Shown::new(&shown[0], None, "a"), Shown::new(&shown[1], None, "b")];
        assert!(mail(&limit(66.0), &shown).is_ok());
        let slope = Ladder { whole: Some(step("a", "b", 244.0)), ..ladder(two(), Vec::new()) };
        assert!(refused(&slope).contains("not known between which two versions"));
        let mut other = ladder(two(), vec![step("a", "b", 244.0)]);
        other.measure = Some("another".to_owned());
        assert!(refused(&other).contains("b is affected in another figure, not in"));
        other.scenario = "busy-wait".to_owned();
        assert!(
            refused(&other)
                .contains("busy-wait shows no stall of the kernel; these scenarios do: mmap-lock")
        );
        assert!(is_of_the_kernel("busy-wait").is_err() && is_of_the_kernel("cpu-quota").is_ok());
    }
}
