//! Sentences that only one scenario has.

use super::{Lines, amount, assert_all, estimate};
use model::Fact;
use serde_json::{Value, json};

/// Each sentence with its variant.
pub fn lines() -> Lines {
    scenarios::ALL.iter().flat_map(|scenario| of(scenario.meta())).collect()
}

fn of(meta: &model::Meta) -> Lines {
    let refused = (meta.sentence)(&Fact::new("?")).unwrap_err();
    let say = |(id, values): (&str, Value)| {
        let mut fact = Fact::new(id);
        if let Value::Object(values) = values {
            fact.values = values.into_iter().collect();
        }
        (meta.id.to_owned(), id.to_owned(), report::prose::fact::fact(&fact, Some(meta)))
    };
    let lines = samples(meta.id).into_iter().map(say).collect();
    assert_all(meta.id, &refused, &lines);
    let fix =
        |fix: &model::FixMeta| (meta.id.to_owned(), format!("fix {}", fix.id), fix.what.to_owned());
    [lines, meta.fixes.iter().map(fix).collect()].concat()
}

/// Facts by the ID of the scenario.
fn samples(scenario: &str) -> Vec<(&'static str, Value)> {
    match scenario {
        "blocking-nif" => blocking_nif(),
        "busy-wait" => busy_wait(),
        "cpu-quota" => cpu_quota(),
        "group-move" => group_move(),
        "io-journal" => io_journal(),
        "mailbox-flood" => mailbox_flood(),
        "held-mutex" => held_mutex(),
        "memory-high" => memory_high(),
        "mmap-lock" => mmap_lock(),
        "preempted-holder" => preempted_holder(),
        "quota-blind" => quota_blind(),
        _ => Vec::new(),
    }
}

fn blocking_nif() -> Vec<(&'static str, Value)> {
    let (case, control) = (estimate(40.0, "%"), estimate(1.0, "%"));
    let wall = [estimate(900.0, "ms"), estimate(450.0, "ms")];
    let late = [estimate(300.0, "ms/s"), estimate(2.0, "ms/s")];
    vec![
        ("stalls", json!({})),
        (
            "collapse",
            json!({ "case": case, "control": control, "wall": wall[0], "control_wall": wall[1],
                "also": ["unfair", "late"] }),
        ),
        ("collapse", json!({ "case": case, "control": control })),
        ("unfair", json!({ "case": estimate(9.0, "ratio"), "control": estimate(1.1, "ratio") })),
        ("late", json!({ "case": late[0], "control": late[1], "also": ["unfair"] })),
        ("fair", json!({})),
        ("fair", json!({ "arm": "nif_sleep", "asleep": control, "late": late[1] })),
        ("unsettled", json!({})),
        ("why-collapse", json!({ "blocks": true })),
        ("why-unfair", json!({})),
        ("why-late", json!({ "blocks": true })),
        ("none-waits", json!({ "processes": 2, "schedulers": 8 })),
        ("too-short", json!({ "wall": amount(3.0, "ms") })),
        ("more-work", json!({})),
        ("blocking-form", json!({})),
        ("dirty", json!({})),
        ("charges", json!({})),
        ("little-work", json!({ "arm": "nif_sleep", "work": amount(2.0, "ms") })),
        ("more-work-each", json!({ "least": amount(10.0, "ms") })),
    ]
}

