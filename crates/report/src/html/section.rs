//! One record on the page.

use super::{card, data, environment, explanation, figure};
use crate::chart::{self, Chart, MOST_ROWS, Table, pick};
use crate::prose::{self, plain};
use crate::{Look, ReportError, Shown, advice, repro};
use maud::{Markup, html};
use model::prose::figures;
use model::{Judged, Series, Trial, Unit};
use std::collections::BTreeMap;

/// Largest total size of the charts of a record, in bytes.
const MOST_CHARTS: usize = 600_000;

/// Largest total size of the downloads of all records, in bytes.
const MOST_DATA: usize = 400_000;

/// Most figures with a chart of their own.
const MOST_MEASURES: usize = 4;

/// Most series that are drawn.
const MOST_SERIES: usize = 6;

/// Most entries of each list of changes or sentences.
const MOST_TOLD: usize = 20;

/// The section of one record. The page has `of` records.
///
/// # Errors
/// If a chart could not be drawn.
pub fn section(one: &Shown, place: usize, of: usize) -> Result<Markup, ReportError> {
    let record = one.record;
    let (charts, left_out) = fitting(charts(one)?);
    let downloads = data::downloads(record, one.name, MOST_DATA / of.max(1));
    Ok(html! {
        section.record id={ "r" (place) } aria-label={ (plain(&record.scenario)) ": details" } {
            h2 { (card::pill(record.judgement.state)) " " (plain(&record.scenario)) }
            @if of > 1 { p.small { (plain(one.name)) ", " (plain(&record.started)) ", Linux " (plain(&record.machine.kernel)) } }
            @if of > 1 { p.headline { (one.prose().headline()) } }
            (changes(one))
            (live(one))
            (explanation::block(one.explanation, one.meta))
            @if !charts.is_empty() {
                div.charts {
                    @for (number, chart) in charts.iter().enumerate() {
                        (figure::figure(chart, &format!("r{place}c{number}")))
                    }
                }
            }
            @if left_out > 0 { p.note { (left_out) " charts are left out, so that the page stays small." } }
            (why(one))
            div.two {
                div { h3 { "Where it was measured" } (figure::scroll(&environment::environment(record), "machine")) }
                div {
                    h3 { "How to run it again" }
                    code.command { (repro::command(record)) }
                    h3 { "The data" }
                    (downloads)
                    @if let Some(meta) = one.meta {
                        h3 { "What this is" }
                        p { (meta.about) }
                        @if let Some(matters) = one.prose().matters() { p { (matters) } }
                    }
                }
            }
        }
    })
}

/// The output of `tailback watch`. The commands are left to `tailback explain`.
fn live(one: &Shown) -> Markup {
    let look = Look { why: true, ..Look::default() };
    html! {
        @if let Some(live) = &one.record.live {
            h3 { "What was seen" }
            div.scroll tabindex="0" role="region" aria-label="What was seen" {
                pre { (crate::live::live(live, |_| None, look)) }
            }
        }
    }
}

/// All changes that were tried or may help, if the card at the top of the page does not have room
/// for them.
fn changes(one: &Shown) -> Markup {
    let advice = advice::of(one.record, one.meta);
    html! {
        @if advice.len() > card::MOST_ADVICE {
            h3 { "All that was tried, or may help" }
            (card::list(&advice, MOST_TOLD))
        }
    }
}

/// The reasons and the limits of the verdict, and the notes.
fn why(one: &Shown) -> Markup {
    let prose = one.prose();
    let notes: Vec<String> = prose.notes().into_iter().chain(prose.left_out()).collect();
    html! {
        (sentences("Why", &prose.why()))
        (sentences("Notes", &notes))
        @if !one.record.judgement.arms.is_empty() { (all_figures(one.record)) }
    }
}

fn all_figures(record: &Judged) -> Markup {
    let table = arms(record);
    let all: usize = record.judgement.arms.iter().map(|arm| arm.measures.len()).sum();
    html! {
        h3 { "All figures" }
        (figure::details(&table, "all arms"))
        @if let Some(note) = figure::left_out(all, "the rest is in the record") { p.note { (note) } }
    }
}

fn sentences(heading: &str, all: &[String]) -> Markup {
    html! {
        @if !all.is_empty() {
            h3 { (heading) }
            ul.advice { @for sentence in all.iter().take(MOST_TOLD) { li { (sentence) } } }
            @if all.len() > MOST_TOLD { p.note { (all.len() - MOST_TOLD) " more are in the record." } }
        }
    }
}

/// The estimates of the arms, as many as a table has rows.
fn arms(record: &Judged) -> Table {
    let mut table =
        Table::new(["arm", "verdict", "hung", "figure", "median", "interval", "over the control"]);
    let arms = record.judgement.arms.iter();
    let all = arms.flat_map(|arm| arm.measures.iter().map(move |figure| (arm, figure)));
    for (arm, (name, estimate)) in all.take(MOST_ROWS) {
        let over = arm.against_control.get(name);
        table.rows.push(vec![
            arm.id.clone(),
            arm.state.map_or("-", model::State::word).to_owned(),
            arm.hangs.to_string(),
            format!("{name} {}", estimate.unit.symbol()),
            estimate.figure(),
            estimate.interval(),
            over.map_or_else(|| "-".to_owned(), figures::shift),
        ]);
    }
    table
}

