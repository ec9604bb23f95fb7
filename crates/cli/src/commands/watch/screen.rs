//! The live screen: programs by lost time, findings above, one line of answers below.
//!
//! The screen is drawn from a [`Live`] and a [`State`] only, so a test can draw it without a
//! terminal.

use model::Live;
use model::live::{Answer, AnswerState, Finding, NotMeasurable, Program, Victim};
use model::prose::figures::plural;
use os::terminal::line as plain;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Row, Table, TableState, Wrap};
use report::Look;
use report::prose::live as words;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use watch::Summary;

/// Most lines of findings on a small screen, or of the summary if there is none. On a large
/// screen they may take half of it.
const FINDING_LINES: u16 = 12;

/// Lines of everything else, with a table of four programs.
const OTHER_LINES: u16 = 9;

/// Most lines of Erlang nodes.
const NODE_LINES: u16 = 4;

/// The help on keys, one line per key.
const HELP: [&str; 6] = [
    "q, Esc, ^C     end",
    "up, down, j, k  choose a program",
    "Enter, space   show threads, and programs that held it up",
    "s              sort by: lost, quota, others, lock, worst",
    "f              show the next finding in full",
    "?, h           this help",
];

/// The sort order of the programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// By all lost time.
    #[default]
    Lost,
    /// By the time lost to quotas.
    Quota,
    /// By the time lost to other programs.
    Others,
    /// By the time lost to their mmap lock.
    Lock,
    /// By the worst single wait.
    Worst,
}

impl Sort {
    fn next(self) -> Self {
        match self {
            Sort::Lost => Sort::Quota,
            Sort::Quota => Sort::Others,
            Sort::Others => Sort::Lock,
            Sort::Lock => Sort::Worst,
            Sort::Worst => Sort::Lost,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Sort::Lost => "lost",
            Sort::Quota => "quota",
            Sort::Others => "others",
            Sort::Lock => "lock",
            Sort::Worst => "worst",
        }
    }

    fn key(self, victim: &Victim) -> u64 {
        match self {
            Sort::Lost => victim.lost_ns(),
            Sort::Quota => victim.parts.quota_ns(),
            Sort::Others => victim.parts.neighbours_ns(),
            Sort::Lock => victim.lock.ns,
            Sort::Worst => victim.worst_ns(),
        }
    }
}

/// The choices of the user.
#[derive(Debug, Default)]
pub struct State {
    sort: Sort,
    chosen: usize,
    /// Names and groups of unfolded programs.
    unfolded: BTreeSet<(String, Option<String>)>,
    finding: usize,
    help: bool,
}

impl State {
    /// Handles a key. Returns whether to continue.
    pub fn key(&mut self, key: KeyEvent, live: Option<&Live>) -> bool {
        let all = live.map_or(0, |live| live.victims.len());
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('f') => self.finding = self.finding.wrapping_add(1),
            KeyCode::Down | KeyCode::Char('j') => {
                self.chosen = (self.chosen + 1).min(all.saturating_sub(1));
            }
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Enter | KeyCode::Char(' ') => self.unfold(live),
            _ => {}
        }
        true
    }

    fn unfold(&mut self, live: Option<&Live>) {
        let Some(live) = live else { return };
        if let Some(victim) = self.sorted(live).get(self.chosen) {
            let name = id(victim);
            if !self.unfolded.remove(&name) {
                self.unfolded.insert(name);
            }
        }
    }

    fn sorted<'a>(&self, live: &'a Live) -> Vec<&'a Victim> {
        let mut all: Vec<&Victim> = live.victims.iter().collect();
        all.sort_by_key(|victim| Reverse(self.sort.key(victim)));
        all
    }
}

fn id(victim: &Victim) -> (String, Option<String>) {
    (victim.program.name.clone(), victim.program.group.clone())
}

