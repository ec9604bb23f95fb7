//! How a text looks.

use anstyle::Style;

/// How the text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether words are coloured.
    pub color: bool,
    /// Width that sentences and tables keep to, in columns.
    pub width: usize,
    /// Whether all of it is shown: every figure, the reasons and the fine print.
    pub why: bool,
}

impl Default for Look {
    fn default() -> Self {
        Look { color: false, width: 80, why: false }
    }
}

impl Look {
    /// Words in a style, where there are colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A sentence in lines that fit, the first of them with an indent of its own.
    pub(crate) fn wrap(self, text: &str, first: &str, rest: &str) -> String {
        let options = textwrap::Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(rest)
            // An arm, a flag and a verdict stay whole.
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::fill(text, options)
    }

    /// How many lines a text takes.
    pub fn lines(self, text: &str) -> usize {
        self.wrap(text, "", "").lines().count()
    }

    /// How much of a list is shown.
    pub(crate) fn most(self, short: usize) -> usize {
        if self.why { usize::MAX } else { short }
    }
}