/// Every chart for which the record has data, the most important first.
fn charts(one: &Shown) -> Result<Vec<Chart>, ReportError> {
    let record = one.record;
    let measures = measures(one);
    let mut charts = Vec::new();
    if let Some(wait) = one.explanation.and_then(|told| told.waits.first()) {
        charts.extend(chart::timeline::timeline(wait)?);
    }
    let mut first = measures.iter();
    let described = |name: &str| one.meta.and_then(|meta| meta.measure(name));
    if let Some(name) = first.next() {
        charts.extend(chart::strip::strip(record, name, described(name))?);
        charts.extend(chart::stalls::stalls(record)?);
        charts.extend(chart::dose::dose(record, name, described(name))?);
    }
    charts.extend(chart::latency::latencies(record)?);
    charts.extend(series(one)?);
    for name in first {
        charts.extend(chart::strip::strip(record, name, described(name))?);
    }
    Ok(charts)
}

/// The deciding figure first, then the other judged ones, then those that the scenario puts into
/// its table.
fn measures<'a>(one: &'a Shown) -> Vec<&'a str> {
    let plan = &one.record.plan;
    let decided = one.record.judgement.measure.as_deref();
    let mut names: Vec<&str> = vec![decided.unwrap_or(&plan.judging.measure)];
    let judged = std::iter::once(&plan.judging).chain(&plan.also);
    let judged = judged.map(|judging| judging.measure.as_ref());
    let columns = one.meta.map_or(&[][..], |meta| meta.measures).iter().filter(|m| m.column);
    for name in judged.chain(columns.map(|measure| measure.name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(MOST_MEASURES);
    names
}

/// A chart of each series, from typical trials of the most important arms.
fn series(one: &Shown) -> Result<Vec<Chart>, ReportError> {
    let record = one.record;
    let arms = pick::telling(record, |trial| !trial.observation.series.is_empty());
    let has = |trial: &Trial| !trial.observation.series.is_empty();
    let trials: Vec<&Trial> =
        arms.iter().filter_map(|arm| pick::typical(record, arm, has)).collect();
    let mut names: BTreeMap<&str, Unit> = BTreeMap::new();
    for trial in &trials {
        names.extend(trial.observation.series.iter().map(|(name, s)| (name.as_str(), s.unit)));
    }
    let mut charts = Vec::new();
    for name in names.keys().take(MOST_SERIES) {
        charts.extend(one_series(one, name, &trials)?);
    }
    Ok(charts)
}

fn one_series(one: &Shown, name: &str, trials: &[&Trial]) -> Result<Vec<Chart>, ReportError> {
    let mut charts = Vec::new();
    charts.extend(chart::scatter::scatter(one.record, name, trials, one.meta)?);
    let found =
        || trials.iter().filter_map(|trial| Some((*trial, trial.observation.series.get(name)?)));
    let over_time = |(trial, series): &(&Trial, &Series)| {
        !series.rows.is_empty() && trial.observation.is_over_time(name)
    };
    let drawn: Vec<(&Trial, &Series)> = found().filter(over_time).collect();
    let Some((_, first)) = drawn.first() else { return Ok(charts) };
    let what = prose::series(name, first, one.meta);
    if drawn.iter().all(|(_, series)| series.columns.len() == 1) {
        charts.extend(chart::lines::arms(one.record, &drawn, &what)?);
        return Ok(charts);
    }
    let most = chart::heat::most(drawn.iter().map(|(_, series)| *series));
    let ends = drawn.iter().filter_map(|(_, series)| series.at_ms.last().copied());
    let until = ends.fold(0.0, f64::max);
    for (trial, series) in drawn {
        charts.push(match series.columns.len() > chart::lines::MOST_LINES {
            true => chart::heat::heat(trial, series, &what, most)?,
            false => chart::lines::lines(trial, series, &what, until, most)?,
        });
    }
    Ok(charts)
}

/// The charts that fit the page, in their order, and the number of those that do not.
fn fitting(charts: Vec<Chart>) -> (Vec<Chart>, usize) {
    let all = charts.len();
    let mut bytes = 0;
    let fits = |chart: &Chart| {
        let cells = chart.table.rows.iter().flatten().map(|cell| cell.len() + 9).sum::<usize>();
        bytes += chart.body.len() + cells;
        bytes <= MOST_CHARTS
    };
    let charts: Vec<Chart> = charts.into_iter().take_while(fits).collect();
    let left_out = all - charts.len();
    (charts, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_a_watch_saw_scrolls_within_the_page() {
        let mut record = testing::record();
        record.facts.live = Some(model::live::Live::default());
        let section = section(&Shown::new(&record, None, "a"), 0, 1).unwrap().into_string();
        assert!(section.contains("class=\"scroll\" tabindex=\"0\""), "{section}");
        assert!(section.contains("aria-label=\"What was seen\"><pre>"), "{section}");
    }

    #[test]
    fn a_table_without_all_figures_says_so() {
        let mut record = testing::record();
        let figures = |record: &Judged| all_figures(record).into_string();
        assert!(!figures(&record).contains("rows are listed"));
        let case = &mut record.judgement.arms[1];
        let estimate = case.measures["lost"].clone();
        for number in 0..250 {
            case.measures.insert(format!("figure{number}"), estimate.clone());
        }
        assert_eq!(arms(&record).rows.len(), MOST_ROWS);
        let page = figures(&record);
        assert!(page.contains("200 of 252 rows are listed; the rest is in the record"), "{page}");
        assert_eq!(page.matches("<tr>").count(), 201);
    }

    #[test]
    fn every_judged_figure_has_a_chart() {
        let mut record = testing::record();
        let also = model::Judging { measure: "other".into(), ..record.plan.judging.clone() };
        record.plan.also = vec![also];
        record.judgement.measure = Some("other".to_owned());
        assert_eq!(measures(&Shown::new(&record, None, "a")), ["other", "lost"]);
    }
}
