//! Ids of processes, threads and sessions, in the PID namespace that /proc shows. A process
//! outside it has no id there. It gets the kernel's number with mark bits that no PID has.

/// Mark of an id from outside the namespace.
const OUTSIDE: u32 = 1 << 31;

/// Additional mark of a kernel thread.
const OF_KERNEL: u32 = 1 << 30;

/// Whether /proc does not know this id, since it is from outside the namespace.
pub fn is_outside(number: u32) -> bool {
    number & OUTSIDE != 0
}

/// Whether this is the id of a kernel thread, seen from inside a namespace.
pub fn is_kernel_outside(number: u32) -> bool {
    number & (OUTSIDE | OF_KERNEL) == OUTSIDE | OF_KERNEL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pid_is_taken_for_one_of_outside() {
        // The largest number that the kernel gives (PID_MAX_LIMIT).
        let largest = 4 << 20;
        for pid in [0, 1, largest] {
            assert!(!is_outside(pid) && !is_kernel_outside(pid));
            assert!(is_outside(OUTSIDE | pid) && !is_kernel_outside(OUTSIDE | pid));
            let of_kernel = OUTSIDE | OF_KERNEL | pid;
            assert!(is_outside(of_kernel) && is_kernel_outside(of_kernel));
        }
    }
}
