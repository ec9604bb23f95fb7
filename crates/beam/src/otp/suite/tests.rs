use super::*;

fn find_in(suite: &str, cache: &Cache) -> Result<Otp, BeamError> {
    find(suite, cache, Fetch { note: &mut |_| {}, interrupted: &|| true })
}

#[test]
fn a_suite_that_is_unknown_or_too_old_is_refused_at_once() {
    let cache = Cache::at("/nonexistent/cache".into());
    let message = find_in("bullseye", &cache).unwrap_err().to_string();
    assert!(message.contains("OTP 23.2 is too old") && message.contains("debian:trixie"));
    for suite in ["", "../x", "stable\u{1b}"] {
        let error = find_in(suite, &cache).unwrap_err();
        assert!(matches!(error, BeamError::Unknown { .. }), "{error}");
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[test]
fn a_root_that_is_not_whole_or_lies_elsewhere_is_fetched_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().to_owned());
    let index = folder.path().join("trixie.json");
    let there = || cached(&index, "trixie", &cache).unwrap();
    assert_eq!(there(), None);
    std::fs::write(&index, "torn").unwrap();
    assert_eq!(there(), None);
    let package = Package { name: "p".into(), version: "27".into(), sha256: "s".into() };
    let root = name_of(std::slice::from_ref(&package), &cache);
    let fetched = Fetched { version: "27".into(), root, packages: vec![package] };
    std::fs::write(&index, serde_json::to_vec(&fetched).unwrap()).unwrap();
    assert_eq!(there(), None, "an index without its root");
    let root = root_of(&fetched, &cache);
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("beam"), "x").unwrap();
    assert_eq!(there(), None, "a root without its checksums");
    sums::keep(&root, &cache).unwrap();
    assert_eq!(there().unwrap().1, Origin { suite: "trixie".into(), version: "27".into() });
    // The same files in a moved cache name a loader that does not exist.
    let moved = folder.path().join("moved");
    std::fs::create_dir_all(moved.join("roots")).unwrap();
    std::fs::rename(&root, moved.join("roots").join(&fetched.root)).unwrap();
    std::fs::copy(&index, moved.join("trixie.json")).unwrap();
    let moved = Cache::at(moved);
    let index = moved.folder().join("trixie.json");
    assert_eq!(cached(&index, "trixie", &moved).unwrap(), None);
}

#[test]
fn a_root_that_was_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().to_owned());
    let root = name_of(&[], &cache);
    let fetched = Fetched { version: "27".into(), root, packages: vec![] };
    let root = root_of(&fetched, &cache);
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("beam"), "x").unwrap();
    sums::keep(&root, &cache).unwrap();
    let index = folder.path().join("sid.json");
    std::fs::write(&index, serde_json::to_vec(&fetched).unwrap()).unwrap();
    std::fs::write(root.join("beam"), "evil").unwrap();
    let error = find_in("sid", &cache).unwrap_err().to_string();
    assert!(
        error.starts_with("debian:sid: ") && error.contains("differs from what was unpacked"),
        "{error}"
    );
}
