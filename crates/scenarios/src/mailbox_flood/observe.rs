//! Turns the counts and times of the node into an observation.

use super::meta::{measure, series};
use model::{AtWork, Measure, Observation, Series, Unit};
use os::time;
use std::time::Duration;

/// The result of a flood.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Flood {
    /// Number of messages that the senders had to send.
    pub offered: f64,
    /// Number of distinct messages that were written.
    pub drained: f64,
    /// Number of writes that failed.
    pub failed: f64,
    /// Number of messages that were written more than once.
    pub duplicated: f64,
    /// Number of messages that arrived after a later message of the same sender.
    pub out_of_order: f64,
    /// Number of messages that were sent but never written. None if this is unknown.
    pub lost: Option<f64>,
    /// How often the server was killed.
    pub killed: f64,
    /// Time from the release of the senders to the last message, in microseconds.
    pub wall_us: f64,
    /// Messages written per second.
    pub drain_rate: f64,
    /// 99th percentile of the time to send a message, in microseconds.
    pub wait_p99_us: Option<f64>,
    /// Largest number of messages in the server's mailbox.
    pub server_high: f64,
    /// Largest number of messages in the dam's mailbox.
    pub dam_high: f64,
    /// Largest number of messages in both mailboxes together.
    pub both_high: f64,
    /// Largest memory of the VM, in bytes.
    pub memory: f64,
    /// Samples of the queues: time in microseconds, then the messages in the server's mailbox, in
    /// the dam's mailbox, and those that the dam holds outside its mailbox.
    pub queues: Vec<(f64, [f64; 3])>,
    /// The errors that the server reported.
    pub errors: Vec<String>,
}

/// The times of single writes at one length of the mailbox.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cost {
    /// Number of messages in the mailbox.
    pub length: f64,
    /// Time of each write, in microseconds.
    pub times_us: Vec<f64>,
    /// The functions in which the mailbox owner was seen, most frequent first.
    pub seen: Vec<AtWork>,
}

/// All measurements of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Measured {
    /// Writes per second with nothing queued.
    pub empty_rate: f64,
    /// The flood.
    pub flood: Flood,
    /// Whether each message waited for the previous one, so that nothing queued.
    pub one_at_a_time: bool,
    /// Writes timed at several lengths of the mailbox. Empty if they were not timed.
    pub costs: Vec<Cost>,
    /// CPU time of the node during the flood, in milliseconds per second.
    pub cpu_ms_per_s: Option<f64>,
}

/// The observation of a trial.
pub(super) fn observe(measured: &Measured) -> Observation {
    let flood = &measured.flood;
    let mut seen = Observation { window_ms: flood.wall_us / 1e3, ..Observation::default() };
    seen.measures.insert(measure::SLOPE.to_owned(), slope(measured));
    let mut put = |name: &str, value: Option<f64>, unit: Unit| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            seen.measures.insert(name.to_owned(), Measure::exact(value, unit));
        }
    };
    put(measure::FIT, fit(&measured.costs), Unit::Nanoseconds);
    put(measure::DRAIN_RATE, Some(flood.drain_rate), Unit::PerSecond);
    put(measure::EMPTY_RATE, Some(measured.empty_rate), Unit::PerSecond);
    let of_empty = 100.0 * flood.drain_rate / measured.empty_rate;
    put(measure::OF_EMPTY, Some(of_empty), Unit::Percent);
    put(measure::SERVER_HIGH, Some(flood.server_high), Unit::Count);
    put(measure::DAM_HIGH, Some(flood.dam_high), Unit::Count);
    put(measure::BOTH_HIGH, Some(flood.both_high), Unit::Count);
    put(measure::WAIT_P99, flood.wait_p99_us.map(|us| us / 1e3), Unit::Milliseconds);
    put(measure::MEMORY, Some(flood.memory), Unit::Bytes);
    put(measure::CPU, measured.cpu_ms_per_s, Unit::MillisecondsPerSecond);
    put(measure::LOST, flood.lost, Unit::Count);
    put(measure::OUT_OF_ORDER, Some(flood.out_of_order), Unit::Count);
    put(measure::DUPLICATED, Some(flood.duplicated), Unit::Count);
    if let Some(queues) = queues(&flood.queues) {
        seen.series.insert(series::QUEUES.to_owned(), queues);
    }
    if !measured.costs.is_empty() {
        let (lengths, costs) = curve(&measured.costs);
        seen.series.insert(series::LENGTHS.to_owned(), lengths);
        seen.series.insert(series::COST.to_owned(), costs);
    }
    seen.at_work = measured.costs.last().map(|cost| cost.seen.clone()).unwrap_or_default();
    seen
}

