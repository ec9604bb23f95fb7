//! Names of kernel addresses, from /proc/kallsyms.

use host::roots::{Roots, read_text_up_to};

/// Most bytes of the table that are read; ten times the size on a common kernel.
const LIMIT: u64 = 64 << 20;

/// Functions of the kernel by address, ascending.
#[derive(Debug, Default)]
pub struct Symbols {
    all: Vec<(u64, Box<str>)>,
}

impl Symbols {
    /// Reads the table; empty if it cannot be read or hides the addresses.
    pub fn read(roots: &Roots) -> Self {
        let text = read_text_up_to(&roots.proc.join("kallsyms"), LIMIT).unwrap_or_default();
        Symbols::parse(&text)
    }

    /// Whether no function is known: the table could not be read, or it hides the addresses.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The functions in the text of /proc/kallsyms.
    pub fn parse(text: &str) -> Self {
        let mut all: Vec<(u64, Box<str>)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_ascii_whitespace();
                let address = u64::from_str_radix(words.next()?, 16).ok()?;
                let kind = words.next()?;
                let is_code = matches!(kind, "t" | "T" | "w" | "W");
                (address > 0 && is_code).then(|| words.next().map(|name| (address, name.into())))?
            })
            .collect();
        all.sort_by_key(|(address, _)| *address);
        Symbols { all }
    }

    /// The address ranges of the functions whose names pass `is_wanted`; each range ends at the
    /// next function.
    pub fn ranges(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
        let of = |pair: &[(u64, Box<str>)]| is_wanted(&pair[0].1).then(|| (pair[0].0, pair[1].0));
        self.all.windows(2).filter_map(of).collect()
    }

    /// The function that contains an address; the address as text if no function is known.
    pub fn name(&self, address: u64) -> String {
        let after = self.all.partition_point(|(start, _)| *start <= address);
        match after.checked_sub(1).and_then(|index| self.all.get(index)) {
            Some((_, name)) => name.to_string(),
            None => format!("{address:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_is_in_the_function_before_it() {
        let symbols = Symbols::parse("20 T down_write\n10 t schedule\n18 D data\n30 T up\t[mod]\n");
        assert_eq!(symbols.name(0x1F), "schedule");
        assert_eq!(symbols.name(0x20), "down_write");
        assert_eq!(symbols.name(0x999), "up");
        assert_eq!(symbols.name(0x1), "0x1");
        let hidden = Symbols::parse("0 T hidden\n");
        assert_eq!((hidden.name(5).as_str(), hidden.is_empty()), ("0x5", true));
        assert!(!symbols.is_empty());
        assert_eq!(symbols.ranges(|name| name.starts_with("down")), [(0x20, 0x30)]);
    }

    proptest! {
        #[test]
        fn any_text_is_a_table(text in ".{0,300}", address in any::<u64>()) {
            Symbols::parse(&text).name(address);
        }
    }
}
