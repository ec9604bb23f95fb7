//! Lines that are not records and try to cause trouble.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Depth of nested brackets: far more than a parser accepts.
const DEEP: usize = 20_000;

/// The length of a name that no host has.
const LONG: usize = 100_000;

/// One hostile line; `line` is a valid record.
pub(super) fn line(line: &str, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let host = "\"host\":{\"name\":\"";
    let named = |name: &str| line.replacen(host, &format!("{host}{name}"), 1).into_bytes();
    let mut bytes = match rng.random_range(0..12) {
        0 => line.as_bytes()[..rng.random_range(1..line.len() - 1)].to_vec(),
        1 => (0..200).map(|_| rng.random_range(11..=255)).collect(),
        2 => "[".repeat(DEEP).into_bytes(),
        3 => format!("{{\"schema\":\"tailback/brief/1\",\"x\":{}", "{\"a\":".repeat(DEEP))
            .into_bytes(),
        4 => named(&"x".repeat(LONG)),
        5 => named("\\u001b[2J\\u202e"),
        6 => line.replacen("brief/1", "brief/99", 1).into_bytes(),
        7 => line.replacen("mmap-lock", "rm -rf", 1).into_bytes(),
        8 => line.replacen("\"seed\":", "\"seed\":99999999999999999999999", 1).into_bytes(),
        9 => line.replacen("\"started\":\"20", "\"started\":\"-9999999", 1).into_bytes(),
        10 => line.replacen("\"cpus\":", "\"cpus\":-", 1).into_bytes(),
        _ => b"{\"schema\":{\"tailback/brief/1\":[null,1e999,\"\\ud800\"]}}".to_vec(),
    };
    bytes.retain(|byte| *byte != b'\n');
    bytes.push(b'\n');
    bytes
}
