//! Data that other programs and the kernel send.

use load::protocol::Message;
use probe::event::Event;
use probe::idle::Idle;
use probe::symbols::Symbols;
use report::export::scrape;

/// The output of an Erlang node.
pub(crate) fn node(bytes: &[u8]) {
    beam::fuzz::node(bytes);
}

/// The answers of a node over the distribution protocol.
pub(crate) fn connection(bytes: &[u8]) {
    dist::fuzz::connection(bytes);
}

/// The messages of a guest over its port, and its console.
pub(crate) fn guest(bytes: &[u8]) {
    guest::fuzz::port(bytes);
    guest::fuzz::console(bytes);
}

/// The answers of QEMU.
pub(crate) fn qmp(bytes: &[u8]) {
    guest::fuzz::qmp(bytes);
}

/// The archive in a package with a kernel.
pub(crate) fn package(bytes: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    guest::fuzz::package(bytes, folder.path());
}

/// The start of a file that may be a kernel.
pub(crate) fn kernel_image(bytes: &[u8]) {
    guest::fuzz::kernel_image(bytes);
}

/// The output of programs that are asked something: strace, an Erlang, the loader of libraries.
/// Also the start of a program with packed libraries.
pub(crate) fn programs(bytes: &[u8]) {
    scenarios::fuzz::strace(bytes);
    beam::fuzz::texts(bytes);
    guest::fuzz::program(bytes);
}

/// A line of a load generator.
pub(crate) fn generator(bytes: &[u8]) {
    let _ = serde_json::from_slice::<Message>(bytes);
}

/// Events of the eBPF programs, and the tables in /proc that explain them.
pub(crate) fn events(bytes: &[u8]) {
    let _ = Event::read(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let symbols = Symbols::parse(text);
        let _ = symbols.name(0xffff_ffff_8100_0000);
        let _ = Idle::parse(text, 10_000_000);
    }
}

/// The request of a client of `watch --listen`. Where it is split must not change its meaning.
pub(crate) fn request(bytes: &[u8]) {
    let whole = scrape::request(bytes);
    let (start, _) = bytes.split_at(bytes.len() / 2);
    if let Some(earlier) = scrape::request(start) {
        assert_eq!(whole, Some(earlier), "what follows a request changes it");
    }
    assert!(whole.is_some() || bytes.len() < scrape::MOST, "a request that is awaited for ever");
    let head = whole.map(|request| scrape::answer(request.status, bytes.len()));
    assert!(head.is_none_or(|head| head.ends_with("\r\n\r\n")));
}
