//! Traces of requests as text, one request per line.

use crate::arrivals::MOST_REQUESTS;
use crate::error::Error;
use crate::request::{LONGEST_NS, Request};
use model::units::parse_duration;

/// Most characters of a bad line that are quoted.
const QUOTED: usize = 60;

/// Reads a trace. Each line has the arrival time of a request and its CPU time.
///
/// Fields are separated by a comma or blanks. A time has a unit (`1.5ms`, `20us`) or is in
/// milliseconds. The text after `#` is a comment. A first line of words is a heading. Lines may
/// be in any order. Requests with the same arrival time keep the order of their lines.
///
/// # Errors
/// If a line is malformed: its number and the reason. Also if there are no requests, or more than
/// ten million.
pub fn parse_trace(text: &str) -> Result<Vec<Request>, Error> {
    let mut requests = Vec::new();
    let mut may_be_heading = true;
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if std::mem::take(&mut may_be_heading) && is_heading(content) {
            continue;
        }
        if requests.len() == MOST_REQUESTS {
            let why = format!("line {} is beyond {MOST_REQUESTS} requests", index + 1);
            return Err(Error::TraceSize(why));
        }
        let request =
            parse_request(content).map_err(|why| Error::Trace { line: index + 1, why })?;
        requests.push(request);
    }
    if requests.is_empty() {
        return Err(Error::TraceSize("it contains no request".to_owned()));
    }
    requests.sort_by_key(|request| request.at_ns);
    Ok(requests)
}

fn fields(content: &str) -> impl Iterator<Item = &str> {
    // A comma may have blanks around it. Two commas enclose an empty field.
    content.split(',').flat_map(|part| {
        let part = part.trim();
        let empty = part.is_empty().then_some("");
        empty.into_iter().chain(part.split_whitespace())
    })
}

fn is_heading(content: &str) -> bool {
    fields(content).all(|field| field.starts_with(|c: char| c.is_alphabetic()))
}

fn parse_request(content: &str) -> Result<Request, String> {
    let mut fields = fields(content);
    let (Some(at), Some(service), None) = (fields.next(), fields.next(), fields.next()) else {
        let quoted: String = content.chars().take(QUOTED).collect();
        return Err(format!("`{quoted}` is not an arrival time and a service time"));
    };
    let at_ns = parse_time(at)?;
    let service_ns = parse_time(service)?;
    if service_ns == 0 {
        return Err("a request has to take some CPU time".to_owned());
    }
    Ok(Request { at_ns, service_ns })
}

fn parse_time(field: &str) -> Result<u64, String> {
    let bare = field.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    let with_unit = if bare { format!("{field}ms") } else { field.to_owned() };
    let ns = parse_duration(&with_unit).ok().and_then(|time| u64::try_from(time.as_nanos()).ok());
    match ns {
        Some(ns) if ns <= LONGEST_NS => Ok(ns),
        Some(_) => Err(format!("`{field}` is longer than an hour")),
        None => {
            let quoted: String = field.chars().take(QUOTED).collect();
            Err(format!("`{quoted}` is not a time; write 1.5ms, 20us, or a number of milliseconds"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(at_ns: u64, service_ns: u64) -> Request {
        Request { at_ns, service_ns }
    }

    #[test]
    fn commas_blanks_units_and_comments() {
        let text = "arrival, service\n# two\n\n 1.5 , 20us # first\n0\t3ms\n2s .25\r\n";
        let expected = vec![
            request(0, 3_000_000),
            request(1_500_000, 20_000),
            request(2_000_000_000, 250_000),
        ];
        assert_eq!(parse_trace(text), Ok(expected));
    }

    #[test]
    fn the_number_of_a_bad_line_is_named() {
        for (text, line, part) in [
            ("1 1\n2\n", 2, "arrival time and a service time"),
            ("1 1\n\n# x\n1 2 3\n", 4, "arrival time and a service time"),
            ("1 1\nx 2\n", 2, "`x` is not a time"),
            ("-1 2\n", 1, "`-1` is not a time"),
            ("1,,2\n", 1, "arrival time and a service time"),
            ("1 2h\n", 1, "longer than an hour"),
            ("1 0\n", 1, "some CPU time"),
            ("at service\nat service\n", 2, "not a time"),
            ("1e3 1\n", 1, "`1e3` is not a time"),
        ] {
            let error = parse_trace(text).unwrap_err();
            assert!(matches!(error, Error::Trace { line: l, .. } if l == line), "{text:?} {error}");
            assert!(error.to_string().contains(part), "{text:?} {error}");
        }
        assert!(matches!(parse_trace("# nothing\n"), Err(Error::TraceSize(_))));
    }

    proptest! {
        #[test]
        fn a_trace_survives_writing_and_reading(
            pairs in prop::collection::vec((0u64..1_000_000_000, 1u64..1_000_000_000), 1..50),
            comma in any::<bool>(),
        ) {
            let separator = if comma { "," } else { " " };
            let text: String =
                pairs.iter().map(|(at, ns)| format!("{at}ns{separator}{ns}ns\n")).collect();
            let mut expected: Vec<_> = pairs.iter().map(|(at, ns)| request(*at, *ns)).collect();
            expected.sort_by_key(|request| request.at_ns);
            prop_assert_eq!(parse_trace(&text), Ok(expected));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[0-9a-z.,# \t\n-]{0,200}") {
            let _ = parse_trace(&text);
        }

        #[test]
        fn nor_does_any_other_text(text in ".*") {
            let _ = parse_trace(&text);
        }
    }
}
