use super::*;
use eetf::ByteList;

fn message<T: fmt::Debug>(read: Read<T>) -> String {
    read.unwrap_err().to_string()
}

/// The term after encoding and decoding.
fn sent(term: &Term) -> Term {
    let mut bytes = Vec::new();
    term.encode(&mut bytes).unwrap();
    Term::decode(&bytes[..]).unwrap()
}

#[test]
fn numbers_are_read_whatever_form_they_travel_in() {
    for number in [0, 255, 256, -1, i64::from(i32::MIN), i64::MAX, i64::MIN] {
        assert_eq!(as_i64(&sent(&int(number))), Ok(number));
    }
    assert_eq!(as_u64(&sent(&uint(u64::MAX))), Ok(u64::MAX));
    assert_eq!(as_f64(&sent(&float(0.5).unwrap())), Ok(0.5));
    assert_eq!(as_f64(&int(1 << 40)), Ok((1u64 << 40) as f64));
    assert_eq!(float(f64::NAN), None);
    let expected = "expected an unsigned 64-bit integer, found the integer -1";
    assert_eq!(message(as_u64(&int(-1))), expected);
    assert!(message(as_i64(&uint(u64::MAX))).contains("larger integer"));
    assert_eq!(message(as_f64(&atom("unknown"))), "expected a number, found the atom unknown");
}

#[test]
fn lists_of_small_integers_are_lists() {
    let numbers = list((0..300).map(int).collect());
    assert_eq!(each(&sent(&numbers), as_i64).unwrap(), (0..300).collect::<Vec<_>>());
    let bytes = Term::from(ByteList::from(vec![1, 2, 3]));
    assert_eq!(each(&bytes, as_u64), Ok(vec![1, 2, 3]));
    assert_eq!(each(&list(vec![]), as_u64), Ok(vec![]));
    assert_eq!(message(each(&atom("x"), as_u64)), "expected a list, found the atom x");
    // More elements than fit into the short form.
    let many = list(vec![int(7); 70_000]);
    assert_eq!(each(&sent(&many), as_u64).unwrap().len(), 70_000);
}

#[test]
fn text_is_read_from_each_form() {
    assert_eq!(as_text(&text("é")), Ok("é".to_owned()));
    assert_eq!(as_text(&Term::from(ByteList::from("abc"))), Ok("abc".to_owned()));
    assert_eq!(as_text(&list(vec![int(0x20ac)])), Ok("€".to_owned()));
    assert_eq!(as_text(&atom("abc")), Ok("abc".to_owned()));
    assert_eq!(message(as_text(&list(vec![int(-1)]))), "expected text, found a list");
    assert_eq!(as_bytes(&text("a")), Ok(&b"a"[..]));
}

#[test]
fn an_error_names_the_way_to_it() {
    let run = map([("wall_us", atom("undefined")), ("pair", tuple(vec![int(1), int(2)]))]);
    let term = map([("runs", list(vec![run]))]);
    let wall = |run: &Term| field(run, "wall_us", as_u64);
    assert_eq!(
        message(field(&term, "runs", |runs| each(runs, wall))),
        "runs[0].wall_us: expected an unsigned 64-bit integer, found the atom undefined"
    );
    assert_eq!(message(field(&term, "none", as_u64)), "none: expected a value, found none");
    assert_eq!(find(&term, "none", as_u64), Ok(None));
    assert_eq!(message(find(&int(1), "k", as_u64)), "expected a map, found the integer 1");
    let pair = |run: &Term| field(run, "pair", |pair| as_tuple::<3>(pair).cloned());
    assert_eq!(
        message(field(&term, "runs", |runs| each(runs, pair))),
        "runs[0].pair: expected a tuple of 3, found a tuple of 2"
    );
}
