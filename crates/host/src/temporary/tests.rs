use super::*;

fn place() -> (tempfile::TempDir, Roots) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("proc/self")).unwrap();
    fs::copy("/proc/self/stat", dir.path().join("proc/self/stat")).unwrap();
    let roots = Roots::at(dir.path());
    (dir, roots)
}

fn journal(roots: &Roots) -> String {
    let entries = fs::read_dir(roots.run.join("tailback")).into_iter().flatten().flatten();
    let texts = entries.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default());
    texts.collect()
}

#[test]
fn it_stands_in_the_journal_for_as_long_as_it_is_there() {
    let (dir, roots) = place();
    let folder = Temporary::folder(&roots, dir.path(), ".building-").unwrap();
    let (file, mut open) = Temporary::file(&roots, dir.path(), ".writing-").unwrap();
    io::Write::write_all(&mut open, b"x").unwrap();
    let paths = [folder.path().to_owned(), file.path().to_owned()];
    for path in &paths {
        assert!(path.exists() && journal(&roots).contains(path.to_str().unwrap()));
    }
    fs::write(folder.path().join("a"), "").unwrap();
    drop(folder);
    file.put(&dir.path().join("whole")).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("whole")).unwrap(), "x");
    assert!(paths.iter().all(|path| !path.exists()));
    assert_eq!(journal(&roots), "");
}

#[test]
fn without_a_journal_it_is_made_all_the_same() {
    let (dir, roots) = place();
    fs::write(&roots.run, "no folder").unwrap();
    let folder = Temporary::folder(&roots, dir.path(), ".building-").unwrap();
    assert!(folder.path().is_dir() && folder.noted.is_none());
}

#[test]
fn what_cannot_be_made_leaves_nothing_in_the_journal() {
    let (dir, roots) = place();
    assert!(Temporary::folder(&roots, &dir.path().join("none"), ".building-").is_err());
    assert_eq!(journal(&roots), "");
}
