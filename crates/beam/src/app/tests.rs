use super::*;
use std::os::unix::fs::PermissionsExt;

/// A NIF and its module that only show that they were loaded.
const NIF: &str = r#"
#include <erl_nif.h>
static ERL_NIF_TERM there(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc; (void)argv;
    return enif_make_atom(env, "yes");
}
static ErlNifFunc functions[] = {{"there", 0, there, 0}};
ERL_NIF_INIT(tailback_nif, functions, NULL, NULL, NULL, NULL)
"#;
const MODULE: &str = "-module(tailback_nif). -export([there/0]). -on_load(load/0).
    load() -> erlang:load_nif(filename:join(code:priv_dir(tailback), \"tailback_nif\"), 0).
    there() -> no.";

fn sources(files: &[(&str, &str)]) -> Sources {
    Sources(files.iter().map(|(n, t)| ((*n).to_owned(), t.as_bytes().to_vec())).collect())
}

/// The Erlang of this machine, or why the test cannot run.
fn otp() -> Option<Otp> {
    Otp::find(None).map_err(testing::skipped).ok()
}

fn entries(cache: &Path) -> Vec<String> {
    let names = fs::read_dir(cache).unwrap().map(|e| e.unwrap().file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn the_application_is_compiled_once_and_kept() {
    let Some(otp) = otp() else { return };
    let cache = tempfile::tempdir().unwrap();
    let app = App::prepare(&otp, cache.path()).unwrap();
    assert!(app.ebin.join("tailback_port.beam").is_file());
    let described = fs::read_to_string(app.ebin.join("tailback.app")).unwrap();
    assert!(described.contains("tailback_port"), "{described}");
    let written = |app: &App| fs::metadata(app.ebin.join("tailback_port.beam")).unwrap().modified();
    let first = written(&app).unwrap();
    assert_eq!(App::prepare(&otp, cache.path()).unwrap(), app);
    assert_eq!(written(&app).unwrap(), first);
    assert_eq!(entries(cache.path()).len(), 1);
}

#[test]
fn runs_that_start_at_once_share_one_whole_entry() {
    let Some(otp) = otp() else { return };
    let cache = tempfile::tempdir().unwrap();
    let small = sources(&[("src/a.erl", "-module(a). -export([x/0]). x() -> 1.")]);
    let apps: Vec<App> = std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..4).map(|_| scope.spawn(|| prepare(&small, &otp, cache.path()).unwrap())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert!(apps.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(apps[0].ebin.join("a.beam").is_file());
    assert_eq!(entries(cache.path()).len(), 1);
}

#[test]
fn what_does_not_compile_is_named_with_its_line_and_leaves_nothing() {
    let Some(otp) = otp() else { return };
    let cache = tempfile::tempdir().unwrap();
    let broken = sources(&[("src/a.erl", "-module(a).\n-export([x/0]).\n\nx() -> B.\n")]);
    let message = prepare(&broken, &otp, cache.path()).unwrap_err().to_string();
    assert!(message.contains("a.erl:4: variable 'B' is unbound"), "{message}");
    assert_eq!(entries(cache.path()), Vec::<String>::new());
}

#[test]
fn a_nif_is_compiled_and_can_be_loaded() {
    let Some(otp) = otp() else { return };
    let cache = tempfile::tempdir().unwrap();
    let files = sources(&[("src/tailback_nif.erl", MODULE), ("c_src/tailback_nif.c", NIF)]);
    let app = prepare(&files, &otp, cache.path()).unwrap();
    let nif = match &app.nif {
        Ok(nif) => nif.clone(),
        Err(why) => return testing::skipped(why),
    };
    let mut command = otp.command();
    // Another user can reach the folder only through its working directory.
    command.args(QUIET).args(["-pa", "tailback/ebin"]);
    command.current_dir(app.ebin.ancestors().nth(2).unwrap());
    command.args(["-eval", "io:format(\"~p~n\", [tailback_nif:there()]), halt(0)."]);
    let ran = run::run(command, otp.user(), Duration::from_secs(60)).unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "yes\n", "{ran:?}");
    // A missing file is compiled by the next run.
    fs::remove_file(&nif).unwrap();
    assert_eq!(prepare(&files, &otp, cache.path()).unwrap().nif, Ok(nif.clone()));
    assert!(nif.is_file());
}

#[test]
fn without_header_or_with_an_error_the_reason_is_kept_and_the_rest_works() {
    let Some(otp) = otp() else { return };
    let cache = tempfile::tempdir().unwrap();
    let headless = Otp { root: cache.path().join("nowhere"), ..otp.clone() };
    let files = sources(&[("src/tailback_nif.erl", MODULE), ("c_src/tailback_nif.c", "int x = ;")]);
    let app = prepare(&files, &headless, cache.path()).unwrap();
    let why = app.nif.unwrap_err();
    assert!(why.contains("erl_nif.h") && why.contains("erlang-dev"), "{why}");
    assert!(app.ebin.join("tailback_nif.beam").is_file());
    let why = prepare(&files, &otp, cache.path()).unwrap().nif.unwrap_err();
    assert!(why.contains("error") || why.contains("install"), "{why}");
    let left = fs::read_dir(app.ebin.parent().unwrap().join("priv"));
    assert_eq!(left.map_or(0, |files| files.count()), 0);
}

#[test]
fn stale_leftovers_go_and_fresh_ones_stay() {
    let cache = tempfile::tempdir().unwrap();
    for name in [".building-old", ".building-new", "other"] {
        fs::create_dir(cache.path().join(name)).unwrap();
    }
    let old = SystemTime::now() - 2 * STALE;
    for name in [".building-old", "other"] {
        fs::File::open(cache.path().join(name)).unwrap().set_modified(old).unwrap();
    }
    sweep(cache.path());
    let mut left = entries(cache.path());
    left.sort();
    assert_eq!(left, [".building-new", "other"]);
}

#[test]
fn a_folder_for_ones_own_shell_is_written_and_foreign_ones_are_refused() {
    let made = tempfile::tempdir().unwrap();
    let ebin = made.path().join("tailback/ebin");
    fs::create_dir_all(&ebin).unwrap();
    fs::write(ebin.join("tailback.app"), "app").unwrap();
    fs::write(ebin.join("x.beam"), "x").unwrap();
    fs::write(made.path().join("tailback/build.script"), "").unwrap();
    let app = App { ebin, nif: Err(String::new()) };
    let target = made.path().join("target/deep");
    assert_eq!(app.write_to(&target).unwrap(), target.join("ebin"));
    assert_eq!(fs::read(target.join("ebin/x.beam")).unwrap(), b"x");
    assert!(!target.join("build.script").exists());
    let mode = fs::metadata(target.join("ebin/x.beam")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    fs::write(target.join("mine"), "mine").unwrap();
    fs::write(app.ebin.join("x.beam"), "y").unwrap();
    app.write_to(&target).unwrap();
    assert_eq!(fs::read(target.join("ebin/x.beam")).unwrap(), b"y");
    assert_eq!(fs::read(target.join("mine")).unwrap(), b"mine");
    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join("letter"), "").unwrap();
    assert!(matches!(app.write_to(foreign.path()), Err(BeamError::NotOurs { .. })));
    assert_eq!(entries(foreign.path()), ["letter"]);
}
