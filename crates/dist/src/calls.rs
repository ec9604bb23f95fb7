//! Calls of functions that every node has loaded, in the form that the node's own call server
//! (`rex`) expects.

use beam::term::{atom, list, tuple};
use beam::{ExternalFun, Pid, Term};

/// The registered name of that server, which the application kernel starts.
pub const SERVER: &str = "rex";

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

    /// The message to the call server that asks it to answer this process under this number.
    pub fn request(self, from: &Pid, number: i32) -> Term {
        let from = tuple(vec![Term::from(from.clone()), beam::term::int(number.into())]);
        let (module, function) = (atom(self.module), atom(self.function));
        // Output would go to the node's own `user`, but none of these calls writes any.
        let call = vec![atom("call"), module, function, list(self.arguments), atom("user")];
        tuple(vec![atom("$gen_call"), from, tuple(call)])
    }
}

/// The value of a call; None if the call failed.
pub fn value(answer: Term) -> Option<Term> {
    let failed = matches!(&answer, Term::Tuple(tuple)
        if tuple.elements.first().is_some_and(|one| beam::term::as_atom(one) == Ok("badrpc")));
    (!failed).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_failed_has_no_value() {
        assert_eq!(value(tuple(vec![atom("badrpc"), atom("nodedown")])), None);
        assert_eq!(value(atom("ok")), Some(atom("ok")));
    }

    #[test]
    fn several_calls_are_one() {
        let node = Call::new("erlang", "node", Vec::new());
        let info = Call::new("erlang", "system_info", vec![atom("otp_release")]);
        let all = Call::all(vec![node, info]);
        assert_eq!((all.module, all.function), ("lists", "zipwith"));
        assert_eq!(all.arguments[2], list(vec![list(vec![]), list(vec![atom("otp_release")])]));
    }
}
