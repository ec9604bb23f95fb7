//! The messages between the tool and a node.

use super::MOST_OF_MESSAGE;
use super::check::check;
use super::frames::framed;
use super::lossless::lossless;
use crate::term;
use eetf::{List, Term, Tuple};

/// A message from a node.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// The node's description; the first message.
    Hello(Term),
    /// The result of a call.
    Result(u64, Term),
    /// A call raised an exception, or its process was killed; with the reason.
    Failed(u64, String),
    /// An event from a call, or from a process that the call started.
    Event(u64, Term),
    /// Text that Erlang code printed.
    Printed(Vec<u8>),
}

impl Incoming {
    /// Parses a frame.
    ///
    /// # Errors
    /// What is wrong with it, in a few words.
    pub fn parse(frame: &[u8]) -> Result<Self, String> {
        check(frame, MOST_OF_MESSAGE)?;
        let term =
            Term::decode(frame).map_err(|error| crate::text::clean_line(&error.to_string()))?;
        let Term::Tuple(Tuple { elements }) = term else {
            return Err("a message that is not a tuple".to_owned());
        };
        Self::from_elements(elements).ok_or_else(|| "an unknown message".to_owned())
    }

    fn from_elements(elements: Vec<Term>) -> Option<Self> {
        let mut elements = elements.into_iter();
        let kind = elements.next()?;
        let (first, second) = (elements.next()?, elements.next());
        if elements.next().is_some() {
            return None;
        }
        match (term::as_atom(&kind).ok()?, second) {
            ("hello", None) => Some(Incoming::Hello(first)),
            ("printed", None) => match first {
                Term::Binary(binary) => Some(Incoming::Printed(binary.bytes)),
                _ => None,
            },
            (kind, Some(second)) => Self::of_call(kind, term::as_u64(&first).ok()?, second),
            _ => None,
        }
    }

    fn of_call(kind: &str, id: u64, term: Term) -> Option<Self> {
        match kind {
            "result" => Some(Incoming::Result(id, term)),
            "event" => Some(Incoming::Event(id, term)),
            "failed" => Some(Incoming::Failed(id, term::as_text(&term).ok()?)),
            _ => None,
        }
    }
}

/// The frame of a call.
///
/// # Errors
/// Why it cannot be sent.
pub(crate) fn call(
    id: u64,
    module: &str,
    function: &str,
    args: Vec<Term>,
) -> Result<Vec<u8>, String> {
    let args = Term::from(List::from(args));
    frame(vec![term::atom("call"), term::uint(id), term::atom(module), term::atom(function), args])
}

/// The frame that kills a call.
///
/// # Errors
/// Why it cannot be sent.
pub(crate) fn cancel(id: u64) -> Result<Vec<u8>, String> {
    frame(vec![term::atom("cancel"), term::uint(id)])
}

fn frame(elements: Vec<Term>) -> Result<Vec<u8>, String> {
    let mut payload = Vec::new();
    let message = lossless(Term::from(Tuple::from(elements)));
    message.encode(&mut payload).map_err(|error| crate::text::clean_line(&error.to_string()))?;
    // A term that the other side would misread must not be sent.
    check(&payload, MOST_OF_MESSAGE)?;
    framed(&payload).map_err(|length| format!("{length} bytes, more than a frame may have"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use eetf::Binary;
    use proptest::prelude::*;

    fn parsed(elements: Vec<Term>) -> Result<Incoming, String> {
        let mut bytes = Vec::new();
        Term::from(Tuple::from(elements)).encode(&mut bytes).unwrap();
        Incoming::parse(&bytes)
    }

    #[test]
    fn each_message_is_read() {
        let text = || Term::from(Binary::from("é".as_bytes()));
        let (one, id) = (term::uint(1), term::uint(u64::MAX));
        assert_eq!(
            parsed(vec![term::atom("hello"), one.clone()]),
            Ok(Incoming::Hello(one.clone()))
        );
        let result = parsed(vec![term::atom("result"), id.clone(), one.clone()]);
        assert_eq!(result, Ok(Incoming::Result(u64::MAX, one.clone())));
        let event = parsed(vec![term::atom("event"), id.clone(), one.clone()]);
        assert_eq!(event, Ok(Incoming::Event(u64::MAX, one.clone())));
        let failed = parsed(vec![term::atom("failed"), id, text()]);
        assert_eq!(failed, Ok(Incoming::Failed(u64::MAX, "é".to_owned())));
        let printed = parsed(vec![term::atom("printed"), text()]);
        assert_eq!(printed, Ok(Incoming::Printed("é".into())));
        assert!(parsed(vec![term::atom("printed"), one.clone()]).is_err());
        assert!(parsed(vec![term::atom("result"), one.clone()]).is_err());
        assert!(parsed(vec![term::atom("result"), one.clone(), one.clone(), one.clone()]).is_err());
        assert!(parsed(vec![one.clone(), one]).is_err());
    }

    #[test]
    fn a_call_is_framed_and_one_that_is_too_large_is_not() {
        let frame = call(7, "lists", "seq", vec![term::int(1), term::int(-5)]).unwrap();
        assert_eq!(usize::from(frame[3]) + 4, frame.len());
        let large = Term::from(Binary::from(vec![0; super::super::MOST_BYTES]));
        assert!(call(7, "m", "f", vec![large]).unwrap_err().contains("more than a frame"));
        assert!(call(7, &"x".repeat(70_000), "f", vec![]).is_err());
    }

    proptest! {
        #[test]
        fn nonsense_is_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Incoming::parse(&bytes);
        }
    }
}