fn busy_wait() -> Vec<(&'static str, Value)> {
    let (slow, quick) = (estimate(70.0, "ms"), estimate(0.7, "ms"));
    let used = estimate(97.0, "%");
    let served = json!({ "served": estimate(400.0, "1/s") });
    let half = amount(0.5, "ratio");
    vec![
        ("costs-latency", json!({})),
        (
            "costs-latency",
            json!({ "case": slow, "control": quick, "quota": half, "control_flags": "+sbwt none" }),
        ),
        ("costs-no-latency", json!({ "case": quick, "control": quick, "flags": "+S 2" })),
        ("unsettled", json!({})),
        ("control-throttled", json!({ "used": used, "most": 0.85 })),
        ("rate-beyond-machine", json!({ "backlog": estimate(20.0, "%") })),
        ("lower-rate", served.clone()),
        ("lower-rate-alone", served.clone()),
        ("requests-failed", json!({ "failed": amount(30.0, "%") })),
        ("fewer-failures", json!({})),
        (
            "load-fills-quota",
            json!({ "quota": amount(0.25, "ratio"), "used": estimate(240.0, "%"), "most": 0.85 }),
        ),
        ("room-to-spin", json!({ "quota": half, "used": estimate(9.0, "%"), "least": 0.35 })),
        ("study-of-each-quota", json!({})),
        ("higher-rate", served),
        ("higher-rate", json!({})),
        ("no-quota", json!({})),
        ("with-quota", json!({})),
        (
            "background",
            json!({ "defaults": estimate(90.0, "1/s"), "flags": estimate(300.0, "1/s") }),
        ),
        ("detected", json!({ "quota": half, "schedulers": 8 })),
        ("detected", json!({ "quota": half, "found": amount(1.0, "ratio"), "schedulers": 1 })),
        ("spun", json!({ "quota": false, "spun": estimate(300.0, "ms/s") })),
        (
            "spun",
            json!({ "quota": true, "spun": estimate(300.0, "ms/s"),
                "active": estimate(50.0, "ms/s") }),
        ),
        ("environment", json!({ "flags": "+sbwt none" })),
        ("quota-alone", json!({})),
        ("one-otp", json!({})),
        ("one-otp-a-level", json!({})),
        ("no-cost", json!({})),
        ("not-ready", json!({ "limit": amount(5000.0, "ms") })),
        ("few-periods", json!({ "arm": "flags-quota", "periods": estimate(2.0, "1"), "least": 4 })),
        ("more-periods", json!({})),
        (
            "quota-of-all-cpus",
            json!({ "arm": "defaults-quota", "quota": amount(2.0, "ratio"), "cpus": 2 }),
        ),
        ("smaller-quota", json!({})),
        ("few-requests", json!({ "arm": "defaults-quota", "requests": 42, "least": 100 })),
        ("more-requests", json!({})),
    ]
}

fn cpu_quota() -> Vec<(&'static str, Value)> {
    let got = |got: f64| {
        json!({ "got": estimate(got, "%"), "cpus": 4, "control": estimate(100.0, "%"),
            "control_cpus": 1 })
    };
    let most = json!({ "arm": "spread", "most": amount(12.0, "%") });
    vec![
        ("under", json!({})),
        ("under", got(80.0)),
        ("over", got(130.0)),
        ("gets-it", json!({ "got": estimate(100.0, "%") })),
        ("gets-it", got(99.0)),
        ("unsettled", json!({})),
        ("would-have-lost", most.clone()),
        ("too-little-to-lose", most),
        ("seldom-throttled", json!({ "arm": "spread", "share": amount(40.0, "%") })),
        ("more-to-lose", json!({})),
        ("more-cpu-time", json!({})),
        ("larger-machine", json!({})),
        ("fewer-cpus", json!({ "cpus": 1 })),
        ("burst", json!({ "burst": "4ms" })),
        ("no-burst", json!({})),
        ("too-many-fast", json!({ "fast": 3, "threads": 2 })),
        (
            "unused-quota",
            json!({ "quota": "300ms", "usable": 2, "cpus": amount(3.0, "1"), "raise": "--on-cpus" }),
        ),
    ]
}

fn group_move() -> Vec<(&'static str, Value)> {
    let both = |by: &str, gap: Value, [lost, call, worst]: [f64; 3]| {
        json!({ "by": by, "gap": gap, "lost": estimate(lost, "ms/s"),
            "control": estimate(0.1, "ms/s"), "call": estimate(call, "ms"),
            "worst": estimate(worst, "ms") })
    };
    let waits = |by: &str| both(by, json!("100ms"), [110.0, 12.0, 20.0]);
    let passes = |by: &str, gap: Value| both(by, gap, [0.2, 0.05, 4.0]);
    vec![
        ("waits", json!({})),
        ("waits", waits("move")),
        ("waits", waits("clone-into")),
        ("passes", passes("move", Value::Null)),
        ("passes", passes("other-file", json!("100ms"))),
        ("unsettled", json!({})),
        ("clone-into", json!({})),
        ("no-clone-in-v1", json!({})),
        ("no-clone", json!({ "error": "Function not implemented (os error 38)" })),
        ("no-group", json!({ "path": "/sys/fs/cgroup" })),
        ("be-root", json!({})),
        ("in-a-guest", json!({})),
        (
            "few-calls",
            json!({ "arm": "case", "calls": estimate(3.0, "1/s"), "fits": amount(9.5, "1/s") }),
        ),
        ("leave-cpu", json!({})),
        ("other-movers", json!({})),
        ("favor-dynmods", json!({})),
        ("close-moves", json!({ "gap": "0s" })),
        ("switch-on", json!({})),
        ("switch-on-at-boot", json!({})),
        ("gap-too-long", json!({ "gap": "500ms", "duration": "1s", "most": "200ms" })),
    ]
}

