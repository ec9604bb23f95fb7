//! A load with many context switches, for scripts/bench-watch. On each CPU, two threads take
//! turns and do some work in each turn. Prints the number of turns per second.
//!
//! `turns SECONDS SWITCHES` chooses the work of a turn so that all CPUs together make about
//! `SWITCHES` switches per second.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The words that the work of a turn goes through: as many as fit in a first-level cache.
const WORDS: usize = 4096;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
    let (Some(seconds), Some(switches)) = (number(0), number(1).filter(|number| *number > 0))
    else {
        eprintln!("usage: turns SECONDS SWITCHES [STEPS]");
        return ExitCode::from(2);
    };
    let cpus = os::pin::allowed().unwrap_or_else(|_| vec![0]);
    let steps = number(2).map_or_else(|| steps_for(&cpus, switches), u64::from);
    match take_turns(&cpus, Duration::from_secs(seconds.into()), steps) {
        Ok(turns) => {
            println!("{turns:.1} {steps}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("turns: {error}");
            ExitCode::from(3)
        }
    }
}

/// The work per turn that yields `switches` switches per second, found in two attempts.
fn steps_for(cpus: &[u32], switches: u32) -> u64 {
    let mut steps = 20_000;
    for _ in 0..2 {
        let turns = take_turns(cpus, Duration::from_millis(500), steps).unwrap_or(0.0);
        steps = ((steps as f64 * turns / f64::from(switches)) as u64).max(1);
    }
    steps
}

/// Turns per second, with a pair of threads on each CPU.
fn take_turns(cpus: &[u32], time: Duration, steps: u64) -> std::io::Result<f64> {
    let (over, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for &cpu in cpus {
            let (one, other) = (std::io::pipe()?, std::io::pipe()?);
            for (first, from, to) in [(true, one.0, other.1), (false, other.0, one.1)] {
                let (over, turns) = (&over, &turns);
                scope.spawn(move || {
                    // If the thread cannot be pinned, it takes its turns on another CPU.
                    let _ = os::pin::pin(cpu);
                    alternate(first, (from, to), steps, over, turns);
                });
            }
        }
        std::thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        Ok::<(), std::io::Error>(())
    })?;
    Ok(turns.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
}

/// Works when it is this thread's turn, until the time is over or the other thread has ended.
fn alternate(
    first: bool,
    (mut from, mut to): (impl Read, impl Write),
    steps: u64,
    over: &AtomicBool,
    turns: &AtomicU64,
) {
    let mut words = vec![1_u64; WORDS];
    if first && to.write_all(b"t").is_err() {
        return;
    }
    let mut done = 0;
    while !over.load(Ordering::Relaxed) && from.read_exact(&mut [0]).is_ok() {
        for step in 0..steps {
            let at = (step as usize).wrapping_mul(8) % WORDS;
            words[at] = words[at].wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
        }
        done += 1;
        if to.write_all(b"t").is_err() {
            break;
        }
    }
    std::hint::black_box(&words);
    turns.fetch_add(done, Ordering::Relaxed);
}
