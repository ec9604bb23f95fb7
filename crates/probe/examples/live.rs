//! Shows what the programs of `tailback watch` add up, for a look by hand and for benches: seconds as
//! the only argument.

use host::Roots;
use probe::live::LiveProbe;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(3), |text| text.parse())?;
    let mut probe = LiveProbe::start(&Roots::real())?;
    println!("{:?}", probe.seen());
    for _ in 0..seconds {
        std::thread::sleep(Duration::from_secs(1));
        let mut counts = probe.read()?;
        counts.threads.sort_by_key(|thread| std::cmp::Reverse(thread.ready_ns));
        println!(
            "switches {} threads {} lost {} programs {:?} tables {} unnamed {}",
            counts.switches,
            counts.threads.len(),
            counts.lost_threads,
            counts.programs_ns,
            counts.table_bytes,
            counts.unnamed_ns
        );
        counts.threads.iter().take(6).for_each(|thread| println!("  {thread:?}"));
        counts.pairs.sort_by_key(|pair| std::cmp::Reverse(pair.ns));
        counts.pairs.iter().take(6).for_each(|pair| println!("  {pair:?}"));
        counts.readers.iter().take(6).for_each(|reader| println!("  {reader:?}"));
    }
    Ok(())
}
