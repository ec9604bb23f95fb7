//! `tailback erlang-app FOLDER`.

use crate::exit::Failure;
use crate::output;
use clap::ArgMatches;
use std::path::PathBuf;

/// Writes the application and prints how to use it.
pub fn erlang_app(matches: &ArgMatches) -> Result<u8, Failure> {
    let folder = matches
        .get_one::<PathBuf>("folder")
        .ok_or_else(|| Failure::usage("no folder; see tailback erlang-app --help"))?;
    let otp = matches.get_one::<String>("otp");
    let (erl, ebin) = scenarios::erlang::write_app(otp.map(String::as_str), folder)
        .map_err(|error| Failure::of(error, None))?;
    let program = otp.map_or_else(|| "erl".to_owned(), |_| os::quote::word(&erl));
    output::print(&format!(
        "Written. In a shell of your own:\n\n  {program} -pa {}\n  1> wait:run(4*100, 1024*1024, 20, 5).\n",
        ebin.display()
    ));
    Ok(0)
}
