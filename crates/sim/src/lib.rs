//! The bandwidth controller of the kernel, simulated.
