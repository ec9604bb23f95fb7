//! Layout of text output.

use anstyle::Style;

/// Colour, width and length of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether the text has colours.
    pub color: bool,
    /// Width of sentences and tables, in columns.
    pub width: usize,
    /// Whether everything is shown: every figure, the reasons and the fine print.
    pub why: bool,
}

impl Default for Look {
    fn default() -> Self {
        Look { color: false, width: 80, why: false }
    }
}

impl Look {
    /// The text in a style, if colours are on.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A sentence wrapped to the width. Its first line has the indent `first`, the others have
    /// `rest`.
    pub fn wrap(self, text: &str, first: &str, rest: &str) -> String {
        let options = textwrap::Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(rest)
            // Names of arms, flags and verdicts are not split at hyphens.
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::fill(text, options)
    }

    /// The number of lines that a text takes.
    pub fn lines(self, text: &str) -> usize {
        self.wrap(text, "", "").lines().count()
    }

    /// The number of entries of a list that are shown.
    pub(crate) fn most(self, short: usize) -> usize {
        if self.why { usize::MAX } else { short }
    }
}