fn io_journal() -> Vec<(&'static str, Value)> {
    let both = |by: &str, on: &str, lost: f64, worst: f64| {
        json!({ "by": by, "on": on, "cap": "1MiB", "lost": estimate(lost, "ms/s"),
            "control": estimate(0.0, "ms/s"), "worst": estimate(worst, "ms"),
            "writer": estimate(990.0, "ms") })
    };
    let wait = amount(1000.0, "ms");
    vec![
        ("stalls", json!({})),
        ("stalls", both("rewritten", "same", 960.0, 1010.0)),
        ("stalls", both("ordered", "same", 960.0, 1010.0)),
        ("stalls", both("rewritten", "other", 60.0, 90.0)),
        ("passes", both("once", "same", 0.0, 9.0)),
        ("passes", both("rewritten", "other", 0.0, 9.0)),
        (
            "passes",
            json!({ "by": "rewritten", "on": "same", "cap": "64MiB",
                "lost": estimate(0.0, "ms/s") }),
        ),
        ("unsettled", json!({})),
        ("own-file-system", json!({})),
        ("larger-cap", json!({ "cap": "64MiB" })),
        ("written-once", json!({})),
        ("holder", json!({})),
        ("held-open", json!({ "writer": estimate(990.0, "ms") })),
        (
            "held-open",
            json!({ "writer": estimate(990.0, "ms"), "behind": estimate(99.0, "%"),
                "locked": estimate(612.0, "ms") }),
        ),
        ("no-round", json!({ "arm": "case" })),
        ("cap-not-reached", json!({ "arm": "case", "writer": estimate(20.0, "ms"), "wait": wait })),
        ("write-more", json!({})),
        ("short-wait", json!({ "wait": amount(15.6, "ms") })),
        ("use-weight", json!({})),
        ("of-v1", json!({})),
        ("no-controller", json!({ "path": "/sys/fs/cgroup" })),
        ("occupied", json!({ "path": "/sys/fs/cgroup/app", "processes": 3 })),
        ("no-group", json!({ "path": "/sys/fs/cgroup" })),
        ("no-limits", json!({})),
        ("no-loop", json!({ "path": "/dev/loop-control" })),
        ("loop-denied", json!({ "error": "/dev/loop-control: Permission denied (os error 13)" })),
        ("no-file-system", json!({ "error": "No such device (os error 19)" })),
        ("may-not-mount", json!({ "error": "Operation not permitted (os error 1)" })),
        ("no-program", json!({})),
        ("unsafe-program", json!({ "error": "/opt/bin/mkfs.ext4: owned by user 1000" })),
        ("be-root", json!({})),
        ("in-a-guest", json!({})),
        ("load-driver", json!({})),
        ("install", json!({})),
        ("no-room", json!({ "needed": 96, "available": 128 })),
        ("pause-too-long", json!({ "pause": "1s", "duration": "3s", "most": "600ms" })),
        (
            "round-too-long",
            json!({ "burst": "8MiB", "cap": "64KiB", "wait": "128s", "longest": "10s" }),
        ),
        ("not-whole-pages", json!({ "burst": "128KiB", "page": "64KiB", "least": "192KiB" })),
    ]
}

