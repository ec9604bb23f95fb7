//! A scrape over HTTP: the head of the request and the head of the response.
//!
//! Any user of the machine or of the network may send such a request. This module does no I/O and
//! accepts any bytes. It handles only the HTTP that a scrape needs: the first request of a
//! connection, without its body, and one response, after which the connection is closed.

/// The largest head of a request, in bytes.
pub const MOST: usize = 8 << 10;

/// The content type of the figures.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The paths of the figures.
const PATHS: [&str; 2] = ["/", "/metrics"];

/// The paths of the health check, which reports whether the figures are up to date.
const HEALTH: [&str; 2] = ["/-/healthy", "/-/ready"];

/// The response to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The figures.
    Figures,
    /// The figures are up to date.
    Healthy,
    /// The figures are old, or there are none yet.
    Unhealthy,
    /// The request is not HTTP.
    Malformed,
    /// There is nothing at this path.
    NotFound,
    /// The method is neither GET nor HEAD.
    OtherMethod,
    /// The request did not arrive in time.
    Late,
    /// The head of the request is longer than [`MOST`].
    TooLong,
}

impl Status {
    /// The status line of the response, from the code on.
    pub fn line(self) -> &'static str {
        match self {
            Status::Figures | Status::Healthy => "200 OK",
            Status::Unhealthy => "503 Service Unavailable",
            Status::Malformed => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::OtherMethod => "405 Method Not Allowed",
            Status::Late => "408 Request Timeout",
            Status::TooLong => "431 Request Header Fields Too Large",
        }
    }
}

/// A request whose head is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The response to it.
    pub status: Status,
    /// Whether the response is to have no body.
    pub head_only: bool,
}

impl From<Status> for Request {
    fn from(status: Status) -> Self {
        Request { status, head_only: false }
    }
}

/// Parses the bytes of a request that arrived so far. None while its head is incomplete.
///
/// The bytes after the head, such as a body or further requests, are ignored.
pub fn request(bytes: &[u8]) -> Option<Request> {
    match head(&bytes[..bytes.len().min(MOST)]) {
        Some(head) => Some(parse(head)),
        None if bytes.len() >= MOST => Some(Status::TooLong.into()),
        None => None,
    }
}

/// The lines of the head, without the empty line that ends it. Leading empty lines are skipped.
fn head(bytes: &[u8]) -> Option<&[u8]> {
    let begins = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let bytes = &bytes[begins..];
    let mut from = 0;
    while let Some(length) = bytes[from..].iter().position(|byte| *byte == b'\n') {
        if matches!(&bytes[from..from + length], b"" | b"\r") {
            return Some(&bytes[..from]);
        }
        from += length + 1;
    }
    None
}

fn parse(head: &[u8]) -> Request {
    let Ok(text) = std::str::from_utf8(head) else { return Status::Malformed.into() };
    let mut lines = text.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Status::Malformed.into();
    };
    let is_http = matches!(version, "HTTP/1.0" | "HTTP/1.1");
    if !is_http || !is_token(method) || !lines.all(is_field) {
        return Status::Malformed.into();
    }
    if !matches!(method, "GET" | "HEAD") {
        return Status::OtherMethod.into();
    }
    let status = match path(target) {
        None => Status::Malformed,
        Some(path) if PATHS.contains(&path) => Status::Figures,
        Some(path) if HEALTH.contains(&path) => Status::Healthy,
        Some(_) => Status::NotFound,
    };
    Request { status, head_only: method == "HEAD" }
}

/// The path of the request target. A proxy may send the whole address.
fn path(target: &str) -> Option<&str> {
    let target = match target.strip_prefix("http://") {
        Some(address) => address.find('/').map_or("/", |slash| &address[slash..]),
        None => target,
    };
    target.starts_with('/').then(|| target.split(['?', '#']).next().unwrap_or_default())
}

/// Whether the line is a header: a name, a colon, and a value without control characters.
fn is_field(line: &str) -> bool {
    let is_value = |value: &str| value.chars().all(|c| c == '\t' || !c.is_control());
    line.split_once(':').is_some_and(|(name, value)| is_token(name) && is_value(value))
}

/// Whether the word may be the name of a method or of a header.
fn is_token(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !word.is_empty() && word.bytes().all(is_part)
}

