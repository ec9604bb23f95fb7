use super::command::command_in;
use super::*;
use std::os::unix::fs::PermissionsExt;

/// A program with this text, in a folder of its own.
fn program(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("bin")).unwrap();
    let path = dir.path().join("bin/erl");
    testing::write_program(&path, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    (dir, path)
}

fn refusal(erl: &Path) -> String {
    Otp::find_within(Some(erl), Duration::from_secs(20)).unwrap_err().to_string()
}

#[test]
fn a_program_or_a_root_may_be_named_and_says_what_it_is() {
    let (dir, path) = program("#!/bin/sh\necho 'tailback-otp|27|15.2|/opt/otp'\n", 0o755);
    let otp = Otp::find(Some(&path)).unwrap();
    let expected = Otp {
        erl: path.clone(),
        release: 27,
        erts: "15.2".into(),
        root: "/opt/otp".into(),
        origin: None,
        // Another user than root, if that user can reach the program.
        account: otp.account.clone(),
    };
    assert_eq!(otp, expected);
    assert_eq!(Otp::find(Some(dir.path())).unwrap(), expected);
}

#[test]
fn an_old_otp_is_refused_by_number() {
    let (_dir, path) = program("#!/bin/sh\necho 'tailback-otp|24|12.3|/opt/otp'\n", 0o755);
    let message = refusal(&path);
    assert!(message.ends_with("OTP 24 is too old; tailback needs OTP 25 or newer"), "{message}");
}

#[test]
fn what_is_missing_or_cannot_be_executed_is_said() {
    let message = refusal(Path::new("/nonexistent/erl"));
    assert!(
        message.starts_with(
            "erl: not found at /nonexistent/erl; fetch Erlang with --otp debian:trixie"
        ),
        "{message}"
    );
    let empty = tempfile::tempdir().unwrap();
    assert!(refusal(empty.path()).contains("bin/erl"));
    let (_dir, path) = program("#!/bin/sh\n", 0o644);
    assert!(refusal(&path).contains("cannot be executed"), "{}", refusal(&path));
    let message = on_the_path(Some(empty.path().into())).unwrap_err().to_string();
    assert!(message.contains("not found on the PATH"), "{message}");
}

#[test]
fn the_first_on_the_path_that_can_be_executed_is_taken() {
    let (plain, _) = program("", 0o644);
    let (good, path) = program("", 0o755);
    let folders = [PathBuf::from("relative"), plain.path().join("bin"), good.path().join("bin")];
    let list = std::env::join_paths(&folders).unwrap();
    assert_eq!(on_the_path(Some(list)).unwrap(), path);
    let list = std::env::join_paths(&folders[..2]).unwrap();
    assert!(matches!(on_the_path(Some(list)), Err(BeamError::NotExecutable { .. })));
}

#[test]
fn what_is_no_erlang_is_said_in_its_own_words() {
    let (_dir, path) = program("#!/bin/sh\nprintf 'I am\\033[1m tea\\n' >&2; exit 1\n", 0o755);
    let message = refusal(&path);
    assert!(message.contains("not an Erlang VM: it printed `I am [1m tea`"), "{message}");
    let (_dir, path) = program("\x7fELFnonsense", 0o755);
    assert!(refusal(&path).contains("not an Erlang"), "{}", refusal(&path));
    let (_dir, path) = program("#!/bin/sh\n", 0o755);
    assert!(refusal(&path).contains("it printed nothing"), "{}", refusal(&path));
}

#[test]
fn what_never_answers_is_given_up() {
    let (_dir, path) = program("#!/bin/sh\nexec sleep 300\n", 0o755);
    let error = Otp::find_within(Some(&path), Duration::from_millis(200)).unwrap_err();
    assert!(matches!(error, BeamError::Late { .. }), "{error}");
}

#[test]
fn the_environments_erlang_variables_are_taken_away() {
    let names = ["ERL_TEST_OF_TAILBACK", "MERL_X"].map(OsString::from);
    let command = command_in(Path::new("/x"), names.into_iter());
    let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).collect();
    assert_eq!(removed, [("ERL_TEST_OF_TAILBACK".as_ref(), None)]);
}

#[test]
fn a_root_with_a_pipe_for_its_version_is_not_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let release = root.path().join("releases/27");
    std::fs::create_dir_all(&release).unwrap();
    let otp = Otp {
        erl: "/bin/false".into(),
        release: 27,
        erts: "15.2".into(),
        root: root.path().to_owned(),
        account: None,
        origin: None,
    };
    let version = || {
        let (answer, asked) = std::sync::mpsc::channel();
        let otp = otp.clone();
        std::thread::spawn(move || answer.send(otp.version()));
        asked.recv_timeout(Duration::from_secs(60)).expect("it waits for a writer")
    };
    let file = release.join("OTP_VERSION");
    std::fs::write(&file, "27.3.4.1\n").unwrap();
    assert_eq!(version(), "27.3.4.1");
    std::fs::remove_file(&file).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(version(), "27");
}
