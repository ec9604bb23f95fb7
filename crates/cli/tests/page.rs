//! The page in a real browser: no request to other servers, no error, every chart drawn, no word
//! cut.
//!
//! `TAILBACK_PICTURES=FOLDER` keeps a picture of each page, for a look at it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Place;
use common::browser::Browser;
use common::story::{hostile, story};
use model::Judged;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Widths of a phone and of a screen, each with both colour schemes.
const LOOKS: [(u32, &str); 4] = [(360, "light"), (360, "dark"), (1440, "light"), (1440, "dark")];

/// Elements that are too small for their words, and a page that is wider than the screen.
const CUT: &str = "[...document.querySelectorAll('body,h1,h2,h3,h4,p,li,figure,figcaption,summary,\
    .card,.pill,code,.legend')].filter(e => e.scrollWidth > e.clientWidth + 1 && \
    getComputedStyle(e).display !== 'inline').map(e => e.tagName + ' ' + e.className + ': ' + \
    e.textContent.slice(0, 60)).concat(document.documentElement.scrollWidth > innerWidth ? \
    ['the page is ' + document.documentElement.scrollWidth + ' wide'] : [])";

/// Words of charts outside of the drawing.
const OUTSIDE: &str = "[...document.querySelectorAll('svg.chart')].flatMap(s => { const box = \
    s.getBoundingClientRect(); return [...s.querySelectorAll('text')].filter(t => { const b = \
    t.getBoundingClientRect(); return b.left < box.left - 1 || b.right > box.right + 1 || b.bottom > \
    box.bottom + 1 || b.top < box.top - 1 }).map(t => t.textContent) })";

/// Charts without a mark, a name, or a size.
const EMPTY: &str = "[...document.querySelectorAll('svg.chart')].filter(s => \
    !s.querySelector('circle,polyline,path,rect') || s.clientHeight < 60 || \
    !document.getElementById(s.getAttribute('aria-labelledby').split(' ')[0])).length";

/// The worst contrast between words and their background on the page.
const CONTRAST: &str = "(() => { const lum = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => \
    { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4 }); return 0.2126 * \
    v[0] + 0.7152 * v[1] + 0.0722 * v[2] }; const ground = e => { for (; e; e = e.parentElement) { const \
    c = getComputedStyle(e).backgroundColor; if (c !== 'rgba(0, 0, 0, 0)') return c } return \
    'rgb(255,255,255)' }; return Math.min(...[...document.querySelectorAll('h1,h2,h3,p,li,td,th,.pill,\
    .mark,summary,figcaption,code,a')].map(e => { const a = lum(getComputedStyle(e).color), b = \
    lum(ground(e)); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) })) })()";

fn saved(place: &Place, name: &str, record: &Judged) -> PathBuf {
    let path = place.path(name);
    std::fs::write(&path, record.to_json()).unwrap();
    path
}

/// Writes a page of these records. That must succeed.
fn page(place: &Place, records: &[PathBuf]) -> PathBuf {
    let page = place.path("page.html");
    let mut args: Vec<&str> = vec!["report", "-o", page.to_str().unwrap()];
    args.extend(records.iter().map(|path| path.to_str().unwrap()));
    let ran = place.say(&args);
    assert_eq!(ran.code(), 0, "{ran:?}");
    page
}

/// Fails if the page did anything other than show itself.
fn assert_quiet(browser: &Browser, page: &Path) {
    for event in &browser.events {
        let method = event["method"].as_str().unwrap_or_default();
        if method == "Network.requestWillBeSent" {
            let url = event["params"]["request"]["url"].as_str().unwrap();
            let own = url.starts_with("data:") || url == format!("file://{}", page.display());
            assert!(own, "a request for {url}");
        }
        let wrong = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        assert!(!wrong.contains(&method), "{event}");
    }
}