/// How much longer a write took than on an empty queue, divided by the messages that waited.
///
/// The number of outstanding messages falls by one with each write. So its mean over the writes
/// lies halfway between the first and the last. Messages for a decoy count like messages for the
/// server, so a fixed cost of a message has the same share in control and case. If messages come
/// one at a time, nothing waits, and the difference is divided by all messages of the flood.
fn slope(measured: &Measured) -> Measure {
    let flood = &measured.flood;
    let empty_ns = 1e9 / measured.empty_rate.max(1e-3);
    let write_ns = flood.wall_us * 1e3 / flood.drained.max(1.0);
    let outstanding = match measured.one_at_a_time {
        true => flood.offered,
        false => flood.offered - (flood.drained - 1.0).max(0.0) / 2.0,
    };
    let slope = (write_ns - empty_ns) / outstanding.max(1.0);
    match flood.drained > 0.0 {
        true => Measure::exact(slope, Unit::Nanoseconds),
        false => Measure::at_least(slope, Unit::Nanoseconds),
    }
}

/// The observation of a trial that did not end within its limit. It has a bound of the judged
/// figure, so its block is complete. What counts is that it hung.
pub(super) fn hang(offered: u64, limit: Duration) -> Observation {
    let limit_ms = time::ms(limit);
    let mut seen = Observation { window_ms: limit_ms, hang: true, ..Observation::default() };
    // No write was seen to end. So each waiting message may have cost the whole time.
    let slope = limit_ms * 1e6 / (offered as f64).max(1.0);
    let slope = Measure::at_least(slope, Unit::Nanoseconds);
    seen.measures.insert(measure::SLOPE.to_owned(), slope);
    seen
}

/// The slope of the line through all single writes.
fn fit(costs: &[Cost]) -> Option<f64> {
    let of = |cost: &Cost| {
        let length = cost.length;
        cost.times_us.iter().map(move |us| (length, us * 1e3)).collect::<Vec<_>>()
    };
    let points: Vec<(f64, f64)> = costs.iter().flat_map(of).collect();
    analysis::theil_sen::slope(&points)
}

fn queues(samples: &[(f64, [f64; 3])]) -> Option<Series> {
    let columns =
        ["server's mailbox", "dam's or decoy's mailbox", "held by the dam"].map(str::to_owned);
    let mut series = Series::new(Unit::Count, columns.to_vec());
    for (at_us, lengths) in samples {
        series.push(at_us / 1e3, lengths.iter().copied().map(Some).collect());
    }
    (!series.rows.is_empty()).then_some(series)
}

/// Two series: the lengths of the mailbox, and the time of a write at each length. The second is
/// plotted against the first.
fn curve(costs: &[Cost]) -> (Series, Series) {
    let mut lengths = Series::new(Unit::Count, vec!["messages in the mailbox".to_owned()]);
    let quartiles = ["median", "lower quartile", "upper quartile"].map(str::to_owned).to_vec();
    let mut series = Series::new(Unit::Nanoseconds, quartiles);
    series.against = Some(series::LENGTHS.to_owned());
    for (place, cost) in costs.iter().enumerate() {
        // The lengths were measured separately and in random order. So this is only a position.
        let at = place as f64;
        lengths.push(at, vec![Some(cost.length)]);
        series.push(at, [0.5, 0.25, 0.75].map(|part| quantile(&cost.times_us, part)).to_vec());
    }
    (lengths, series)
}

