//! Lists the sources of the Erlang application, so that the binary contains them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The folders of the application that are included, and the file name endings for each.
const FOLDERS: [(&str, &[&str]); 3] =
    [("src", &[".erl", ".hrl", ".app.src"]), ("include", &[".hrl"]), ("c_src", &[".c", ".h"])];

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let application = here.join("../../erlang/tailback").canonicalize()?;
    let mut table = String::from("&[\n");
    for (folder, endings) in FOLDERS {
        let path = application.join(folder);
        if !path.exists() {
            // cargo must not watch this file: it would rebuild each time. Nor may it watch the
            // folder above, in which each test of the application leaves files. If its first
            // header appears, a module includes it, and cargo notices that module.
            continue;
        }
        // For a folder, cargo also watches the listing, so a new module is noticed.
        println!("cargo::rerun-if-changed={}", path.display());
        for file in sources(&path, endings)? {
            let full = path.join(&file);
            println!("cargo::rerun-if-changed={}", full.display());
            let name = format!("{folder}/{file}");
            let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", full.display());
        }
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("embedded.rs"), table.replace("\\\\", "/"))
}

/// The files of a folder with one of these endings, sorted by name.
fn sources(folder: &Path, endings: &[&str]) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && endings.iter().any(|ending| name.ends_with(ending)) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
