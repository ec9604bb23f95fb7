//! Which judge an answer is of.

use crate::Row;

/// A digest of the sources that decide, for each scenario and for what is simulated; `build.rs`
/// takes it.
const JUDGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/judges.rs"));

/// The judge that this program has for a row: 16 hexadecimal digits, which are others where sources
/// changed that could change its answer. These are the statistics, the types of records, what all
/// scenarios share, and the scenario of the row; for a simulated row also the simulation. None
/// where the row runs no scenario that there is.
pub fn of(row: &Row) -> Option<&'static str> {
    let name = match &row.simulate {
        Some(_) => "simulated".to_owned(),
        None => row.scenario()?.replace('-', "_"),
    };
    JUDGES.iter().find(|(of, _)| *of == name).map(|(_, digest)| *digest)
}

/// The judge of each scenario, and of what is simulated, a line each.
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