/// The head of a response with a body of `length` bytes.
pub fn answer(status: Status, length: usize) -> String {
    let format = match status {
        Status::Figures => FORMAT,
        _ => "text/plain; charset=utf-8",
    };
    let allowed = match status {
        Status::OtherMethod => "Allow: GET, HEAD\r\n",
        _ => "",
    };
    format!(
        "HTTP/1.1 {}\r\nContent-Type: {format}\r\nContent-Length: {length}\r\n{allowed}\
         Connection: close\r\n\r\n",
        status.line()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn status(text: &str) -> Option<Status> {
        request(text.as_bytes()).map(|request| request.status)
    }

    #[test]
    fn the_figures_are_at_two_paths_for_two_methods() {
        for path in ["/", "/metrics", "/metrics?x=1", "http://a:1/metrics", "http://a", "/?", "/#"]
        {
            for (method, head_only) in [("GET", false), ("HEAD", true)] {
                let text = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n");
                let figures = Request { status: Status::Figures, head_only };
                assert_eq!(request(text.as_bytes()), Some(figures), "{text}");
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_request_is_told_apart() {
        let with = |line: &str| format!("GET / HTTP/1.1\r\n{line}\r\n\r\n");
        let cases = [
            (Status::Figures, "GET / HTTP/1.0\r\n\r\n".to_owned()),
            (Status::Figures, "\r\n\r\nGET / HTTP/1.1\nA:\n\n".to_owned()),
            (Status::Figures, with("A: b\r\nContent-Length: 5000")),
            (Status::Healthy, "GET /-/healthy HTTP/1.1\r\n\r\n".to_owned()),
            (Status::Healthy, "GET /-/ready HTTP/1.1\r\n\r\n".to_owned()),
            (Status::NotFound, "GET /etc/passwd HTTP/1.1\r\n\r\n".to_owned()),
            (Status::NotFound, "GET //metrics HTTP/1.1\r\n\r\n".to_owned()),
            (Status::OtherMethod, "POST / HTTP/1.1\r\n\r\n".to_owned()),
            (Status::OtherMethod, "OPTIONS * HTTP/1.1\r\n\r\n".to_owned()),
            (Status::Malformed, "GET * HTTP/1.1\r\n\r\n".to_owned()),
            (Status::Malformed, "GET metrics HTTP/1.1\r\n\r\n".to_owned()),
            (Status::Malformed, "GET / HTTP/2.0\r\n\r\n".to_owned()),
            (Status::Malformed, "GET /\r\n\r\n".to_owned()),
            (Status::Malformed, "GET  / HTTP/1.1\r\n\r\n".to_owned()),
            (Status::Malformed, "G T / HTTP/1.1\r\n\r\n".to_owned()),
            (Status::Malformed, "\u{16}\u{3}\u{1}\r\n\r\n".to_owned()),
            (Status::Malformed, with("no colon")),
            (Status::Malformed, with(": no name")),
            (Status::Malformed, with("A: b\r\n folded: c")),
            (Status::Malformed, with("A : b")),
            (Status::Malformed, with("A: \0")),
        ];
        for (expected, text) in cases {
            assert_eq!(status(&text), Some(expected), "{text:?}");
        }
        assert_eq!(request(b"GET /\xff HTTP/1.1\r\n\r\n"), Some(Status::Malformed.into()));
    }

    #[test]
    fn a_head_without_end_is_too_long_and_none_is_awaited_longer() {
        let endless = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(MOST));
        assert_eq!(request(&endless.as_bytes()[..MOST - 1]), None);
        assert_eq!(request(&endless.as_bytes()[..MOST]), Some(Status::TooLong.into()));
        assert_eq!(request(&vec![b'\n'; MOST]), Some(Status::TooLong.into()));
        // A complete head may have this length.
        let whole = format!("{}\r\n\r\n", &endless[..MOST - 4]);
        assert_eq!(status(&whole), Some(Status::Figures));
    }

    #[test]
    fn an_answer_says_how_long_it_is_and_that_it_is_the_last() {
        let head = answer(Status::OtherMethod, 12);
        assert!(head.starts_with("HTTP/1.1 405 ") && head.ends_with("\r\n\r\n"), "{head}");
        for line in ["Content-Length: 12", "Allow: GET, HEAD", "Connection: close"] {
            assert!(head.lines().any(|one| one == line), "{head}");
        }
        assert!(answer(Status::Figures, 0).contains("openmetrics-text"));
    }

    /// Byte sequences that resemble a head far more often than random bytes do.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let pieces: &[&[u8]] = &[
            b"GET",
            b"HEAD",
            b"POST",
            b" ",
            b"/",
            b"/metrics",
            b"?",
            b"http://a",
            b" HTTP/1.1",
            b"\r\n",
            b"\n",
            b"\r",
            b"A: b",
            b":",
            b"\0",
            b"\xff",
            b"Content-Length: 5000",
        ];
        let piece = prop_oneof![
            proptest::sample::select(pieces).prop_map(<[u8]>::to_vec),
            proptest::collection::vec(any::<u8>(), 0..4),
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_follows_a_whole_head_changes_nothing(start in bytes(), rest in bytes()) {
            let all = [&start[..], &rest].concat();
            if let Some(whole) = request(&start) {
                prop_assert_eq!(request(&all), Some(whole));
            }
        }

        #[test]
        fn an_answer_comes_once_the_head_has_ended(start in bytes(), length in 0..2 * MOST) {
            let ended = [&start[..], b"x\r\n\r\n"].concat();
            prop_assert!(request(&ended).is_some());
            prop_assert_eq!(request(&vec![b'a'; length]).is_some(), length >= MOST);
        }

        #[test]
        fn a_scrape_with_any_headers_gets_the_figures(
            names in proptest::collection::vec("[A-Za-z-]{1,9}", 0..9), value in "[ -~]{0,40}"
        ) {
            let fields: String = names.iter().map(|name| format!("{name}: {value}\r\n")).collect();
            let text = format!("GET /metrics HTTP/1.1\r\n{fields}\r\n");
            prop_assert_eq!(status(&text), Some(Status::Figures));
        }
    }
}