/// A quantile, in nanoseconds, of times in microseconds. It takes the nearest value, because many
/// values are equal.
fn quantile(times_us: &[f64], part: f64) -> Option<f64> {
    let mut times: Vec<f64> = times_us.iter().copied().filter(|time| time.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    let last = times.len().checked_sub(1)?;
    times.get((last as f64 * part).round() as usize).map(|us| us * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that takes 20 us for a write, plus 10 ns for each waiting message.
    fn flooded(offered: f64, drained: f64) -> Measured {
        let left = |n: f64| offered - n;
        let writes = (0..drained as u64).map(|n| 20.0 + 0.01 * left(n as f64));
        let wall_us: f64 = writes.sum();
        let flood = Flood {
            offered,
            drained,
            wall_us,
            drain_rate: drained * 1e6 / wall_us,
            ..Flood::default()
        };
        Measured { empty_rate: 50_000.0, flood, ..Measured::default() }
    }

    fn figure(measured: &Measured, name: &str) -> Measure {
        observe(measured).measures[name]
    }

    #[test]
    fn the_slope_is_found_whether_the_flood_was_drained_or_cut_off() {
        for drained in [1.0, 500.0, 20_000.0] {
            let slope = figure(&flooded(20_000.0, drained), measure::SLOPE);
            assert!((slope.value - 10.0).abs() < 0.01, "{drained}: {slope:?}");
        }
    }

    #[test]
    fn a_server_that_wrote_nothing_gives_a_bound() {
        let flood = Flood { offered: 1000.0, wall_us: 5e5, ..Flood::default() };
        let stuck = Measured { empty_rate: 1e5, flood, ..Measured::default() };
        let slope = figure(&stuck, measure::SLOPE);
        assert!(slope.at_least && slope.value > 4e5, "{slope:?}");
    }

    #[test]
    fn a_hang_has_the_judged_figure() {
        let hung = hang(100_000, Duration::from_secs(30));
        assert!(hung.hang && hung.measures[measure::SLOPE].at_least);
    }

    #[test]
    fn what_came_one_at_a_time_is_spread_over_the_whole_flood() {
        let flood = Flood { offered: 1e4, drained: 1e4, wall_us: 2.5e5, ..Flood::default() };
        let control =
            Measured { empty_rate: 5e4, flood, one_at_a_time: true, ..Measured::default() };
        // 25 us instead of 20 us.
        assert!((figure(&control, measure::SLOPE).value - 0.5).abs() < 1e-9);
    }

    fn cost(length: f64) -> Cost {
        let times_us = (0..9).map(|n| 5.0 + 0.007 * length + f64::from(n % 3)).collect();
        let seen = vec![AtWork { place: "m:f/1".to_owned(), samples: 3 }];
        Cost { length, times_us, seen }
    }

    #[test]
    fn writes_at_set_lengths_give_a_line_and_a_curve() {
        let costs = [0.0, 1000.0, 4000.0, 9000.0].map(cost).to_vec();
        let measured = Measured { costs, ..flooded(1000.0, 10.0) };
        assert!((figure(&measured, measure::FIT).value - 7.0).abs() < 0.1);
        let seen = observe(&measured);
        let curve = &seen.series["cost"];
        assert_eq!(curve.check(), Ok(()));
        assert_eq!(curve.rows[0], [Some(6000.0), Some(5000.0), Some(7000.0)]);
        let lengths = &seen.series[curve.against.as_ref().unwrap()];
        assert_eq!(lengths.at_ms, curve.at_ms);
        assert_eq!(lengths.rows[3], [Some(9000.0)]);
        assert_eq!(seen.at_work[0].place, "m:f/1");
    }

    #[test]
    fn what_is_not_known_is_not_there() {
        let measured = flooded(1000.0, 10.0);
        let seen = observe(&measured);
        for name in [measure::LOST, measure::FIT, measure::CPU, measure::WAIT_P99] {
            assert!(!seen.measures.contains_key(name), "{name}");
        }
        assert!(seen.at_work.is_empty() && seen.series.is_empty());
    }
}
