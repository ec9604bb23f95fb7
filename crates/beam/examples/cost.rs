//! The cost of driving and watching a node: `cargo run --release -p tailback-beam --example
//! cost`.

use beam::{App, Flags, Node, NodeOptions, Otp, ThreadSampler, term};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

const CALLS: u32 = 5000;

fn main() -> Result<(), Box<dyn Error>> {
    let erl = std::env::args().nth(1);
    let began = Instant::now();
    let otp = Otp::find(erl.as_deref().map(Path::new))?;
    println!("OTP {} (erts {}) found in {:?}", otp.release, otp.erts, began.elapsed());
    let cache = tempfile::tempdir()?;
    let began = Instant::now();
    let app = App::prepare(&otp, cache.path())?;
    println!("application compiled in {:?}; NIF: {:?}", began.elapsed(), app.nif);
    let began = Instant::now();
    App::prepare(&otp, cache.path())?;
    println!("found again in {:?}", began.elapsed());
    let options = NodeOptions { flags: Flags::parse("+S 24:24")?, ..NodeOptions::default() };
    let began = Instant::now();
    let mut node = Node::start(&otp, &app, options, &|| false)?;
    println!("node started in {:?}: {:?}", began.elapsed(), node.hello());
    calls(&mut node)?;
    let before = cpu_time();
    let sampler = ThreadSampler::start(Path::new("/proc"), node.pid(), Duration::from_millis(10))?;
    std::thread::sleep(Duration::from_secs(2));
    let report = sampler.finish();
    let spent = cpu_time().saturating_sub(before);
    let each = spent / u32::try_from(report.samples)?;
    println!(
        "{} samples of {} threads in {:?}: {each:?} of CPU time a sample",
        report.samples,
        report.totals.len(),
        report.lasted
    );
    for total in &report.totals {
        println!("{} {:?}", total.name, total.kind);
    }
    let began = Instant::now();
    println!("ended by itself: {} in {:?}", node.stop(Duration::from_secs(10)), began.elapsed());
    Ok(())
}

fn calls(node: &mut Node) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    for _ in 0..CALLS {
        let args = vec![term::int(1), term::int(2)];
        let limit = Duration::from_secs(10);
        node.call("erlang", "+", args, limit, &|| false, &mut |_, _| {})?;
    }
    println!("{:?} a call", began.elapsed() / CALLS);
    Ok(())
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