fn mailbox_flood() -> Vec<(&'static str, Value)> {
    let slope = estimate(10.0, "ns");
    let rates = [estimate(1000.0, "1/s"), estimate(50_000.0, "1/s")];
    vec![
        ("slower", json!({ "sink": "port" })),
        (
            "slower",
            json!({ "sink": "port", "slope": slope, "by_length": estimate(4.0, "ns"),
                "queued": amount(1.02, "ms"),
                "empty": amount(0.02, "ms"), "writes": rates[0], "control": rates[1] }),
        ),
        ("not-slower", json!({ "sink": "file", "slope": slope, "writes": rates[1] })),
        ("unsettled", json!({})),
        ("too-few-messages", json!({ "messages": 500 })),
        ("more-messages", json!({ "least": 2000 })),
        ("not-the-length", json!({ "arm": "direct" })),
        ("few-waited", json!({ "arm": "credit", "longest": estimate(66.0, "1"), "offered": 2000 })),
        ("flood-directly", json!({})),
        ("collections", json!({})),
        ("closer-interval", json!({})),
        (
            "scan",
            json!({ "longest": 50_000, "place": "gen:do_call/4", "seen": 90, "samples": 100 }),
        ),
        (
            "killed",
            json!({ "arm": "credit", "lost": estimate(0.0, "1"), "messages": 50_000,
                "twice": estimate(3.0, "1") }),
        ),
        ("killed-cut-off", json!({ "arm": "credit", "twice": estimate(3.0, "1") })),
        ("server-restarted", json!({})),
        ("other-sink", json!({})),
        ("off-heap", json!({})),
        ("threshold", json!({})),
        ("credit", json!({})),
        ("nothing-to-dam", json!({})),
        ("only-a-decoy", json!({})),
        ("killed-too-late", json!({ "kill_after": "10s", "duration": "150ms" })),
        ("too-many-messages", json!({ "offered": 20_000_000, "most": 10_000_000 })),
        ("file-too-large", json!({ "offered": 10_000, "bytes": 1_000_000 })),
        (
            "writes-failed",
            json!({ "failed": 3, "writes": 900, "sink": "file",
                "error": "file write: /tmp/a: no space left on device" }),
        ),
        ("writes-failed", json!({ "failed": 3, "writes": 900, "sink": "tcp" })),
        ("no-folder", json!({ "folder": "/x", "error": "Permission denied (os error 13)" })),
        ("not-slower-with", json!({ "arm": "credit", "sink": "port", "writes": rates[1] })),
        ("never-two", json!({ "arm": "one-at-a-time" })),
        ("flood", json!({})),
        ("length-costs", json!({ "arm": "direct", "fit": estimate(4.0, "ns") })),
        (
            "short-queue",
            json!({ "arm": "direct", "longest": estimate(300_000.0, "1"), "offered": 100_000_000 }),
        ),
        ("longer-queue", json!({})),
        ("larger-flood", json!({})),
        ("nothing-sent", json!({ "arm": "credit" })),
        ("sooner-sent", json!({})),
    ]
}

fn held_mutex() -> Vec<(&'static str, Value)> {
    let both = |holder: Value, lost: f64, worst: f64| {
        json!({ "holder": holder, "lost": estimate(lost, "ms/s"),
            "control": estimate(90.0, "ms/s"), "worst": estimate(worst, "ms") })
    };
    let stalls = |holder: Value| both(holder, 870.0, 410.0);
    vec![
        ("stalls", json!({})),
        ("stalls", stalls(json!({ "nice": 19 }))),
        ("stalls", stalls(json!({ "quota": "8ms/100ms" }))),
        ("passes", both(json!("usual"), 92.0, 12.0)),
        ("stalls", stalls(json!("idle"))),
        ("unsettled", json!({})),
        ("usual", json!({})),
        ("short", json!({})),
        ("inherit", json!({})),
        ("own-weight", json!({})),
        ("usual-weight", json!({})),
        ("not-held-up", json!({ "arm": "case", "off_cpu": estimate(0.3, "ms/s") })),
        ("smaller-quota", json!({})),
        ("more-rivals", json!({})),
        ("pause-too-long", json!({ "every": "100ms", "duration": "700ms", "most": "70ms" })),
        (
            "too-few-sections",
            json!({ "inside": "5ms", "rest": "10s", "duration": "700ms", "least": "30015ms" }),
        ),
        ("no-rivals", json!({})),
    ]
}

