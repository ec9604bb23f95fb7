//! The answers to scrapes. The text of the last figures is made once, for all requests.

use model::Live;
use report::export::scrape::{self, Request, Status};
use report::export::totals::{Totals, ending};
use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// If the figures are older than this, the health check fails.
const HEALTHY: Duration = Duration::from_secs(10);

/// The last figures. The watching thread passes them to the answering thread through this.
#[derive(Debug, Clone)]
pub struct Latest(Arc<Mutex<Reading>>);

/// Figures, the time of their reading, and their number.
#[derive(Debug)]
struct Reading {
    totals: Totals,
    last: Live,
    at: Instant,
    number: u64,
}

impl Latest {
    /// No figures yet.
    pub fn new() -> Self {
        Latest(Arc::new(Mutex::new(Reading {
            totals: Totals::default(),
            last: Live::default(),
            at: Instant::now(),
            number: 0,
        })))
    }

    /// Adds an interval that was just read. `last` holds the state of the last seconds.
    pub fn add(&self, interval: &Live, last: &Live) {
        let mut reading = self.lock();
        reading.totals.add(interval, last);
        reading.last.clone_from(last);
        reading.at = Instant::now();
        reading.number += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes answers.
pub struct Answers {
    latest: Latest,
    /// The last text, with the time and the number of its figures.
    text: Arc<str>,
    at: Instant,
    number: u64,
}

impl Answers {
    /// Answers from these figures.
    pub fn new(latest: Latest) -> Self {
        Answers { latest, text: Arc::default(), at: Instant::now(), number: 0 }
    }

    /// The answer to a request.
    pub fn answer(&mut self, request: Request) -> Answer {
        match request.status {
            Status::Figures => {
                self.refresh();
                // The end is always sent: without it, a reader rejects the whole text.
                let end = ending(self.at.elapsed());
                Answer::new(request, Arc::clone(&self.text), end)
            }
            Status::Healthy => self.health(request),
            other => {
                let line = format!("{}; the figures are at /metrics\n", other.line());
                Answer::new(request, Arc::default(), line)
            }
        }
    }

    /// Whether there are figures that are recent enough.
    fn health(&self, request: Request) -> Answer {
        let (age, number) = {
            let reading = self.latest.lock();
            (reading.at.elapsed(), reading.number)
        };
        let (status, line) = match (number, age) {
            (0, _) => (Status::Unhealthy, "no figures yet\n".to_owned()),
            (_, age) if age > HEALTHY => {
                (Status::Unhealthy, format!("the figures are {} s old\n", age.as_secs()))
            }
            _ => (Status::Healthy, "the figures are up to date\n".to_owned()),
        };
        Answer::new(Request { status, ..request }, Arc::default(), line)
    }

    /// Makes a new text if there are newer figures.
    fn refresh(&mut self) {
        let mut reading = self.latest.lock();
        let Reading { totals, last, at, number } = &mut *reading;
        if *number != self.number {
            self.text = totals.text(last).into();
            (self.at, self.number) = (*at, *number);
        }
    }
}

/// An answer, and how many bytes of it are written.
#[derive(Debug)]
pub struct Answer {
    head: String,
    /// The text is shared by all requests.
    text: Arc<str>,
    end: String,
    written: usize,
}

impl Answer {
    /// An answer whose body has these two parts.
    pub fn new(request: Request, text: Arc<str>, end: String) -> Self {
        let head = scrape::answer(request.status, text.len() + end.len());
        match request.head_only {
            true => Answer { head, text: Arc::default(), end: String::new(), written: 0 },
            false => Answer { head, text, end, written: 0 },
        }
    }

    /// The parts that are not written yet.
    pub fn rest(&self) -> [IoSlice<'_>; 3] {
        let mut skip = self.written;
        [self.head.as_str(), &self.text, &self.end].map(|part| {
            let done = skip.min(part.len());
            skip -= done;
            IoSlice::new(&part.as_bytes()[done..])
        })
    }

    /// Counts `bytes` more written bytes.
    pub fn add_written(&mut self, bytes: usize) {
        self.written += bytes;
    }

    /// Whether the whole answer is written.
    pub fn is_written(&self) -> bool {
        self.written >= self.head.len() + self.text.len() + self.end.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: &Answer) -> String {
        let parts = answer.rest();
        parts.iter().map(|part| String::from_utf8_lossy(part).into_owned()).collect()
    }

    #[test]
    fn figures_are_written_once_and_say_how_old_they_are() {
        let latest = Latest::new();
        let mut answers = Answers::new(latest.clone());
        let figures = Request { status: Status::Figures, head_only: false };
        let first = answers.answer(figures);
        assert!(first.text.is_empty() && first.end.contains("age_seconds"), "{first:?}");
        latest.add(&Live::default(), &Live::default());
        let (one, two) = (answers.answer(figures), answers.answer(figures));
        assert!(one.text.contains("tailback_watch_") && Arc::ptr_eq(&one.text, &two.text));
        latest.add(&Live::default(), &Live::default());
        assert!(!Arc::ptr_eq(&answers.answer(figures).text, &one.text));
        // If watch hangs, its figures grow older.
        answers.at -= Duration::from_secs(60);
        let end = answers.answer(figures).end;
        assert!(end.contains("\ntailback_watch_age_seconds{} 60."), "{end}");
        assert!(end.ends_with("# EOF\n"), "{end}");
    }

    #[test]
    fn a_watch_is_healthy_while_its_figures_are_new() {
        let latest = Latest::new();
        let mut answers = Answers::new(latest.clone());
        let mut ask =
            || text(&answers.answer(Request { status: Status::Healthy, head_only: false }));
        assert!(ask().starts_with("HTTP/1.1 503 ") && ask().ends_with("no figures yet\n"));
        latest.add(&Live::default(), &Live::default());
        assert!(ask().starts_with("HTTP/1.1 200 "), "{}", ask());
        latest.lock().at -= Duration::from_secs(60);
        assert!(ask().starts_with("HTTP/1.1 503 ") && ask().contains("are 60 s old"), "{}", ask());
    }

    #[test]
    fn an_answer_is_written_in_pieces_of_any_length() {
        let whole = || Answer::new(Status::NotFound.into(), "middle".into(), "end\n".into());
        let text = |answer: &Answer| {
            answer.rest().iter().map(|part| part.to_vec()).collect::<Vec<_>>().concat()
        };
        let all = text(&whole());
        assert!(all.ends_with(b"\r\n\r\nmiddleend\n"));
        for piece in 1..all.len() {
            let (mut answer, mut written) = (whole(), Vec::new());
            while !answer.is_written() {
                let rest = text(&answer);
                let piece = piece.min(rest.len());
                written.extend_from_slice(&rest[..piece]);
                answer.add_written(piece);
            }
            assert_eq!(written, all, "{piece}");
        }
    }
}