fn assert_shown(browser: &mut Browser, page: &Path, name: &str, least_charts: u64) {
    for (width, scheme) in LOOKS {
        browser.open(page, width, scheme);
        let at = format!("{name} at {width} px, {scheme}");
        assert_eq!(browser.value(CUT), serde_json::json!([]), "{at}: words are cut");
        assert_eq!(browser.value(OUTSIDE), serde_json::json!([]), "{at}: words leave their chart");
        assert_eq!(browser.value(EMPTY), 0, "{at}: charts are empty");
        let charts = browser.value("document.querySelectorAll('svg.chart').length");
        assert!(charts.as_u64().unwrap() >= least_charts, "{at}: {charts} charts");
        let tables = browser.value("document.querySelectorAll('figure table').length");
        assert_eq!(tables, charts, "{at}: a table behind each chart");
        let contrast = browser.value(CONTRAST).as_f64().unwrap();
        assert!(contrast >= 4.5, "{at}: contrast {contrast}");
        let ground = browser.value("getComputedStyle(document.body).backgroundColor");
        let bright = ground.as_str().unwrap().contains("24");
        assert_eq!(bright, scheme == "light", "{at}: {ground}");
        picture(browser, &format!("{name}-{width}-{scheme}"));
        // Parts that are closed at first must not be cut either.
        browser.value("document.querySelectorAll('details').forEach(d => d.open = true)");
        assert_eq!(browser.value(CUT), serde_json::json!([]), "{at}: words in tables are cut");
        assert_quiet(browser, page);
    }
}

fn picture(browser: &mut Browser, name: &str) {
    let Some(folder) = std::env::var_os("TAILBACK_PICTURES") else { return };
    let picture = browser.picture();
    let path = Path::new(&folder).join(format!("{name}.png.base64"));
    std::fs::write(path, picture).unwrap();
}

#[test]
fn everything_that_a_record_can_hold_is_shown() {
    let place = Place::new();
    let records = vec![
        saved(&place, "story.json", &story()),
        place.golden("mmap-lock.quiet"),
        place.golden("cpu-quota"),
    ];
    let page = page(&place, &records);
    let Some(mut browser) = Browser::start() else { return };
    assert_shown(&mut browser, &page, "story", 12);
    let sections = browser.value("document.querySelectorAll('section.record').length");
    assert_eq!(sections, 3);
    let links =
        "[...document.querySelectorAll('a[download]')].every(a => a.href.startsWith('data:'))";
    assert_eq!(browser.value(links), true);
}

#[test]
fn a_page_in_proc_is_refused_before_anything_is_measured() {
    let ran = Place::new().say(&["check", "--only", "mmap-lock", "--report", "/proc/page.html"]);
    assert_eq!((ran.code(), ran.out.as_str()), (2, ""), "{ran:?}");
    assert!(ran.err.contains("--report /proc/page.html: "), "{ran:?}");
}

#[test]
fn hostile_words_stay_words() {
    let place = Place::new();
    let evil = "<script>document.title='evil'</script><img src=x onerror=\"document.title='evil'\">\
                \"'`]]>--></style></svg><a href=javascript:alert(1)>";
    let page = page(&place, &[saved(&place, "hostile.json", &hostile(evil))]);
    let text = std::fs::read_to_string(&page).unwrap();
    for tag in ["<script", "<img", "<a href=javascript"] {
        assert!(!text.contains(tag), "{tag}");
    }
    let Some(mut browser) = Browser::start() else { return };
    assert_shown(&mut browser, &page, "hostile", 6);
    let count = browser.value("document.querySelectorAll('script,img,iframe').length");
    assert_eq!(count, 0);
    assert_ne!(browser.value("document.title"), Value::from("evil"));
}

#[test]
fn a_comparison_and_a_history_are_shown() {
    let place = Place::new();
    let golden = place.golden("mmap-lock");
    let other = saved(&place, "state/other.json", &story());
    let (out, drawn) = (place.path("change.html"), place.path("history.html"));
    let words = |path: &Path| path.to_str().unwrap().to_owned();
    let ran = place.say(&["compare", &words(&golden), &words(&other), "-o", &words(&out)]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let ran = place.say(&["history", &words(&place.path("state")), "-o", &words(&drawn)]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let Some(mut browser) = Browser::start() else { return };
    assert_shown(&mut browser, &out, "change", 6);
    assert_shown(&mut browser, &drawn, "history", 1);
}
