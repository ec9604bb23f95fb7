//! What is answered to a scrape: the last figures, written once however many ask for them.

use model::Live;
use report::export::live::{ending, figures};
use report::export::names::Names;
use report::export::scrape::{self, Request, Status};
use std::io::IoSlice;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The last figures, as the thread that watches gives them to the one that answers.
#[derive(Debug, Clone)]
pub struct Latest(Arc<Mutex<Reading>>);

/// Figures, and when they were read.
#[derive(Debug, Clone)]
struct Reading {
    live: Option<Arc<Live>>,
    at: Instant,
}

impl Latest {
    /// There are none yet.
    pub fn new() -> Self {
        Latest(Arc::new(Mutex::new(Reading { live: None, at: Instant::now() })))
    }

    /// Takes figures that were read just now.
    pub fn set(&self, live: &Live) {
        let reading = Reading { live: Some(Arc::new(live.clone())), at: Instant::now() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reading;
    }

    fn get(&self) -> Reading {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Makes answers.
pub struct Answers {
    latest: Latest,
    names: Names,
    /// The text that was made last, and of which figures.
    text: Arc<str>,
    of: Reading,
}

impl Answers {
    /// Of these figures.
    pub fn new(latest: Latest) -> Self {
        let of = latest.get();
        Answers { latest, names: Names::bounded(), text: Arc::default(), of }
    }

    /// The answer to a request.
    pub fn answer(&mut self, request: Request) -> Answer {
        if request.status != Status::Figures {
            let line = format!("{}; the figures are at /metrics\n", request.status.line());
            return Answer::new(request, Arc::default(), line);
        }
        self.refresh();
        // The end is always there: without it a reader takes nothing of the text.
        let end = ending(self.of.at.elapsed());
        Answer::new(request, Arc::clone(&self.text), end)
    }

    /// Makes the text where there are newer figures: names are counted as shown only where somebody
    /// asks.
    fn refresh(&mut self) {
        let newest = self.latest.get();
        let is_same = match (&newest.live, &self.of.live) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (new, _) => new.is_none(),
        };
        if !is_same
            && let Some(text) = newest.live.as_ref().map(|live| figures(live, &mut self.names))
        {
            (self.text, self.of) = (text.into(), newest);
        }
    }
}

/// An answer, and how much of it has been written.
#[derive(Debug)]
pub struct Answer {
    head: String,
    /// The same text for all that ask.
    text: Arc<str>,
    end: String,
    written: usize,
}

impl Answer {
    /// With this body, in two parts.
    pub fn new(request: Request, text: Arc<str>, end: String) -> Self {
        let head = scrape::answer(request.status, text.len() + end.len());
        match request.head_only {
            true => Answer { head, text: Arc::default(), end: String::new(), written: 0 },
            false => Answer { head, text, end, written: 0 },
        }
    }

    /// What has not been written yet.
    pub fn rest(&self) -> [IoSlice<'_>; 3] {
        let mut skip = self.written;
        [self.head.as_str(), &self.text, &self.end].map(|part| {
            let done = skip.min(part.len());
            skip -= done;
            IoSlice::new(&part.as_bytes()[done..])
        })
    }

    /// So many more bytes of it were written.
    pub fn add_written(&mut self, bytes: usize) {
        self.written += bytes;
    }

    /// Whether all of it was.
    pub fn is_written(&self) -> bool {
        self.written >= self.head.len() + self.text.len() + self.end.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(over_ns: u64) -> Live {
        Live { over_ns, ..Live::default() }
    }

    #[test]
    fn figures_are_written_once_and_say_how_old_they_are() {
        let latest = Latest::new();
        let mut answers = Answers::new(latest.clone());
        let figures = Request { status: Status::Figures, head_only: false };
        let first = answers.answer(figures);
        assert!(first.text.is_empty() && first.end.contains("age_seconds"), "{first:?}");
        latest.set(&live(1));
        let (one, two) = (answers.answer(figures), answers.answer(figures));
        assert!(one.text.contains("tailback_watch_") && Arc::ptr_eq(&one.text, &two.text));
        latest.set(&live(2));
        assert!(!Arc::ptr_eq(&answers.answer(figures).text, &one.text));
        // Those of a watch that hangs grow older.
        answers.of.at -= std::time::Duration::from_secs(60);
        let end = answers.answer(figures).end;
        assert!(end.contains("\ntailback_watch_age_seconds{} 60."), "{end}");
        assert!(end.ends_with("# EOF\n"), "{end}");
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
