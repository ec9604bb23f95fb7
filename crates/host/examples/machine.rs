//! Prints the facts that are found about this machine, and watches it for a second.

use std::time::Duration;
use tailback_host::{self as host, Roots, Snapshot, limits, placement};

fn main() -> std::io::Result<()> {
    let roots = Roots::real();
    let machine = host::machine(&roots);
    println!("{machine:#?}");
    println!("memory available: {:?}", limits::memory_available(&roots));
    println!("max map count: {:?}", limits::max_map_count(&roots));
    println!("pid max: {:?}", limits::pid_max(&roots));
    println!("may sink to nice -20: {}", limits::can_renice_to(-20));

    let allowed = os::pin::allowed()?;
    let placement = placement::choose(&machine.cpus, &allowed);
    println!("{placement:?}");
    let before = Snapshot::take(&roots);
    std::thread::sleep(Duration::from_secs(1));
    let disturbance = before.until(&Snapshot::take(&roots));
    println!("{disturbance:#?}");
    Ok(())
}