/// Draws the whole screen.
pub fn draw(frame: &mut Frame, live: Option<&Live>, state: &State) {
    let Some(live) = live else {
        frame.render_widget(
            Paragraph::new("watching; the first figures come in a second"),
            frame.area(),
        );
        return;
    };
    let nodes = node_lines(live);
    let found = found_lines(live, state);
    let others = OTHER_LINES + NODE_LINES * u16::from(!nodes.is_empty());
    let room = frame
        .area()
        .height
        .saturating_sub(others)
        .clamp(2, FINDING_LINES.max(frame.area().height / 2));
    let findings = height(&found, frame.area().width).min(room);
    let rows = [
        Constraint::Length(1),
        Constraint::Length(findings),
        Constraint::Length(NODE_LINES * u16::from(!nodes.is_empty())),
        Constraint::Min(3),
        Constraint::Length(2),
        Constraint::Length(1),
    ];
    let [head, top, about, table, answers, foot] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(head_line(live)), head);
    frame.render_widget(Paragraph::new(found).wrap(Wrap { trim: true }), top);
    frame.render_widget(Paragraph::new(nodes).wrap(Wrap { trim: true }), about);
    draw_table(frame, table, live, state);
    frame.render_widget(Paragraph::new(answers_line(live)).wrap(Wrap { trim: true }), answers);
    let keys = format!("q end  enter unfold  s sort: {}  ? help", state.sort.word());
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(keys).style(dim), foot);
    if state.help {
        draw_help(frame);
    }
}

/// How many stalls cannot be measured here, with the reason of the first one; then the answers that
/// were measured, as far as there is room. What only needs a node or a longer watch does not count.
fn answers_line(live: &Live) -> String {
    let reason = |answer: &Answer| {
        let AnswerState::NotMeasurable(why) = &answer.state else { return None };
        let is_left_out = matches!(
            why,
            NotMeasurable::NoNode | NotMeasurable::NotInside | NotMeasurable::TooShort(_)
        );
        (!is_left_out).then(|| words::not_measurable(why))
    };
    let reasons: Vec<String> = live.answers.iter().filter_map(reason).collect();
    let measured = words::measured(live.answers.iter());
    match reasons.first() {
        None => measured,
        Some(first) => {
            let stalls = plural(reasons.len() as u64, "stall");
            format!("Not measurable here: {stalls} ({first}). {measured}")
        }
    }
}

/// The answers of the asked Erlang nodes, then the figures of all nodes.
fn node_lines(live: &Live) -> Vec<Line<'static>> {
    let inside = live.inside.iter().map(words::inside);
    let outside = live.nodes.iter().map(|node| words::node(node, live.over_ns));
    inside.chain(outside).take(usize::from(NODE_LINES)).map(Line::raw).collect()
}

fn head_line(live: &Live) -> String {
    let (machine, cost) = (&live.machine, &live.cost);
    let all = live.over_ns as f64 * f64::from(machine.cpus);
    let busy = |busy: u64| format!(" {:.0}% busy", busy as f64 / all.max(1.0) * 1e2);
    let busy = machine.busy_ns.map(busy).unwrap_or_default();
    let programs = cost.programs_ms_per_s.unwrap_or(0.0);
    format!(
        "watch: {}, last {:.0} s; {} CPUs{busy}; own cost {:.1} ms/s",
        words::looked_at(live),
        live.over_ns as f64 / 1e9,
        machine.cpus,
        cost.tool_ms_per_s + programs,
    )
}

/// The number of lines that these take on a screen of this width.
fn height(lines: &[Line], width: u16) -> u16 {
    let look = Look { color: false, width: usize::from(width.max(1)), why: false };
    let of = |line: &Line| look.lines(&line.to_string());
    u16::try_from(lines.iter().map(of).sum::<usize>()).unwrap_or(u16::MAX)
}

