//! What differs between a reproducer in C and one in Erlang.

use super::looks::{InterimLook, LOOKS};
use super::part::{Language, Part};

/// What all in C have before the part of the scenario.
const HELPERS: &str = include_str!("helpers.c");

/// What those in C have that make a control group.
const GROUPS: &str = include_str!("groups.c");

/// What all in C have behind the part.
const MAIN: &str = include_str!("main.c");

/// What those in Erlang have that make a control group.
const ERLANG_GROUPS: &str = include_str!("groups.erl");

/// What all in Erlang have behind the part.
const STUDY: &str = include_str!("study.erl");

/// The first lines of a script. Ctrl-C ends the VM instead of asking what to do.
const SHEBANG: &str = "#!/usr/bin/env escript
%%! +Bd
%% SPDX-License-Identifier: Apache-2.0
";

impl Language {
    /// The licence and a comment of these lines.
    pub fn comment(self, lines: &[String]) -> String {
        let (before, line, after) = match self {
            Language::C => ("// SPDX-License-Identifier: Apache-2.0\n/*\n", " *", " */\n"),
            Language::Escript => (SHEBANG, "%%", ""),
        };
        let line = |text: &String| format!("{}\n", format!("{line} {text}").trim_end());
        [before, &lines.iter().map(line).collect::<String>(), after].concat()
    }

    /// How it is built and run.
    pub fn how_to_run(self) -> &'static str {
        match self {
            Language::C => {
                "Build: gcc -O2 -pthread -o stall stall.c (with -static it runs as init of a guest)."
            }
            Language::Escript => "Run: escript stall.escript",
        }
    }

    /// The definition of a name.
    pub fn define(self, name: &str, value: &str) -> String {
        match self {
            Language::C => format!("#define {name} {value}\n"),
            Language::Escript => format!("-define({name}, {value}).\n"),
        }
    }

    /// When it looks: blocks, and how many worse ones make none and a stall.
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

    /// A seed as a number.
    pub fn seed(self, seed: u64) -> String {
        match self {
            Language::C => format!("{seed}ULL"),
            Language::Escript => seed.to_string(),
        }
    }
}

/// The program of a part: what comes before the definitions, and what comes behind them.
pub fn around(part: &Part) -> (&'static str, String) {
    let groups = |source| if part.groups { source } else { "" };
    match part.language {
        Language::C => ("", ["\n", HELPERS, groups(GROUPS), "\n", part.source, MAIN].concat()),
        Language::Escript => (
            "-module(stall).\n-export([main/1]).\n-mode(compile).\n",
            ["\n", part.source, groups(ERLANG_GROUPS), STUDY].concat(),
        ),
    }
}
