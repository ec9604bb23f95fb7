//! Random numbers for simulations.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A standard normal random number, by Box and Muller.
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle) = (rng.random_range(1e-12..1.0f64), rng.random_range(0.0..1.0f64));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
