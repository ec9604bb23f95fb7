//! Calls of functions that every node has loaded.

use beam::term::{atom, int, list, tuple};
use beam::{ExternalFun, Term};

/// A call of an exported function.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    module: &'static str,
    function: &'static str,
    arguments: Vec<Term>,
}

impl Call {
    /// A call of this function with these arguments.
    pub fn new(module: &'static str, function: &'static str, arguments: Vec<Term>) -> Self {
        Call { module, function, arguments }
    }

    /// Makes all calls one after the other in one process; the value is the list of their values.
    /// If one call fails, all fail.
    pub fn all(calls: Vec<Call>) -> Self {
        let apply = Term::from(ExternalFun::from(("erlang", "apply", 2)));
        let (funs, arguments) = calls.into_iter().map(Call::parts).unzip();
        Call::new("lists", "zipwith", vec![apply, list(funs), list(arguments)])
    }

    /// Calls the function for each element of `of`, with `with` as the second argument each time.
    pub fn each(function: (&str, &str), of: Vec<Term>, with: &Term) -> Self {
        let fun = Term::from(ExternalFun::from((function.0, function.1, 2)));
        let same = vec![with.clone(); of.len()];
        Call::new("lists", "zipwith", vec![fun, list(of), list(same)])
    }

    fn parts(self) -> (Term, Term) {
        let arity = u8::try_from(self.arguments.len()).unwrap_or(u8::MAX);
        let fun = ExternalFun::from((self.module, self.function, arity));
        (Term::from(fun), list(self.arguments))
    }

    /// Module, function and arity, and the list of arguments, in the form of a spawn request.
    pub fn spawned(self) -> (Term, Term) {
        let arity = i64::try_from(self.arguments.len()).unwrap_or(i64::MAX);
        let what = vec![atom(self.module), atom(self.function), beam::term::int(arity)];
        (tuple(what), list(self.arguments))
    }

    /// The same call in a process that ends with the call's value as its reason. The VM sends the
    /// reason to a linked process only over the connection on which the link was made. A message to
    /// us would make the node look up our host and connect to us if we were gone.
    ///
    /// From OTP 23 on, nodes start each other's `erpc:execute_call/4` to make such calls.
    pub fn exits_with_value(self) -> Self {
        let call = vec![atom(self.module), atom(self.function), list(self.arguments)];
        Call::new("erpc", "execute_call", [vec![int(0)], call].concat())
    }
}

/// The bytes of a call's value without the version byte, from the reason with which the process of
/// a [`Call::exits_with_value`] ended. None if the call failed.
pub fn value(reason: &[u8]) -> Option<&[u8]> {
    // What follows `{0, return, ` in the external format.
    match reason.strip_prefix(&[131, 104, 3, 97, 0])? {
        [115 | 119, 6, rest @ ..] | [100 | 118, 0, 6, rest @ ..] => rest.strip_prefix(b"return"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use beam::wire;

    /// The bytes of a reason.
    fn reason(of: Vec<Term>) -> Vec<u8> {
        wire::encode(tuple(of))
    }

    #[test]
    fn only_a_call_that_returned_has_a_value() {
        let returned = reason(vec![int(0), atom("return"), list(vec![atom("ok")])]);
        assert_eq!(wire::decode_inner(value(&returned).unwrap()), Ok(list(vec![atom("ok")])));
        for failed in [
            reason(vec![int(0), atom("exit"), atom("ok")]),
            reason(vec![int(1), atom("return"), atom("ok")]),
            reason(vec![int(0), atom("error"), atom("undef"), list(Vec::new())]),
            wire::encode(atom("killed")),
            vec![131, 104, 3, 97, 0, 119],
            Vec::new(),
        ] {
            assert_eq!(value(&failed), None, "{failed:?}");
        }
    }

    #[test]
    fn the_name_of_the_outcome_is_read_in_each_of_its_forms() {
        for form in [&[115, 6][..], &[119, 6], &[100, 0, 6], &[118, 0, 6]] {
            let bytes = [&[131, 104, 3, 97, 0][..], form, b"return", &[97, 7]].concat();
            assert_eq!(value(&bytes), Some(&[97, 7][..]), "{form:?}");
        }
    }

    #[test]
    fn several_calls_are_one() {
        let node = Call::new("erlang", "node", Vec::new());
        let info = Call::new("erlang", "system_info", vec![atom("otp_release")]);
        let all = Call::all(vec![node, info]);
        assert_eq!((all.module, all.function), ("lists", "zipwith"));
        assert_eq!(all.arguments[2], list(vec![list(vec![]), list(vec![atom("otp_release")])]));
        let exiting = all.exits_with_value();
        assert_eq!((exiting.module, exiting.function), ("erpc", "execute_call"));
        assert_eq!(exiting.arguments[..2], [int(0), atom("lists")]);
    }
}
