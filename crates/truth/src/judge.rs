//! The judge of an answer.

use crate::Row;

/// The digests of the sources that decide, for each scenario and for simulated rows; computed by
/// `build.rs`.
const JUDGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/judges.rs"));

/// The judge of this program for a row: 16 hexadecimal digits. They change if a source changes
/// that could change an answer of the row. These sources are the statistics, the types of
/// records, the common parts of scenarios, and the scenario of the row. For a simulated row they
/// include the simulation. None if the row runs an unknown scenario.
pub fn of(row: &Row) -> Option<&'static str> {
    let name = match &row.simulate {
        Some(_) => "simulated".to_owned(),
        None => row.scenario()?.replace('-', "_"),
    };
    JUDGES.iter().find(|(of, _)| *of == name).map(|(_, digest)| *digest)
}

/// The judges of each scenario and of simulated rows, one per line.
pub fn list() -> String {
    JUDGES.iter().map(|(of, digest)| format!("{digest} {of}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{parse, tests::ROW};

    #[test]
    fn each_scenario_and_the_simulation_have_a_judge_of_their_own() {
        assert_eq!(JUDGES.len(), scenarios::ALL.len() + 1);
        let judge = |text: &str| of(&parse(text).unwrap()[0]).map(str::to_owned);
        let real = judge(ROW).unwrap();
        assert!(real.len() == 16 && real.bytes().all(|digit| digit.is_ascii_hexdigit()), "{real}");
        let command = r#"command = "run mmap-lock --procfile status --busy '0,10'""#;
        assert_ne!(judge(&ROW.replace("mmap-lock", "cpu-quota")).unwrap(), real);
        assert_ne!(judge(&ROW.replace(command, "simulate = {}")).unwrap(), real);
        assert_eq!(judge(&ROW.replace("mmap-lock", "no-such")), None);
    }
}
