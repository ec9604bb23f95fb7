//! Reads the answers of `msgq_flood`.

use super::observe::{Cost, Flood};
use beam::Term;
use beam::term::{self, as_atom, as_f64, as_text, as_tuple, as_u64, each, field};
use model::AtWork;

/// Reads the answer of `msgq_flood:measure`.
pub(super) fn flood(map: &Term) -> term::Read<Flood> {
    let number = |key: &str| field(map, key, as_f64);
    Ok(Flood {
        offered: number("offered")?,
        drained: number("drained")?,
        failed: number("failed")?,
        duplicated: number("duplicated")?,
        out_of_order: number("out_of_order")?,
        // The value is an atom if the flood was ended early.
        lost: field(map, "lost", |lost| Ok(as_f64(lost).ok()))?,
        killed: number("killed")?,
        wall_us: number("wall_us")?,
        drain_rate: number("drain_rate")?,
        wait_p99_us: wait_p99(map)?,
        server_high: number("server_queue_high")?,
        dam_high: number("dam_queue_high")?,
        both_high: number("both_queues_high")?,
        memory: number("memory_bytes")?,
        queues: queues(map)?,
        errors: field(map, "errors", |lines| each(lines, as_text))?,
    })
}

fn pair(term: &Term) -> term::Read<(f64, f64)> {
    let [first, second] = as_tuple::<2>(term)?;
    Ok((as_f64(first)?, as_f64(second)?))
}

/// If nothing was sent, the quantile is an atom, which means None.
fn wait_p99(map: &Term) -> term::Read<Option<f64>> {
    let quantile = |term: &Term| {
        let [part, us] = as_tuple::<2>(term)?;
        Ok((as_f64(part)?, as_f64(us).ok()))
    };
    let quantiles = field(map, "wait_us", |list| each(list, quantile))?;
    Ok(quantiles.into_iter().find(|(part, _)| *part == 0.99).and_then(|(_, us)| us))
}

/// All three series come from the same samples.
fn queues(map: &Term) -> term::Read<Vec<(f64, [f64; 3])>> {
    let series = |key: &str| field(map, key, |list| each(list, pair));
    let (server, dam, held) = (series("server_queue")?, series("dam_queue")?, series("dam_held")?);
    let rows = server.into_iter().zip(dam).zip(held);
    Ok(rows.map(|(((at, server), (_, dam)), (_, held))| (at, [server, dam, held])).collect())
}

/// Reads the answer of `msgq_flood:cost`, sorted by length.
pub(super) fn costs(map: &Term) -> term::Read<Vec<Cost>> {
    let timed = |term: &Term| {
        let [length, times] = as_tuple::<2>(term)?;
        Ok((as_f64(length)?, each(times, as_f64)?))
    };
    let looked = |term: &Term| {
        let [_, seen] = as_tuple::<2>(term)?;
        each(seen, seen_in)
    };
    let timed = field(map, "costs", |list| each(list, timed))?;
    let looked = field(map, "functions", |list| each(list, looked))?;
    let both = timed.into_iter().zip(looked);
    let mut costs: Vec<Cost> =
        both.map(|((length, times_us), seen)| Cost { length, times_us, seen }).collect();
    costs.sort_by(|a, b| a.length.total_cmp(&b.length));
    Ok(costs)
}

fn seen_in(term: &Term) -> term::Read<AtWork> {
    let [function, samples] = as_tuple::<2>(term)?;
    let [module, name, arity] = as_tuple::<3>(function)?;
    let place = format!("{}:{}/{}", as_atom(module)?, as_atom(name)?, as_u64(arity)?);
    Ok(AtWork { place, samples: as_u64(samples)? })
}

/// Reads the answer of `msgq_flood:rate`: writes per second.
pub(super) fn rate(map: &Term) -> term::Read<f64> {
    field(map, "rate", as_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use beam::term::{atom, float, list, map, text, tuple, uint};

    fn answer(lost: Term) -> Term {
        let numbers = [
            "offered",
            "drained",
            "failed",
            "duplicated",
            "out_of_order",
            "killed",
            "wall_us",
            "server_queue_high",
            "dam_queue_high",
            "both_queues_high",
            "memory_bytes",
        ];
        let series = |n: u64| list(vec![tuple(vec![uint(5), uint(n)])]);
        let quantile = |q: f64, us: f64| tuple(vec![float(q).unwrap(), float(us).unwrap()]);
        let mut pairs: Vec<(&str, Term)> =
            numbers.into_iter().zip(1..).map(|(name, n)| (name, uint(n))).collect();
        pairs.extend([
            ("lost", lost),
            ("drain_rate", float(2.5).unwrap()),
            ("wait_us", list(vec![quantile(0.5, 1.0), quantile(0.99, 64.0)])),
            ("server_queue", series(10)),
            ("dam_queue", series(20)),
            ("dam_held", series(30)),
            ("errors", list(vec![text("file write: full")])),
        ]);
        map(pairs)
    }

    #[test]
    fn a_flood_is_read() {
        let read = flood(&answer(uint(7))).unwrap();
        assert_eq!((read.offered, read.lost, read.wait_p99_us), (1.0, Some(7.0), Some(64.0)));
        assert_eq!(read.queues, [(5.0, [10.0, 20.0, 30.0])]);
        assert_eq!(flood(&answer(atom("unknown"))).unwrap().lost, None);
        assert!(flood(&uint(1)).is_err());
    }

    #[test]
    fn costs_come_by_length_with_what_was_seen() {
        let at = |length: u64, last: Term| tuple(vec![uint(length), last]);
        let times = || list(vec![float(1.5).unwrap(), uint(2)]);
        let function = tuple(vec![atom("gen"), atom("do_call"), uint(4)]);
        let seen = list(vec![tuple(vec![function, uint(9)])]);
        let answer = map([
            ("costs", list(vec![at(9, times()), at(0, times())])),
            ("functions", list(vec![at(9, seen), at(0, list(vec![]))])),
        ]);
        let read = costs(&answer).unwrap();
        assert_eq!(read[0].length, 0.0);
        assert_eq!(read[1].times_us, [1.5, 2.0]);
        assert_eq!(read[1].seen, [AtWork { place: "gen:do_call/4".to_owned(), samples: 9 }]);
    }
}
