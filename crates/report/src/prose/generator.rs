//! Problems of a load generator.

use model::generator::{GeneratorEnd, GeneratorProblem};
use os::terminal::line as plain;

/// The problem of a load generator, without a full stop.
pub fn generator(problem: &GeneratorProblem) -> String {
    let GeneratorProblem { role, pid, what } = problem;
    let role = plain(role);
    let who = match pid {
        Some(pid) => format!("{role} (pid {pid})"),
        None => role.clone(),
    };
    match what {
        GeneratorEnd::NotStarted { program, error } => {
            format!("{who}: cannot start {}: {}", plain(program), plain(error))
        }
        // The message already names the generator.
        GeneratorEnd::GaveUp { message } => plain(message),
        GeneratorEnd::Killed { signal } => {
            format!("{who} was killed by signal {signal}; tailback did not do that")
        }
        GeneratorEnd::Exited { code } => {
            format!("{who} ended early with exit code {code}; tailback did not do that")
        }
        GeneratorEnd::Closed => format!("{who} closed its output; tailback did not do that"),
        GeneratorEnd::WorkersKilled { killed, workers, signal } => {
            let group = pid.map_or_else(String::new, |pid| format!(" (process group {pid})"));
            format!(
                "{killed} of {workers} workers of the load{group} were killed by signal {signal}; \
                 tailback did not do that"
            )
        }
        GeneratorEnd::NotReady { limit_ms } => {
            format!("{who} did not get ready within {}", limit(*limit_ms))
        }
        GeneratorEnd::NoReport { limit_ms } => {
            format!("{who} did not report within {}", limit(*limit_ms))
        }
        GeneratorEnd::Message { message } => {
            format!("{who} sent an unexpected message: {}", plain(message))
        }
        GeneratorEnd::System { error } => format!("{who}: {}", plain(error)),
    }
}

/// A limit in the form of a parameter: `30s`.
fn limit(ms: u64) -> String {
    format!("{:?}", std::time::Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_is_named_with_its_process() {
        let of = |pid, what| {
            let role = "mapper\u{1b}[2J".to_owned();
            generator(&GeneratorProblem { role, pid, what })
        };
        assert_eq!(
            of(Some(7), GeneratorEnd::Killed { signal: 9 }),
            "mapper [2J (pid 7) was killed by signal 9; tailback did not do that"
        );
        assert_eq!(
            of(Some(7), GeneratorEnd::NoReport { limit_ms: 30_000 }),
            "mapper [2J (pid 7) did not report within 30s"
        );
        let killed = GeneratorEnd::WorkersKilled { killed: 1, workers: 9, signal: 9 };
        assert!(of(Some(7), killed).starts_with("1 of 9 workers of the load (process group 7)"));
    }
}