fn memory_high() -> Vec<(&'static str, Value)> {
    let both = |file: &str, lost: f64, units: f64, kills: Value| {
        json!({ "file": file, "limit": "32MiB", "need": "48MiB", "lost": estimate(lost, "%"),
            "control": estimate(0.1, "%"), "units": estimate(units, "1/s"),
            "control_units": estimate(900.0, "1/s"), "kills": kills })
    };
    vec![
        ("stands", json!({})),
        ("stands", both("memory.high", 90.0, 20.0, Value::Null)),
        ("runs", both("memory.max", 0.2, 870.0, json!(3))),
        ("unsettled", json!({})),
        ("raised", json!({})),
        ("memory-max", json!({})),
        ("swap", json!({})),
        ("no-swap", json!({})),
        ("no-swap-limit", json!({})),
        ("kill-panics", json!({})),
        ("without-panic", json!({})),
        ("switch-on", json!({})),
        ("hardly-above", json!({ "need": "64MiB", "limit": "32MiB", "over": amount(0.4, "%") })),
        ("not-at-limit", json!({ "need": "64MiB", "limit": "32MiB" })),
        ("fill-faster", json!({})),
        ("few-units", json!({ "need": "64MiB", "two": "128MiB" })),
        ("no-room", json!({ "needed": 96, "available": 100 })),
        ("of-v1", json!({})),
        ("in-a-guest", json!({})),
        ("no-pressure", json!({})),
        ("with-psi", json!({})),
    ]
}

fn mmap_lock() -> Vec<(&'static str, Value)> {
    let stall = |ms: f64| estimate(ms, "ms/s");
    let quota = json!({ "quota": "10ms/100ms" });
    vec![
        ("stalls", json!({ "file": "smaps" })),
        (
            "stalls",
            json!({ "file": "smaps", "lost": stall(980.0), "readers": 10, "twin": false,
                "no_spinners": false, "control": stall(2.0), "alone": stall(0.1),
                "worst": estimate(700.0, "ms") }),
        ),
        (
            "no-stall",
            json!({ "file": "maps", "lost": stall(0.1), "readers": 1, "twin": true,
                "quota": "10ms/100ms", "no_spinners": true }),
        ),
        (
            "no-stall",
            json!({ "file": "smaps", "lost": stall(0.1), "readers": 0, "twin": false,
                "spinners": 10, "no_spinners": false }),
        ),
        ("unsettled", json!({ "file": "smaps" })),
        ("readers-read-nothing", json!({ "arm": "busy-10", "idle": 6, "trials": 9 })),
        ("never-throttled", json!({ "arm": "throttled-10", "trials": 9 })),
        ("throttled-readers-keep-the-lock", json!({})),
        ("more-time", json!({})),
        ("locks-longest", json!({})),
        ("mapper-lost", json!({})),
        ("no-limit", json!({})),
        ("burst", json!({})),
        ("no-burst", json!({})),
        ("lock-free", json!({})),
        ("no-file", json!({ "file": "smops", "path": "/proc/self/smops" })),
        ("empty-file", json!({ "file": "timers", "path": "/proc/self/timers" })),
        ("too-large", json!({ "size": "8GiB", "twin": true, "most": 0.8, "mib": 4096 })),
        ("too-many-mappings", json!({ "size": "4GiB", "most": 65_530, "enough": 327_674 })),
        ("too-many-processes", json!({ "busy": 10_000, "wanted": 20_000, "limit": 32_768 })),
        ("quota-of-a-cpu", quota.clone()),
        ("period-too-long", quota.clone()),
        ("no-readers", quota),
        ("one-cpu", json!({ "mapper": 1, "load": 1 })),
        ("tool-on-load", json!({ "load": 1 })),
        (
            "margin-too-large",
            json!({ "quota": "21ms/100ms", "throttled": amount(790.0, "ms/s"),
                "margin": amount(672.0, "ms/s"), "longer": "300ms" }),
        ),
        (
            "margin-too-large",
            json!({ "quota": "40ms/100ms", "throttled": amount(600.0, "ms/s"),
                "margin": amount(1000.0, "ms/s") }),
        ),
        ("pause-too-long", json!({ "pause": "100ms", "duration": "250ms", "most": "25ms" })),
    ]
}

