//! Tests with a real Erlang; if there is none, each test says so and passes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
mod ending;
mod node;
mod sampling;
