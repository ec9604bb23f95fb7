//! The sentences of `quota-blind`.

use model::Sentence;

/// Their names.
pub(super) mod say {
    pub const COSTS: &str = "costs";
    pub const COSTS_NOTHING: &str = "costs-nothing";
    pub const UNSETTLED: &str = "unsettled";
    pub const TOLD: &str = "told";
    pub const RELEASE: &str = "release";
    pub const BLIND: &str = "blind";
    pub const SEES: &str = "sees";
    pub const NEVER_THROTTLED: &str = "never-throttled";
    pub const MORE_LOAD: &str = "more-load";
    pub const NO_RUNTIME: &str = "no-runtime";
    pub const INSTALL: &str = "install";
    pub const NO_PROGRAM: &str = "no-program";
    pub const NOT_ON_PATH: &str = "not-on-path";
    pub const INSTALL_OR_NAME: &str = "install-or-name";
    pub const NO_JAVAC: &str = "no-javac";
    pub const ONE_PROGRAM: &str = "one-program";
    pub const STRANGE_VERSION: &str = "strange-version";
    pub const OWN_WORDS: &str = "own-words";
    pub const FOR_ITS_USER: &str = "for-its-user";
    pub const NOT_AS_ROOT: &str = "not-as-root";
    pub const OWN_FOLDERS: &str = "own-folders";
    pub const ROOT_ALONE: &str = "root-alone";
    pub const BE_ROOT: &str = "be-root";
}

/// What case and control did.
macro_rules! compared {
    () => {
        "{% if p99 %}: with its own default {% if cpus %}of {{ cpus|count('CPU') }} {% endif %}1 of 100 \
         requests took {{ p99 }} or longer{% if control %}, and told to use \
         {{ control_cpus|count('CPU') }} {{ control }}{% endif %}{% endif %}.{% if throttled %} It was \
         throttled in {{ throttled }} of the periods{% if control_throttled %}, and in \
         {{ control_throttled }} when told{% endif %}.{% endif %}"
    };
}

/// The sentences.
pub(super) const SENTENCES: &[Sentence] = &[
    Sentence {
        id: say::COSTS,
        text: concat!(
            "More threads of {{ runtime }} are at work than its quota allows, and requests wait for it",
            compared!()
        ),
    },
    Sentence {
        id: say::COSTS_NOTHING,
        text: concat!(
            "What {{ runtime }} chooses by itself costs its requests nothing here",
            compared!()
        ),
    },
    Sentence {
        id: say::UNSETTLED,
        text: "It is not settled whether what the runtime chooses by itself costs its requests \
               anything here.",
    },
    Sentence { id: say::TOLD, text: "{{ setting }}" },
    Sentence { id: say::RELEASE, text: "This was {{ runtime }} {{ release }}." },
    Sentence {
        id: say::BLIND,
        text: "By its own default {{ runtime }} {{ release }} used {{ cpus|count('CPU') }}, \
               where its quota is {{ quota }} {{ place }}.",
    },
    Sentence {
        id: say::SEES,
        text: "By its own default {{ runtime }} {{ release }} used {{ cpus|count('CPU') }}, \
               as many as its quota of {{ quota }} {{ place }} comes to.",
    },
    Sentence {
        id: say::NEVER_THROTTLED,
        text: "The group was hardly ever throttled, so more threads had nothing to use up too early.",
    },
    Sentence { id: say::MORE_LOAD, text: "Take a longer --job, or a smaller --quota." },
    Sentence { id: say::NO_RUNTIME, text: "no erl, java, go or node on the PATH" },
    Sentence { id: say::INSTALL, text: "install it: {{ command }}" },
    Sentence { id: say::NO_PROGRAM, text: "{{ path }}: no program" },
    Sentence { id: say::NOT_ON_PATH, text: "no {{ program }} on the PATH" },
    Sentence {
        id: say::INSTALL_OR_NAME,
        text: "install it: {{ command }}; or name it with --program PATH",
    },
    Sentence { id: say::NO_JAVAC, text: "no javac beside java, nor on the PATH" },
    Sentence {
        id: say::ONE_PROGRAM,
        text: "{{ flag }}: one at a time; several make a study (tailback study --help)",
    },
    Sentence { id: say::STRANGE_VERSION, text: "{{ program }}: no version of Go: {{ version }}" },
    Sentence { id: say::OWN_WORDS, text: "{{ error }}" },
    Sentence {
        id: say::FOR_ITS_USER,
        text: "the runtime has to be one that its user may execute (not in /root); name another with \
               --program",
    },
    Sentence {
        id: say::NOT_AS_ROOT,
        text: "root runs no program that others could have put there: name another with --program",
    },
    Sentence {
        id: say::OWN_FOLDERS,
        text: "set XDG_CACHE_HOME and TMPDIR to folders that only the caller may write to",
    },
    Sentence {
        id: say::ROOT_ALONE,
        text: "--limit-at namespace: only root makes a cgroup namespace",
    },
    Sentence { id: say::BE_ROOT, text: "run as root, or take --limit-at leaf or parent" },
];
