//! `compat scanpid PID`.

use super::date;
use super::options::{Next, Options};
use crate::exit::Failure;
use crate::session::Session;
use load::child::scanner::{is_gone, proc_path, scan};

const USAGE: &str = "Usage: scanpid PID [FILE]
\tRead /proc/PID/FILE (default smaps) from start to end, again and again, until it is gone.
";

/// Reads the file until it is gone, then prints a line about that.
pub fn run(args: &[String], session: &Session) -> Result<u8, Failure> {
    let mut options = Options::new(args, USAGE);
    let (mut pid, mut file) = (None, "smaps");
    loop {
        match options.next() {
            Next::End => break,
            Next::Help => return Ok(0),
            Next::Word(word) if pid.is_none() => match word.parse::<u32>() {
                Ok(number) => pid = Some(number),
                Err(_) => return Err(options.unknown(word)),
            },
            Next::Word(word) if word.contains('/') => {
                return Err(options.mistake(&format!("Error: {word} is not a /proc/PID file.")));
            }
            Next::Word(word) => file = word,
        }
    }
    let Some(pid) = pid else { return Err(options.mistake("Error: scanpid needs a PID.")) };
    let path = proc_path(pid, file);
    let mut buffer = vec![0; 128 << 10];
    loop {
        match scan(&path, &mut buffer, |_| {}) {
            Ok(()) => {}
            Err(error) if is_gone(&error) => break,
            Err(error) => {
                return Err(Failure::broken(format!("scanpid: {}: {error}", path.display())));
            }
        }
    }
    let (own, path) = (std::process::id(), path.display());
    session.out.print(&format!("scanpid.sh PID {own}: {path} does not exist {}\n", date::now()));
    Ok(0)
}
