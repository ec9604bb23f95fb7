//! Sentences of a census.

use super::{Lines, amount, of};
use model::census::{Example, Factor, Group, Hosts, Odd, RecordPlace, ScenarioCensus, SetAside};
use model::census::{Share, Side, Since, Telling, Why};
use model::{Census, State};
use report::prose::census as prose;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The most hosts that a sample names.
const NAMED: usize = 3;

/// The most characters of their names.
const WIDTH: usize = 40;

/// Each sentence with its variant.
pub fn lines() -> Lines {
    let mut all = of("census set aside", &whys(), |one: &Why| prose::why(*one).to_owned());
    all.extend(of("census factor", &factors(), |one: &Factor| prose::factor(*one).to_owned()));
    all.extend(of("census side", &sides(), |one: &Side| sides_of(*one)));
    all.extend(of("census answers", &states(), |one: &State| {
        let scenarios = [("cpu-quota", one), ("mmap-lock", one)];
        let answers: Value =
            scenarios.map(|(name, state)| (name, json!(state))).into_iter().collect();
        prose::answers(&group(answers, json!({})))
    }));
    all.extend(of("census told by", &tellings(), |one: &Telling| {
        let whole = json!({ "scenario": "mmap-lock", "hosts": model::census::Counts::default(),
            "apart": one, "worst": [] });
        let said = prose::telling(&read::<ScenarioCensus>(whole));
        assert_eq!(said.is_none(), *one == Telling::AllAlike);
        said.unwrap_or_else(|| "(nothing)".to_owned())
    }));
    all.extend(headlines());
    all.extend(shares());
    all.extend(about());
    all.extend(hosts());
    all.extend(claims());
    all.extend(since());
    all
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The lines of one place.
fn at<const N: usize>(place: &str, said: [(&str, String); N]) -> Lines {
    said.map(|(name, said)| (place.to_owned(), name.to_owned(), said)).into()
}

/// `db[001-400]`, with this many hosts.
fn db(count: u64) -> Value {
    json!({ "count": count, "names": [{ "before": "db", "digits": 3, "from": 1, "to": count }] })
}

fn headlines() -> Lines {
    let said = |hosts: u64, last: Option<&str>, missing: u64| {
        let first = last.map(|_| "2026-11-21T10:00:00Z");
        let mut census = json!({ "schema": "", "version": "", "taken": "", "hosts": hosts,
            "kinds": hosts.div_ceil(2), "set_aside": [], "scenarios": [], "groups": [],
            "read": { "files": 1, "records": 1, "briefs": hosts - 1, "first": first, "last": last,
                "versions": {} } });
        if missing > 0 {
            census["unreachable"] = db(missing);
        }
        prose::headline(&read::<Census>(census))
    };
    let mut all = at("census", [("note", prose::NOTE.to_owned())]);
    all.extend(at(
        "census headline",
        [
            ("no time", said(1, None, 0)),
            ("one day", said(400, Some("2026-11-21T18:00:00Z"), 0)),
            ("several days", said(400, Some("2026-11-24T18:00:00Z"), 12)),
        ],
    ));
    all
}

fn share(affected: u64, interval: Option<[f64; 2]>) -> Value {
    let [low, high] = interval.map_or([Value::Null, Value::Null], |ends| ends.map(Value::from));
    json!({ "affected": affected, "of": 100, "undecided": 0, "least": 0.0, "most": 1.0, "kinds": 9,
        "alike": 0.9, "effective": 9.0, "low": low, "high": high, "confidence": 0.95 })
}

fn shares() -> Lines {
    let said = |value| prose::share(&read::<Share>(value));
    let mut undecided = share(11, Some([0.024, 0.4]));
    undecided["undecided"] = 12.into();
    (undecided["least"], undecided["most"]) = (0.098.into(), 0.205.into());
    let undecided = read::<Share>(undecided);
    let count = read::<Share>(share(11, None));
    at(
        "census share",
        [
            ("interval", said(share(11, Some([0.024, 0.3])))),
            ("narrow interval", said(share(97, Some([0.9688, 0.9712])))),
            ("no interval", said(share(97, None))),
            ("rate", prose::rate(&undecided)),
            ("this fleet", prose::this_fleet(&undecided)),
            ("this fleet, a count", prose::this_fleet(&count)),
            ("fleets like it", prose::fleets_like_it(&undecided)),
            ("fleets like it, of one kind", prose::fleets_like_it(&count)),
        ],
    )
}

/// The meaning of the two ranges of a share, and how a condition may mislead.
fn about() -> Lines {
    let said = |undecided: u64, inventory: bool| {
        let hosts = model::census::Counts { inconclusive: undecided, ..Default::default() };
        let one = json!({ "scenario": "mmap-lock", "hosts": hosts,
            "share": share(11, Some([0.024, 0.4])), "apart": "all-alike", "worst": [] });
        let mut census = json!({ "schema": "", "version": "", "taken": "", "hosts": 100,
            "kinds": 9, "set_aside": [], "scenarios": [one], "groups": [],
            "read": { "files": 1, "records": 0, "briefs": 100, "versions": {} } });
        if inventory {
            census["unreachable"] = json!({ "count": 0, "names": [] });
        }
        prose::about(&read::<Census>(census))
    };
    let [without, _] = conditions();
    let without = json!({ "scenario": "mmap-lock", "hosts": model::census::Counts::default(),
        "apart": without, "worst": [] });
    let caveat = prose::caveat(&read::<ScenarioCensus>(without)).unwrap();
    at(
        "census about",
        [
            ("a count", said(0, true)),
            ("a count of the records", said(0, false)),
            ("undecided", said(12, true)),
            ("undecided, no inventory", said(12, false)),
            ("caveat", caveat.to_owned()),
        ],
    )
}

fn cut(factor: &str, side: &str, level: &str) -> Value {
    json!({ "factor": factor, "side": side, "level": level, "p_value": 0.002 })
}

/// Conditions without known owners, and with them.
fn conditions() -> [Value; 2] {
    let mut first = cut("kernel-series", "below", "6.6");
    first["same"] = json!([cut("cgroup", "is", "v1")]);
    let all = json!([first, cut("cpus", "at-least", "8")]);
    let alone = json!({ "conditions": { "all": all, "inside": share(97, Some([0.9, 0.99])),
        "outside": share(1, Some([0.0, 0.03])) } });
    let mut with = alone.clone();
    with["conditions"]["owners"] = 31.into();
    [alone, with]
}

fn tellings() -> Vec<Value> {
    let [alone, with] = conditions();
    vec![
        alone,
        with,
        json!({ "none": { "p_value": 0.31 } }),
        json!({ "too-few-kinds": { "kinds": 1 } }),
        json!({ "too-few-kinds": { "kinds": 4 } }),
        "all-alike".into(),
    ]
}

fn sides() -> Vec<Value> {
    ["is", "is-not", "at-least", "below"].map(Value::from).to_vec()
}

/// A side of a version, and one of a number.
fn sides_of(side: Side) -> String {
    [(Factor::KernelSeries, "6.1"), (Factor::Cpus, "8")]
        .map(|(factor, level)| {
            prose::cut(&model::census::Cut { factor, side, level: level.to_owned() })
        })
        .join("; ")
}

fn states() -> Vec<Value> {
    let words = ["affected", "not-affected", "inconclusive", "untrustworthy", "skipped"];
    words.map(Value::from).to_vec()
}

fn group(answers: Value, alike: Value) -> Group {
    read(json!({ "answers": answers, "hosts": db(400), "records": [], "alike": alike }))
}

/// The sentences about hosts.
fn hosts() -> Lines {
    let names = |hosts: Value, most| prose::names(&read::<Hosts>(hosts), most);
    let mut all = at(
        "census hosts",
        [
            ("names", names(db(400), WIDTH)),
            ("names left out", names(json!({ "count": 500, "names": db(400)["names"] }), WIDTH)),
            (
                "alike",
                prose::alike(&group(
                    json!({}),
                    json!({ "kernel-series": "6.1", "hz": "250",
            "kernel": "6.1.0-9" }),
                )),
            ),
        ],
    );
    let worst = json!({ "host": "db007", "shift": amount(880.0, "ms/s"),
        "record": { "file": "db.json" } });
    let one = json!({ "scenario": "mmap-lock", "hosts": model::census::Counts::default(),
        "apart": "all-alike", "worst": [worst, worst] });
    let worst = prose::worst(&read(one), NAMED).unwrap();
    let odd = |count: u64| {
        let host = json!({ "host": "db007", "state": "affected", "others": 99,
            "record": { "file": "db.json" } });
        prose::odd(&read::<Odd>(json!({ "count": count, "allowed": 1.4, "hosts": [host] })), NAMED)
    };
    all.extend(at("census hosts", [("worst", worst), ("odd one", odd(1)), ("odd ones", odd(4))]));
    all
}

/// The sentences about which files claim to be of which host.
fn claims() -> Lines {
    let place = |line: u64| json!({ "file": "fleet.jsonl", "line": line });
    let example = |more: Value| {
        let mut example = place(17);
        example.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        example
    };
    let said = |more: Value| prose::example(&read::<Example>(example(more)));
    let claimed = json!({ "claims": "db007" });
    let twice = json!({ "claims": "db007", "other": place(20) });
    let all = |why: &str, more: &Value| {
        let one = json!({ "why": why, "count": 9, "examples": [example(more.clone())] });
        prose::claims(&[read::<SetAside>(one)], NAMED).concat()
    };
    let aside = |why: &str, count: u64| json!({ "why": why, "count": count, "examples": [] });
    let aside: Vec<SetAside> = read(json!([aside("duplicate", 12), aside("damaged", 3)]));
    at(
        "census claims",
        [
            ("file", prose::place(&RecordPlace { file: "db.json".to_owned(), line: None })),
            ("place", said(json!({}))),
            ("other host", said(claimed.clone())),
            ("two files", said(twice.clone())),
            ("other hosts", all("other-host", &claimed)),
            ("two files each", all("two-files", &twice)),
            ("set aside", prose::set_aside(&aside)),
        ],
    )
}

/// The sentences about changes since an earlier census.
fn since() -> Lines {
    let none = json!({ "count": 0, "names": [] });
    let said = |field: &str, value: Value| {
        let mut since = json!({ "taken": "", "new": none, "gone": none, "scenarios": [] });
        since[field] = value;
        prose::since(&read::<Since>(since), WIDTH).join("; ")
    };
    let changed = |field: &str| {
        let mut one = json!({ "scenario": "mmap-lock", "became_affected": none,
            "became_clear": none, "other": none });
        one[field] = db(4);
        said("scenarios", json!([one]))
    };
    at(
        "census since",
        [
            ("nothing", said("unknown", 0.into())),
            ("unknown", said("unknown", 1.into())),
            ("new", said("new", db(4))),
            ("gone", said("gone", db(1))),
            ("became affected", changed("became_affected")),
            ("became clear", changed("became_clear")),
            ("changed otherwise", changed("other")),
        ],
    )
}

fn whys() -> Vec<Value> {
    let words = [
        "other-host",
        "two-files",
        "duplicate",
        "superseded",
        "two-answers",
        "contradictory",
        "wrong-clock",
        "truncated",
        "damaged",
        "too-large",
        "newer",
        "unknown-scenario",
        "unreadable",
        "too-many",
        "too-many-entries",
    ];
    words.map(Value::from).to_vec()
}

fn factors() -> Vec<Value> {
    let words = [
        "kernel-series",
        "hz",
        "preemption",
        "otp",
        "virtualised",
        "cgroup",
        "product",
        "cpu-model",
        "cpus",
        "distribution",
        "kernel",
        "arch",
    ];
    words.map(Value::from).to_vec()
}