fn preempted_holder() -> Vec<(&'static str, Value)> {
    let both = |lost: f64, rounds: f64, preempted: f64| {
        json!({ "lost": estimate(lost, "%"), "threads": 8, "cpus": 2,
            "control": estimate(3.0, "%"), "rounds": estimate(rounds, "1/s"),
            "control_rounds": estimate(90_000.0, "1/s"),
            "preempted": estimate(preempted, "ms/s") })
    };
    vec![
        ("burns", json!({})),
        ("burns", both(70.0, 9000.0, 500.0)),
        ("burns-none", both(3.2, 89_000.0, 0.3)),
        ("unsettled", json!({})),
        ("sleep", json!({})),
        ("spin-then-sleep", json!({})),
        ("fewer-threads", json!({})),
        ("slice-extension", json!({})),
        ("touch-before", json!({})),
        ("huge-pages", json!({})),
        ("no-extension", json!({})),
        ("extension-off", json!({})),
        ("no-huge-pages", json!({})),
        ("huge-pages-too-large", json!({ "mib": 512, "most": 32 })),
        ("take-extension", json!({})),
        ("switch-extension-on", json!({})),
        ("allow-huge-pages", json!({})),
        ("take-small-pages", json!({})),
        ("too-much-memory", json!({ "threads": 200, "fault": "minor", "mib": 400 })),
        (
            "rounds-too-long",
            json!({ "threads": 32, "inside": "1s", "outside": "60us", "duration": "400ms",
                "least": "32s" }),
        ),
        (
            "rounds-too-long",
            json!({ "threads": 4096, "inside": "1s", "outside": "60us", "duration": "400ms" }),
        ),
        ("holder-ran", json!({ "arm": "case", "preempted": estimate(3.0, "ms/s") })),
        ("more-threads", json!({})),
    ]
}

fn quota_blind() -> Vec<(&'static str, Value)> {
    let both = |runtime: &str, cpus: u32, p99: f64, throttled: f64| {
        json!({ "runtime": runtime, "p99": estimate(p99, "ms"), "control": estimate(30.0, "ms"),
            "cpus": cpus, "control_cpus": 1, "throttled": estimate(throttled, "%"),
            "control_throttled": estimate(20.0, "%") })
    };
    let told = |mut values: Value| {
        values["told"] = json!(4);
        values
    };
    let seen = |place: &str, cpus: u32| {
        json!({ "runtime": "Go", "release": "go1.24.9", "cpus": cpus, "quota": "50ms/100ms",
            "place": place })
    };
    let pool = |quota: &str| {
        json!({ "runtime": "Node.js", "release": "v20.20.2", "cpus": 4, "quota": quota,
            "place": "leaf" })
    };
    let command = json!({ "command": "apt-get install nodejs" });
    vec![
        ("costs", json!({ "runtime": "Go" })),
        ("costs", both("Go", 8, 70.0, 60.0)),
        ("costs", both("Node.js", 4, 70.0, 60.0)),
        ("costs", told(both("Go", 4, 70.0, 60.0))),
        ("costs", both("Go", 1, 70.0, 60.0)),
        ("costs-nothing", both("Go", 2, 31.0, 22.0)),
        ("costs-nothing", both("Node.js", 4, 31.0, 22.0)),
        ("costs-nothing", told(both("Go", 4, 31.0, 22.0))),
        ("unsettled", json!({})),
        ("told", json!({ "setting": "GOMAXPROCS=1" })),
        ("release", json!({ "runtime": "Go", "release": "go1.24.9" })),
        ("blind", seen("parent", 8)),
        ("blind", pool("50ms/100ms")),
        ("sees", seen("leaf", 1)),
        ("sees", pool("400ms/100ms")),
        ("sees", seen("namespace", 1)),
        ("few-requests", json!({ "arm": "default", "requests": 40 })),
        ("more-requests", json!({ "least": 100 })),
        ("no-job", json!({ "arm": "default" })),
        ("more-jobs", json!({})),
        ("never-throttled", json!({})),
        ("more-load", json!({})),
        ("no-runtime", json!({})),
        ("install", command.clone()),
        ("no-program", json!({ "path": "/opt/node" })),
        ("not-on-path", json!({ "program": "node" })),
        ("install-or-name", command),
        ("no-javac", json!({})),
        ("one-program", json!({ "flag": "--program" })),
        ("strange-version", json!({ "program": "/opt/go", "version": "devel" })),
        ("own-words", json!({ "error": "/opt/go: Permission denied (os error 13)" })),
        ("for-its-user", json!({})),
        ("not-as-root", json!({})),
        ("own-folders", json!({})),
        ("root-alone", json!({})),
        ("be-root", json!({})),
        ("quota-of-all-cpus", json!({ "quota": "150ms/100ms", "whole": 2, "allowed": 2 })),
        ("less-quota", json!({})),
    ]
}