/// A finding, after a larger loss that has no finding; the summary if there is no finding.
fn found_lines(live: &Live, state: &State) -> Vec<Line<'static>> {
    let colored = |text: String, color| Line::styled(text, Style::new().fg(color));
    let summary = ::watch::summary(live);
    if live.findings.is_empty() {
        let is_well = matches!(summary, Summary::AllWell(_));
        let color = if is_well { Color::Green } else { Color::Yellow };
        return vec![colored(words::conclusion(live), color)];
    }
    let beside = match summary {
        Summary::FindingBeside(loss) => vec![colored(words::larger_loss(&loss), Color::Yellow)],
        _ => Vec::new(),
    };
    let number = state.finding % live.findings.len();
    let finding = finding_lines(&live.findings[number], number, live.findings.len());
    beside.into_iter().chain(finding).collect()
}

fn finding_lines(finding: &Finding, number: usize, all: usize) -> Vec<Line<'static>> {
    let sentences = words::finding(finding, crate::records::meta_of);
    let red = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
    let name = words::stall_name(&finding.stall);
    let fix = sentences.fixes.first().map_or("", String::as_str);
    let mut lines = vec![
        Line::from(vec![
            Span::styled(format!("{} of {all} {name}: ", number + 1), red),
            Span::raw(sentences.loss),
        ]),
        Line::raw(format!("{} {fix}", sentences.cause)),
    ];
    lines.extend(sentences.sleepers.map(Line::raw));
    lines.extend(sentences.command.map(|command| Line::raw(format!("Reproduce: {command}"))));
    lines
}

fn draw_table(frame: &mut Frame, area: Rect, live: &Live, state: &State) {
    let mut rows = Vec::new();
    let mut chosen_row = 0;
    for (index, victim) in state.sorted(live).into_iter().enumerate() {
        if index == state.chosen {
            chosen_row = rows.len();
        }
        rows.push(row(victim, live.over_ns));
        if state.unfolded.contains(&id(victim)) {
            rows.extend(unfolded(victim, live.over_ns));
        }
    }
    // With a space between the columns, 23 of 80 characters are left for a name.
    let widths =
        [vec![Constraint::Min(20)], vec![Constraint::Length(6); 7], vec![Constraint::Length(7)]]
            .concat();
    let others = words::COLUMNS.into_iter().chain(["worst"]);
    let others = others.map(|word| Line::raw(word).right_aligned());
    let heading: Vec<Line> = std::iter::once(Line::raw("lost, ms/s")).chain(others).collect();
    let table = Table::new(rows, widths)
        .header(Row::new(heading).style(Style::new().add_modifier(Modifier::BOLD)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut at = TableState::default().with_selected(Some(chosen_row));
    frame.render_stateful_widget(table, area, &mut at);
}

fn row(victim: &Victim, over_ns: u64) -> Row<'static> {
    let mut cells = vec![Line::raw(label(&victim.program))];
    let times = words::columns(victim).map(|ns| words::rate(ns, over_ns));
    cells.extend(times.map(|time| Line::raw(time).right_aligned()));
    cells.push(Line::raw(format!("{:.1}", victim.worst_ns() as f64 / 1e6)).right_aligned());
    Row::new(cells)
}

/// The short name of a program. Its group is shown when it is unfolded.
fn label(program: &Program) -> String {
    match (program.processes, program.pid) {
        (many, _) if many > 1 => format!("{} x{many}", plain(&program.name)),
        (_, 0) => words::short_name(program),
        (_, pid) => format!("{} {pid}", plain(&program.name)),
    }
}

/// The rows below a program: its group, which programs held it up, and its threads.
fn unfolded(victim: &Victim, over_ns: u64) -> Vec<Row<'static>> {
    let dim = Style::new().add_modifier(Modifier::DIM);
    let line = |name: String, ns: u64, worst_ns: u64| {
        let mut cells = vec![Line::raw(name), Line::raw(words::rate(ns, over_ns)).right_aligned()];
        cells.resize(8, Line::raw(""));
        cells.push(Line::raw(format!("{:.1}", worst_ns as f64 / 1e6)).right_aligned());
        Row::new(cells).style(dim)
    };
    let parts = &victim.parts;
    let group = words::group_of(&victim.program).into_iter();
    let group = group.map(|group| Row::new([Line::raw(format!("  in {group}"))]).style(dim));
    let neighbours = parts
        .neighbours
        .iter()
        .map(|part| line(format!("  behind {}", label(&part.program)), part.ns, part.worst_ns));
    let ancestors = parts
        .ancestors
        .iter()
        .map(|part| line(format!("  quota of {}", words::group(part)), part.ns, 0));
    let threads = victim.threads.iter().map(|thread| {
        let name = format!("  thread {} {}", thread.tid, plain(&thread.name));
        let held_up_ns = thread.held_up_ns.max(thread.foreign_ns);
        line(name, thread.ready_ns.saturating_add(held_up_ns), thread.worst_ns)
    });
    group.chain(neighbours).chain(ancestors).chain(threads).collect()
}

