//! The modules that a guest's kernel lacks built in.

use crate::job::MODULES;
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// Lets the kernel decompress a module.
const COMPRESSED: i32 = 4;

/// Loads modules. Returns a sentence for each module that could not be loaded.
///
/// A module fails to load until the modules that it depends on are loaded. The dependencies
/// differ between kernels. So failed modules are tried again as long as any of them succeeds.
pub(super) fn load_all(names: &[String]) -> Vec<String> {
    let mut left: Vec<&String> = names.iter().collect();
    loop {
        let failed: Vec<(&String, String)> =
            left.iter().filter_map(|name| Some((*name, load(name).err()?))).collect();
        if failed.is_empty() || failed.len() == left.len() {
            return failed.iter().map(|(name, why)| format!("module {name}: {why}")).collect();
        }
        left = failed.into_iter().map(|(name, _)| name).collect();
    }
}

fn load(name: &str) -> Result<(), String> {
    let file = File::open(Path::new(MODULES).join(name)).map_err(|error| error.to_string())?;
    let flags = if name.ends_with(".ko") { 0 } else { COMPRESSED };
    match rustix::system::finit_module(&file, c"", flags) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
