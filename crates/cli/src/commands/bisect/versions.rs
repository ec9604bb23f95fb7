//! The versions of a list.

use crate::exit::Failure;
use bisect::{Answer, Found, Halving, Source};

/// Versions, in the order of the list.
pub struct Versions {
    all: Vec<String>,
    /// Whether the good end comes first. Then the stall begins between the ends; otherwise it
    /// ends there.
    begins: bool,
    halving: Halving,
}

impl Versions {
    /// The versions between the good one and the bad one. Either of them may come first.
    ///
    /// # Errors
    /// If one of them is not in the list, both are the same, or a version is in the list twice.
    pub fn new(all: Vec<String>, good: &str, bad: &str) -> Result<Self, Failure> {
        let place = |name: &str, flag: &str| {
            let found = all.iter().position(|other| other == name);
            let line = format!("{flag} {name}: not one of --kernels: {}", all.join(", "));
            found.ok_or_else(|| Failure::usage(line))
        };
        let (first, last) = (place(good, "--good")?, place(bad, "--bad")?);
        if first == last {
            return Err(Failure::usage("--good and --bad are the same version"));
        }
        if let Some(twice) = all.iter().enumerate().find(|(at, one)| all[..*at].contains(one)) {
            return Err(Failure::usage(format!("--kernels: {} appears twice", twice.1)));
        }
        let halving = Halving::new(first.min(last), first.max(last));
        Ok(Versions { all, begins: first < last, halving })
    }

    /// The answer that this version would have in a list in which the stall begins.
    fn turned(&self, answer: Answer) -> Answer {
        if self.begins { answer } else { answer.opposite() }
    }
}

impl Source for Versions {
    type Error = Failure;

    fn ends(&self) -> [String; 2] {
        let (old, new) = self.halving.ends();
        let (good, bad) = if self.begins { (old, new) } else { (new, old) };
        [self.all[good].clone(), self.all[bad].clone()]
    }

    fn next(&mut self) -> Result<Option<String>, Failure> {
        Ok(self.halving.next().map(|place| self.all[place].clone()))
    }

    fn steps(&mut self) -> Result<u32, Failure> {
        Ok(self.halving.steps())
    }

    fn tell(&mut self, version: &str, answer: Option<Answer>) -> Result<(), Failure> {
        let answer = answer.map(|answer| self.turned(answer));
        if let Some(place) = self.all.iter().position(|other| other == version) {
            self.halving.tell(place, answer);
        }
        Ok(())
    }

    fn found(&mut self) -> Result<Found, Failure> {
        let (old, new) = self.halving.ends();
        let among = self.all[old + 1..=new].to_vec();
        Ok(Found { begins: self.begins, before: self.all[old].clone(), among })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bad_end_may_be_the_older_one() {
        let all = || ["6.12", "6.16", "6.17", "6.18"].map(str::to_owned).to_vec();
        let mut versions = Versions::new(all(), "6.18", "6.12").unwrap();
        assert_eq!(versions.ends(), ["6.18", "6.12"]);
        while let Some(version) = versions.next().unwrap() {
            let bad = ["6.12", "6.16"].contains(&version.as_str());
            let answer = if bad { Answer::Bad } else { Answer::Good };
            versions.tell(&version, Some(answer)).unwrap();
        }
        let found = versions.found().unwrap();
        assert!(!found.begins, "it ends");
        assert_eq!((found.before.as_str(), found.among), ("6.16", vec!["6.17".to_owned()]));
        for (good, bad) in [("6.18", "6.18"), ("6.11", "6.18"), ("6.12", "7.0")] {
            assert!(Versions::new(all(), good, bad).is_err(), "{good} {bad}");
        }
        let twice = ["6.12", "6.16", "6.16"].map(str::to_owned).to_vec();
        assert!(Versions::new(twice, "6.12", "6.16").is_err());
    }
}