fn draw_help(frame: &mut Frame) {
    let area = frame.area();
    let (width, height) = (62.min(area.width), (HELP.len() as u16 + 2).min(area.height));
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    let lines: Vec<Line> = HELP.iter().map(|line| Line::raw(*line)).collect();
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("Keys")), place);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{Missing, NeighbourPart, Parts, Sleeper, VictimThread};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn victim(name: &str, ready_ms: u64, quota_ms: u64) -> Victim {
        let ms = 1_000_000;
        Victim {
            program: Program { name: name.into(), pid: 7, processes: 1, ..Program::default() },
            parts: Parts {
                ready_ns: ready_ms * ms,
                own_quota_ns: quota_ms * ms,
                neighbours: vec![NeighbourPart {
                    program: Program { name: "hog".into(), ..Program::default() },
                    ns: (ready_ms - quota_ms) * ms,
                    worst_ns: 3 * ms,
                    ..NeighbourPart::default()
                }],
                ..Parts::default()
            },
            threads: vec![VictimThread { tid: 9, name: "worker".into(), ..Default::default() }],
            ..Victim::default()
        }
    }

    fn live() -> Live {
        Live {
            over_ns: 1_000_000_000,
            victims: vec![victim("web", 300, 0), victim("db", 200, 150)],
            answers: vec![Answer {
                stall: "neighbour".into(),
                state: AnswerState::NotHitting { most_ms_per_s: 0.0, finding_at_ms_per_s: 1.0 },
            }],
            ..Live::default()
        }
    }

    fn drawn(live: Option<&Live>, state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, live, state)).unwrap();
        terminal.backend().to_string()
    }

    fn press(state: &mut State, code: KeyCode) -> bool {
        state.key(KeyEvent::new(code, KeyModifiers::NONE), Some(&live()))
    }

    #[test]
    fn a_machine_whose_load_is_not_known_is_not_called_idle() {
        let mut live = live();
        assert!(!head_line(&live).contains("busy"));
        live.machine.cpus = 2;
        live.machine.busy_ns = Some(500_000_000);
        assert!(head_line(&live).contains("; 2 CPUs 25% busy; "));
    }

    #[test]
    fn programs_stand_in_the_order_that_is_chosen() {
        let mut state = State::default();
        let text = drawn(Some(&live()), &state, 80, 24);
        assert!(text.find("web").unwrap() < text.find("db").unwrap(), "{text}");
        assert!(text.contains("No finding, but web (pid 7)"), "{text}");
        press(&mut state, KeyCode::Char('s'));
        let text = drawn(Some(&live()), &state, 80, 24);
        assert!(text.find("web 7").unwrap() > text.find("db 7").unwrap(), "{text}");
    }

    /// The whole of each finding, with its cause and its first fix, and the program that loses
    /// most.
    #[test]
    fn nothing_of_a_finding_is_cut_off_on_a_small_screen() {
        // The drawn screen has each line in quotes.
        let whole = |text: &str| text.replace('"', "").split_whitespace().collect::<String>();
        let sleeper = |name: &str| Sleeper {
            program: Program { name: name.into(), pid: 1_234_567, ..Program::default() },
            ms_per_s: 550.0,
            futex_ms_per_s: 550.0,
            input_ms_per_s: 0.0,
        };
        for mut stall in watch::findings::samples() {
            stall.sleepers = ["postgres", "rabbitmq-server", "nginx"].map(sleeper).into();
            // The programs in the table lose more than this, and have no finding.
            stall.cost_ms_per_s = 50.0;
            let loses = live();
            let live = Live { findings: vec![stall.clone()], ..loses };
            let text = drawn(Some(&live), &State::default(), 80, 24);
            let shown = whole(&text);
            let said = words::finding(&stall, crate::records::meta_of);
            assert!(shown.contains(&whole(&said.cause)), "{}\n{text}", said.cause);
            let fix = said.fixes.first().map_or("", String::as_str);
            assert!(shown.contains(&whole(fix)), "{fix}\n{text}");
            assert!(shown.contains("Alargerlosshasnofinding:web"), "{text}");
            assert!(text.contains("web 7"), "{text}");
        }
    }

    #[test]
    fn a_program_unfolds_into_threads_and_neighbours() {
        let mut state = State::default();
        press(&mut state, KeyCode::Down);
        press(&mut state, KeyCode::Enter);
        let text = drawn(Some(&live()), &state, 80, 24);
        assert!(text.contains("behind hog") && text.contains("thread 9 worker"), "{text}");
        press(&mut state, KeyCode::Enter);
        assert!(!drawn(Some(&live()), &state, 80, 24).contains("behind hog"));
    }

    #[test]
    fn keys_end_it_and_help_goes_away_first() {
        let mut state = State::default();
        assert!(press(&mut state, KeyCode::Char('?')));
        assert!(drawn(Some(&live()), &state, 80, 24).contains("Keys"));
        assert!(press(&mut state, KeyCode::Esc));
        assert!(!press(&mut state, KeyCode::Esc) && !press(&mut state, KeyCode::Char('q')));
        let end = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(!state.key(end, None));
    }

    #[test]
    fn what_cannot_be_measured_is_said_before_the_answers() {
        let answer = |stall: &str, why| {
            let state = AnswerState::NotMeasurable(why);
            Answer { stall: stall.into(), state }
        };
        let mut live = live();
        live.answers.push(answer("blocking-nif", NotMeasurable::NoNode));
        assert!(answers_line(&live).starts_with("nothing is lost to "), "{}", answers_line(&live));
        live.answers.push(answer("mmap-lock", NotMeasurable::Missing(Missing::NoSymbols)));
        live.answers.push(answer("memory-high", NotMeasurable::Missing(Missing::NoMemoryGroups)));
        let said = answers_line(&live);
        assert!(said.starts_with("Not measurable here: 2 stalls (/proc/kallsyms hides"), "{said}");
        assert!(said.contains("kernel.kptr_restrict to 1). nothing is lost to "), "{said}");
    }

    #[test]
    fn nodes_stand_between_findings_and_programs() {
        let node = model::live::Node { name: Some("rabbit@web".into()), ..Default::default() };
        let live = Live { nodes: vec![node], ..live() };
        let text = drawn(Some(&live), &State::default(), 80, 24);
        assert!(text.find("rabbit@web").unwrap() < text.find("db 7").unwrap(), "{text}");
    }

    #[test]
    fn no_size_makes_it_panic() {
        let mut state = State { help: true, ..State::default() };
        for (width, height) in [(1, 1), (10, 3), (80, 5), (300, 100)] {
            drawn(Some(&live()), &state, width, height);
            drawn(None, &state, width, height);
        }
        for _ in 0..9 {
            assert!(press(&mut state, KeyCode::Down));
        }
        drawn(Some(&live()), &state, 80, 24);
    }
}
