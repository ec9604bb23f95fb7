//! Lists of CPUs as the kernel writes them: `0-3,8,10-11`.

/// CPU numbers from this one on are rejected; the kernel's own limit is 8192.
const LIMIT: u32 = 1 << 16;

/// Reads a list of CPUs, sorted and without duplicates. An empty text is an empty list.
///
/// None if the text is no list or names CPUs that no machine has.
///
/// ```
/// assert_eq!(tailback_os::cpulist::parse("0-2,8"), Some(vec![0, 1, 2, 8]));
/// assert_eq!(tailback_os::cpulist::format(&[0, 1, 2, 8]), "0-2,8");
/// assert_eq!(tailback_os::cpulist::parse("3-1"), None);
/// ```
pub fn parse(text: &str) -> Option<Vec<u32>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        // The kernel lists no CPU twice, so a list longer than the limit is not from the kernel.
        if first > last || cpus.len() >= LIMIT as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Writes a list; consecutive numbers become a range.
pub fn format(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let word = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(word).collect::<Vec<_>>().join(",")
}

fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = text.parse().ok()?;
    (digits && number < LIMIT).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_as_the_kernel_writes_them() {
        assert_eq!(parse("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse("5"), Some(vec![5]));
        assert_eq!(parse("\n"), Some(vec![]));
        assert_eq!(parse("3,1,2-3"), Some(vec![1, 2, 3]));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for wrong in ["3-1", "1,", "-", "a", "+1", "1--2", "0-65536", "4294967296", "0-4294967295"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(parse(&["0-65535"; 100].join(",")), None);
    }

    #[test]
    fn neighbours_are_written_as_a_range() {
        assert_eq!(format(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(format(&[5]), "5");
        assert_eq!(format(&[]), "");
        assert_eq!(format(&[u32::MAX, 0]), "4294967295,0");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9,-]{0,20}") {
            if let Some(cpus) = parse(&text) {
                prop_assert!(cpus.is_sorted_by(|a, b| a < b));
            }
        }

        #[test]
        fn what_is_written_is_read_back(
            cpus in proptest::collection::btree_set(0u32..9000, 0..40),
        ) {
            let cpus: Vec<u32> = cpus.into_iter().collect();
            let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
            prop_assert_eq!(parse(&words.join(",")), Some(cpus.clone()));
            prop_assert_eq!(parse(&format(&cpus)), Some(cpus));
        }
    }
}
