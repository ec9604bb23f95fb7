//! Numbers of processes, threads and sessions: those of the PID namespace that /proc shows. What is
//! outside it has none there, and is told by the kernel's number with marks that no PID has.

/// Outside the namespace.
const OUTSIDE: u32 = 1 << 31;

/// And a thread of the kernel.
const OF_KERNEL: u32 = 1 << 30;

/// Whether /proc does not know this number, since it is of outside the namespace.
pub fn is_outside(number: u32) -> bool {
    number & OUTSIDE != 0
}

/// Whether it is that of a thread of the kernel, as seen from inside a namespace.
pub fn is_kernel_outside(number: u32) -> bool {
    number & (OUTSIDE | OF_KERNEL) == OUTSIDE | OF_KERNEL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pid_is_taken_for_one_of_outside() {
        // The kernel gives no larger one (PID_MAX_LIMIT).
        let largest = 4 << 20;
        for pid in [0, 1, largest] {
            assert!(!is_outside(pid) && !is_kernel_outside(pid));
            assert!(is_outside(OUTSIDE | pid) && !is_kernel_outside(OUTSIDE | pid));
            let of_kernel = OUTSIDE | OF_KERNEL | pid;
            assert!(is_outside(of_kernel) && is_kernel_outside(of_kernel));
        }
    }
}
