//! The XML of JUnit: suites of test cases.

use maud::{PreEscaped, html};
use model::State;

/// A suite.
#[derive(Debug)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// The time it took, in seconds.
    pub seconds: Option<f64>,
    /// The test cases.
    pub cases: Vec<Case>,
}

/// A test case.
#[derive(Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Its class.
    pub class: String,
    /// The reason why it did not pass; None if it passed.
    pub result: Option<NotPassed>,
    /// The text that it printed.
    pub out: Option<String>,
}

/// Why a test case did not pass.
#[derive(Debug)]
pub struct NotPassed {
    /// The XML element.
    element: Element,
    /// The kind of problem, in one word.
    word: String,
    /// A sentence that describes the problem.
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Failure,
    Error,
    Skipped,
}

impl NotPassed {
    /// The result of a test case for a verdict. A stall is a failure. An open verdict is an
    /// error, since the test did not pass.
    pub fn of(state: State, message: &str) -> Option<Self> {
        let element = match state {
            State::NotAffected => return None,
            State::Skipped => Element::Skipped,
            State::Affected => Element::Failure,
            State::Inconclusive | State::Untrustworthy => Element::Error,
        };
        Some(NotPassed { element, word: state.word().to_owned(), message: message.to_owned() })
    }

    /// An error of this kind, without a verdict.
    pub fn error(word: &str, message: String) -> Self {
        NotPassed { element: Element::Error, word: word.to_owned(), message }
    }
}

impl Suite {
    fn count(&self, element: Element) -> usize {
        let results = self.cases.iter().filter_map(|case| case.result.as_ref());
        results.filter(|result| result.element == element).count()
    }
}

/// The XML of these suites.
pub fn write(name: &str, suites: &[Suite]) -> String {
    let all = |element| suites.iter().map(|suite| suite.count(element)).sum::<usize>();
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let line = |indent: usize| PreEscaped(format!("\n{:indent$}", ""));
    let xml = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name=(name) tests=(tests) skipped=(all(Element::Skipped))
            failures=(all(Element::Failure)) errors=(all(Element::Error)) {
            @for suite in suites {
                (line(4))
                testsuite name=(text(&suite.name)) tests=(suite.cases.len())
                    skipped=(suite.count(Element::Skipped)) errors=(suite.count(Element::Error))
                    failures=(suite.count(Element::Failure))
                    time=[suite.seconds.map(|seconds| format!("{seconds:.3}"))] {
                    @for case in &suite.cases {
                        (line(8))
                        testcase name=(text(&case.name)) classname=(text(&case.class)) {
                            @if let Some(NotPassed { element, word, message }) = &case.result {
                                (line(12))
                                @match element {
                                    Element::Failure => failure message=(text(message)) type=(word) {}
                                    Element::Error => error message=(text(message)) type=(word) {}
                                    Element::Skipped => skipped message=(text(message)) type=(word) {}
                                }
                            }
                            @if let Some(out) = &case.out {
                                (line(12))
                                system-out { (text(out)) }
                            }
                        }
                    }
                    (line(4))
                }
            }
            (line(0))
        }
    };
    xml.into_string() + "\n"
}

/// A text with only characters that XML allows.
fn text(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), " ")
}
