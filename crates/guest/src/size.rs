//! Valid sizes of guests.

use crate::error::GuestError;

/// The smallest memory of a guest without its initramfs, in bytes.
const MIN_MEMORY: u64 = 192 << 20;

/// Memory that each CPU of a guest needs, in bytes.
const MEMORY_PER_CPU: u64 = 2 << 20;

/// Most CPUs of QEMU's machine without an interrupt remapper.
const MOST_CPUS: u32 = 255;

/// Most emulated CPUs per host CPU. With more, even booting takes minutes.
const MOST_CPUS_PER_HOST_CPU: u32 = 32;

/// Checks the size that the user asks for against the host.
///
/// `guests` is the number of guests that exist at the same time: each gets a part of the memory.
/// `host_cpus` is the number of CPUs that this process may use. `available` is the memory that
/// the host can give, in bytes, if that is known. `initramfs` is the size of the initramfs.
///
/// # Errors
/// If it is less than the guest needs, or more than the host has.
pub fn check(
    cpus: u32,
    memory: u64,
    guests: usize,
    host_cpus: u32,
    available: Option<u64>,
    initramfs: u64,
) -> Result<(), GuestError> {
    let most = MOST_CPUS.min(MOST_CPUS_PER_HOST_CPU.saturating_mul(host_cpus.max(1)));
    if cpus == 0 || cpus > most {
        return Err(GuestError::Size(format!(
            "--cpus {cpus}: use 1 to {most} on this host, which has {host_cpus} CPUs"
        )));
    }
    // While the kernel unpacks the initramfs, it holds both forms in memory.
    let least = MIN_MEMORY + 2 * initramfs + u64::from(cpus) * MEMORY_PER_CPU;
    if memory < least {
        return Err(GuestError::Size(format!(
            "--memory {}: too little for a guest with {cpus} CPUs; give it {} or more",
            mib(memory),
            mib(least)
        )));
    }
    let share = available.map(|available| available / guests.max(1) as u64);
    match share {
        Some(share) if memory > share => Err(GuestError::Room(format!(
            "--memory {}: this host has {} left{}; give {} less, or free some memory",
            mib(memory),
            mib(share),
            if guests > 1 { format!(" for each of {guests} guests") } else { String::new() },
            if guests > 1 { "them" } else { "the guest" }
        ))),
        _ => Ok(()),
    }
}

fn mib(bytes: u64) -> String {
    format!("{}MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_without_sense_are_refused_with_what_would_do() {
        let try_it =
            |cpus, memory_mib: u64| check(cpus, memory_mib << 20, 1, 2, Some(8 << 30), 6 << 20);
        assert!(try_it(4, 512).is_ok());
        assert!(try_it(64, 512).is_ok());
        for (cpus, memory, word) in
            [(0, 512, "--cpus"), (65, 512, "64"), (4, 100, "212MiB"), (4, 9000, "8192MiB left")]
        {
            let error = try_it(cpus, memory).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        assert!(check(256, 8 << 30, 1, 64, None, 0).is_err());
        assert!(check(255, 8 << 30, 1, 64, None, 0).is_ok());
    }

    #[test]
    fn the_memory_is_for_all_guests_together() {
        let many = |guests| check(2, 3 << 30, guests, 2, Some(8 << 30), 0);
        assert!(many(1).is_ok() && many(2).is_ok());
        let error = many(4).unwrap_err().to_string();
        let expected = "--memory 3072MiB: this host has 2048MiB left for each of 4 guests; give \
                        them less, or free some memory";
        assert_eq!(error, expected);
    }
}
