//! The command that makes a record anew.

use model::Record;
use os::quote;

/// The command line of a study with the seed that it drew; one of a `check` with its scenario alone.
pub fn command(record: &Record) -> String {
    let mut words: Vec<String> = vec!["tailback".to_owned()];
    let mut given = record.tool.argv.iter().skip(1).peekable();
    let of_check = given.peek().is_some_and(|word| *word == "check");
    while let Some(word) = given.next() {
        let name = word.split('=').next().unwrap_or_default();
        // What names a file, or other scenarios, has no part in what is measured.
        let own = ["--record", "--report", "--only", "--skip", "--seed"];
        match own.contains(&name) {
            true if word.contains('=') => {}
            true => drop(given.next()),
            false if word == "--json" => {}
            false => words.push(quote::word(word)),
        }
    }
    if of_check {
        words.extend(["--only".to_owned(), quote::word(&record.scenario)]);
    }
    words.extend(["--seed".to_owned(), record.plan.seed.to_string()]);
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn of(argv: &[&str]) -> String {
        let mut record = testing::record();
        record.tool.argv = argv.iter().map(|word| (*word).to_owned()).collect();
        record.plan.seed = 7;
        command(&record)
    }

    #[test]
    fn the_seed_is_named_and_files_are_not() {
        let run =
            ["/usr/bin/tailback", "run", "mmap-lock", "--record", "x y.json", "--busy", "0,10"];
        assert_eq!(of(&run), "tailback run mmap-lock --busy 0,10 --seed 7");
        assert_eq!(of(&["tailback", "run", "x", "--seed=3", "--json"]), "tailback run x --seed 7");
        let check = ["tailback", "check", "--quick", "--skip", "a,b"];
        assert_eq!(of(&check), "tailback check --quick --only mmap-lock --seed 7");
    }

    #[test]
    fn hostile_words_are_quoted() {
        assert_eq!(
            of(&["tailback", "run", "a; rm -rf /", "it's"]),
            r#"tailback run 'a; rm -rf /' "it's" --seed 7"#
        );
    }
}
