//! The differences between reproducers in C and in Erlang.

use super::looks::{InterimLook, LOOKS};
use super::part::{Groups, Language, Part};

/// The beginning of every C reproducer, before the part of its scenario.
const HELPERS: &str = include_str!("helpers.c");

/// The code of C reproducers that create a control group.
const GROUPS: &str = include_str!("groups.c");

/// The end of every C reproducer, after the part of its scenario.
const MAIN: &str = include_str!("main.c");

/// The code of Erlang reproducers that create a control group.
const ERLANG_GROUPS: &str = include_str!("groups.erl");

/// The end of every Erlang reproducer, after the part of its scenario.
const STUDY: &str = include_str!("study.erl");

/// The first lines of an escript. Ctrl-C ends the VM at once instead of opening its break menu.
const SHEBANG: &str = "#!/usr/bin/env escript
%%! +Bd
%% SPDX-License-Identifier: Apache-2.0
";

impl Language {
    /// The licence, and a comment with these lines.
    pub fn comment(self, lines: &[String]) -> String {
        let (before, line, after) = match self {
            Language::C => ("// SPDX-License-Identifier: Apache-2.0\n/*\n", " *", " */\n"),
            Language::Escript => (SHEBANG, "%%", ""),
        };
        let line = |text: &String| format!("{}\n", format!("{line} {text}").trim_end());
        [before, &lines.iter().map(line).collect::<String>(), after].concat()
    }

    /// The commands that build and run the reproducer.
    pub fn how_to_run(self) -> &'static str {
        match self {
            Language::C => {
                "Build: gcc -O2 -pthread -o stall stall.c (with -static it runs as init of a guest)."
            }
            Language::Escript => "Run: escript stall.escript",
        }
    }

    /// A definition with this name and value.
    pub fn define(self, name: &str, value: &str) -> String {
        match self {
            Language::C => format!("#define {name} {value}\n"),
            Language::Escript => format!("-define({name}, {value}).\n"),
        }
    }

    /// The table of interim looks: the number of blocks, and the limits for no stall and for a
    /// stall.
    pub fn looks(self) -> String {
        let (open, close) = match self {
            Language::C => ("{ ", " }"),
            Language::Escript => ("{", "}"),
        };
        let look = |InterimLook { blocks, none, stall }: &InterimLook| {
            format!("{open}{blocks}, {none}, {stall}{close}")
        };
        let looks = LOOKS.iter().map(look).collect::<Vec<String>>().join(", ");
        match self {
            Language::C => format!("{{ {looks} }}"),
            Language::Escript => format!("[{looks}]"),
        }
    }

    /// A seed as a numeric literal.
    pub fn seed(self, seed: u64) -> String {
        match self {
            Language::C => format!("{seed}ULL"),
            Language::Escript => seed.to_string(),
        }
    }
}

/// The program around the definitions of a part: the text before them and the text after them.
pub fn around(part: &Part) -> (&'static str, String) {
    let groups = |source| if part.groups == Groups::None { "" } else { source };
    match part.language {
        Language::C => ("", ["\n", HELPERS, groups(GROUPS), "\n", part.source, MAIN].concat()),
        Language::Escript => (
            "-module(stall).\n-export([main/1]).\n-mode(compile).\n",
            ["\n", part.source, groups(ERLANG_GROUPS), STUDY].concat(),
        ),
    }
}
