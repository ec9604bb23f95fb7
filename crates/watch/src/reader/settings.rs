//! How many CPUs a runtime was told to use when it was started.
//!
//! Command lines and environments may hold secrets. Nothing of them is kept except the numbers of
//! the settings that are named here.

use crate::runtime::{LiveRuntime, Setting, Settings};

/// Reads the words of a command line and of an environment, which are separated by zero bytes.
pub fn settings(runtime: LiveRuntime, line: &[u8], environment: &[u8]) -> Settings {
    let variable = |name: &str| {
        let mut words = environment.split(|byte| *byte == 0);
        let found = words.find_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        found.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default()
    };
    let only = |cpus| Settings { cpus, collectors: None };
    match runtime {
        LiveRuntime::Jvm => {
            let line = String::from_utf8_lossy(line).replace('\0', " ");
            // In the order in which a JVM reads them; the last one counts.
            let [first, second, last] =
                ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"].map(variable);
            let all = [first, second, &line, last].join(" ");
            let option = |flag: &str| {
                let mut given = all.split_whitespace().filter_map(|word| word.strip_prefix(flag));
                given.next_back().and_then(count)
            };
            Settings {
                cpus: option("-XX:ActiveProcessorCount=").map(Setting::ActiveProcessorCount),
                collectors: option("-XX:ParallelGCThreads=").map(Setting::ParallelGcThreads),
            }
        }
        LiveRuntime::Node => {
            only(count(variable("UV_THREADPOOL_SIZE")).map(Setting::UvThreadpoolSize))
        }
        LiveRuntime::Go => only(count(variable("GOMAXPROCS")).map(Setting::GoMaxProcs)),
        LiveRuntime::Beam => only(super::command_line::facts(line).online.map(Setting::Schedulers)),
    }
}

fn count(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(runtime: LiveRuntime, line: &str, environment: &str) -> Settings {
        let words = |text: &str| text.replace('|', "\0").into_bytes();
        settings(runtime, &words(line), &words(environment))
    }

    #[test]
    fn a_jvm_takes_its_flags_from_four_places_and_the_last_counts() {
        let jvm = |line, environment| of(LiveRuntime::Jvm, line, environment);
        let told = |cpus| Some(Setting::ActiveProcessorCount(cpus));
        assert_eq!(jvm("java|-jar|a.jar", "A=b|C"), Settings::default());
        let line = "java|-XX:ActiveProcessorCount=3|-XX:ParallelGCThreads=2|A";
        let read = jvm(line, "JAVA_TOOL_OPTIONS=-Xmx1g -XX:ActiveProcessorCount=4");
        assert_eq!((read.cpus, read.collectors), (told(3), Some(Setting::ParallelGcThreads(2))));
        let late = "P=1|_JAVA_OPTIONS=-XX:ActiveProcessorCount=1|Q=-XX:ActiveProcessorCount=9";
        assert_eq!(jvm(line, late).cpus, told(1));
        assert_eq!(jvm("java", "JDK_JAVA_OPTIONS=-XX:ActiveProcessorCount=2").cpus, told(2));
        assert_eq!(jvm("java|-XX:ActiveProcessorCount=x", "").cpus, None);
    }

    #[test]
    fn other_runtimes_take_theirs_from_one_place_and_secrets_are_not_kept() {
        let read = of(LiveRuntime::Go, "web", "TOKEN=geheim|GOMAXPROCS=2|GOGC=50");
        assert_eq!(read.cpus, Some(Setting::GoMaxProcs(2)));
        assert!(!format!("{read:?}").contains("geheim"));
        let node = |environment| of(LiveRuntime::Node, "node", environment).cpus;
        assert_eq!(node("UV_THREADPOOL_SIZE=8"), Some(Setting::UvThreadpoolSize(8)));
        assert_eq!((node("XUV_THREADPOOL_SIZE=8"), node("UV_THREADPOOL_SIZE=")), (None, None));
        let beam = of(LiveRuntime::Beam, "beam.smp|-S|4:2|--", "");
        assert_eq!(beam.cpus, Some(Setting::Schedulers(2)));
        assert_eq!(of(LiveRuntime::Beam, "beam.smp|--|-extra|-S|2", "").cpus, None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(
            line in prop::collection::vec(any::<u8>(), 0..200),
            environment in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            for runtime in [LiveRuntime::Jvm, LiveRuntime::Node, LiveRuntime::Go, LiveRuntime::Beam] {
                settings(runtime, &line, &environment);
            }
        }
    }
}
