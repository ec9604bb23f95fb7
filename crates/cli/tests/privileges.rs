//! The user of the load when root starts it: the user who called sudo, otherwise a system user.
//! The load never has any privilege.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, erlang_or_skip, processes, turn, two_cpus_or_skip, wait_for};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::root_or_skip;

/// Variables that would change what a child does, or that a child must not see.
const HOSTILE: &[(&str, &str)] = &[
    ("TAILBACK_TEST_SECRET", "secret"),
    ("GCONV_PATH", "/tmp"),
    ("ERL_FLAGS", "-s nonsense"),
    ("ERL_AFLAGS", "-s nonsense"),
    ("ERL_ZFLAGS", "-s nonsense"),
    ("ERL_LIBS", "/tmp"),
    ("LC_ALL", "tlh_QX.utf8"),
];

/// A field of /proc/PID/status.
fn status(pid: u32, field: &str) -> Vec<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Fails unless a process and all its threads have only the rights of this user.
fn assert_dropped(pid: u32, uid: u32, gid: u32) {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    for thread in threads {
        let thread = thread.file_name().to_str().unwrap().parse().unwrap();
        assert_eq!(status(thread, "Uid:"), [(); 4].map(|()| uid.to_string()), "{pid}");
        assert_eq!(status(thread, "Gid:"), [(); 4].map(|()| gid.to_string()), "{pid}");
        assert_eq!(status(thread, "Groups:"), [""; 0], "{pid}");
        assert_eq!(status(thread, "NoNewPrivs:"), ["1"], "{pid}");
        for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
            assert_eq!(status(thread, set), ["0000000000000000"], "{pid} {set}");
        }
    }
    assert_eq!(std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), std::path::Path::new("/"));
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    for name in ["TAILBACK_TEST_SECRET", "GCONV_PATH", "ERL_FLAGS", "ERL_LIBS"] {
        assert!(!environ.contains(&format!("{name}=")), "{pid}: {environ}");
    }
}

/// Name, user and group of each line of the list of users.
fn users() -> Vec<(String, u32, u32)> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let user = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        Some((fields[0].to_owned(), fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    passwd.lines().filter_map(user).collect()
}

/// The system user for the load if nobody called sudo.
fn system() -> (u32, u32) {
    let named = |name: &str| users().into_iter().find(|user| user.0 == name);
    let found = named("tailback").or_else(|| named("nobody"));
    found.map_or((65534, 65534), |(_, uid, gid)| (uid, gid))
}

/// A user that is neither root nor the system user.
fn somebody() -> (u32, u32) {
    let fits = |(_, uid, gid): &(String, u32, u32)| *uid != 0 && *gid != 0 && *uid != system().0;
    users().into_iter().find(fits).map(|(_, uid, gid)| (uid, gid)).unwrap()
}

/// The binary, as if this user had called it with sudo.
fn by_sudo(place: &Place, args: &[&str], uid: Option<&str>) -> Command {
    let mut command = place.tailback(args);
    command.env_remove("SUDO_UID").env_remove("SUDO_GID");
    // The group in the variables is ignored. The group in the list of users counts.
    command.envs(uid.map(|uid| ("SUDO_UID", uid))).env("SUDO_GID", "0");
    command.envs(HOSTILE.iter().copied());
    command
}

const LONG: &[&str] =
    &["run", "mmap-lock", "--busy", "1", "--samples", "1", "--duration", "20s", "--no-probe"];

#[test]
fn the_load_of_mmap_lock_is_the_user_of_sudo_else_a_system_user() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let uid = somebody().0.to_string();
    for (called, (uid, gid)) in [(None, system()), (Some(uid.as_str()), somebody())] {
        let place = Place::new();
        let mut tool = by_sudo(&place, LONG, called).spawn().unwrap();
        let id = tool.id();
        let mapper = processes::mapper(id);
        // The scanner is ready once others have been started.
        let scanner = processes::worker(id, "scanner");
        wait_for("all to be placed", || {
            let all = processes::of(id);
            let placed = |pid| status(pid, "Uid:").first() == Some(&uid.to_string());
            (all.len() > 2 && all.iter().all(|process| placed(process.pid))).then_some(())
        });
        for process in processes::of(id) {
            assert_dropped(process.pid, uid, gid);
        }
        assert_ne!(scanner.pid, mapper.pid);
        assert_eq!(status(id, "Uid:")[0], "0");
        tool.kill().unwrap();
        tool.wait().unwrap();
        processes::wait_until_gone(id);
    }
}

#[test]
fn a_node_and_what_compiles_for_it_is_nobody_and_its_supervisor_can_end_it() {
    if !root_or_skip() || !two_cpus_or_skip() || !erlang_or_skip() {
        return;
    }
    let _turn = turn::take();
    let (place, cache) = (Place::new(), tempfile::tempdir().unwrap());
    let (uid, gid) = somebody();
    let args = ["run", "mailbox-flood", "--quick", "--samples", "1", "--no-probe"];
    let mut command = by_sudo(&place, &args, Some(&uid.to_string()));
    command.env("XDG_CACHE_HOME", cache.path());
    let mut tool = command.spawn().unwrap();
    let id = tool.id();
    let of_tool = |name: &'static str| {
        move || processes::below(id).into_iter().find(|process| process.name == name)
    };
    let vm = || {
        // The VM that compiles has no pipes for messages; this one is a node.
        let is_node = |p: &processes::Process| p.argv.iter().any(|word| word == "tailback_port");
        processes::below(id).into_iter().find(|p| p.name == "beam.smp" && is_node(p))
    };
    let node = wait_for("a node", vm);
    assert_dropped(node.pid, uid, gid);
    let supervisor = wait_for("a supervisor", of_tool("tailback-superv"));
    assert_eq!(status(supervisor.pid, "Uid:")[0], "0");
    tool.kill().unwrap();
    tool.wait().unwrap();
    wait_for("the node to go", || processes::at(node.pid).is_none().then_some(()));
    // Compiled code belongs to root, in a folder that the nodes of no other user use.
    let entries = common::files(&cache.path().join("tailback/erlang"));
    let named =
        |path: &std::path::PathBuf| path.to_string_lossy().ends_with(&format!("-user{uid}"));
    let entry = entries.iter().find(|path| named(path)).unwrap_or_else(|| panic!("{entries:?}"));
    host::private::tree(&entry.canonicalize().unwrap()).unwrap();
}

#[test]
fn strace_dies_with_a_run_that_is_killed() {
    if !two_cpus_or_skip() || !erlang_or_skip() {
        return;
    }
    let has_strace =
        Command::new("strace").arg("-V").output().is_ok_and(|ran| ran.status.success());
    if !has_strace {
        return testing::skipped("no strace");
    }
    let _turn = turn::take();
    let place = Place::new();
    let args =
        ["run", "busy-wait", "--quota", "none", "--samples", "1", "--strace", "yes", "--no-probe"];
    let mut tool = place.tailback(&args).spawn().unwrap();
    let id = tool.id();
    let strace = wait_for("strace at work", || {
        processes::below(id).into_iter().find(|process| process.name == "strace")
    });
    tool.kill().unwrap();
    tool.wait().unwrap();
    wait_for("strace to go", || processes::at(strace.pid).is_none().then_some(()));
}

#[test]
fn a_hostile_user_of_sudo_is_nobody_and_the_record_says_who_it_was() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args =
        ["run", "mmap-lock", "--busy", "0", "--samples", "1", "--duration", "20ms", "--json"];
    let chosen = |uid: Option<&str>| {
        let place = Place::new();
        let ran = place.run(by_sudo(&place, &args, uid));
        ran.assert_no_panic();
        let user = ran.json()["machine"]["load_user"].clone();
        (user["uid"].as_u64().unwrap(), user["chosen"].as_str().unwrap().to_owned())
    };
    let nobody = (u64::from(system().0), "system".to_owned());
    for hostile in ["0", "-1", "4294967295", "4294967296", "4242424", "root", "", "1000 0"] {
        assert_eq!(chosen(Some(hostile)), nobody, "{hostile:?}");
    }
    assert_eq!(chosen(None), nobody);
    let (uid, _) = somebody();
    assert_eq!(chosen(Some(&uid.to_string())), (u64::from(uid), "sudo".to_owned()));
}

#[test]
fn the_record_says_whether_the_machine_was_held() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let args =
        ["run", "mmap-lock", "--busy", "0", "--samples", "1", "--duration", "20ms", "--json"];
    let place = Place::new();
    let shared = place.run({
        let mut command = place.tailback(&args);
        command.env("TAILBACK_SHARE_HOST", "1");
        command
    });
    let record = shared.json();
    assert_eq!(record["machine"]["hold"], "shared", "{shared:?}");
    let caveats = record["judgement"]["caveats"].to_string();
    assert!(caveats.contains("shared-machine"), "{caveats}");
    assert!(place.said_of(&record).contains("TAILBACK_SHARE_HOST"));
    // Without a folder for the lock: a folder of another user is not used.
    let mut command = place.program("unshare");
    let script = "mount -t tmpfs none /run && mkdir /run/tailback && chown 65534 /run/tailback && \
                  exec \"$@\"";
    command.args(["-m", "sh", "-c", script, "sh", common::BINARY]).args(args);
    command.env_remove("TAILBACK_SHARE_HOST");
    let ran = place.run(command);
    if !ran.out.starts_with('{') {
        return testing::skipped(format_args!("no mount of its own here: {}", ran.err));
    }
    assert_eq!(ran.json()["machine"]["hold"], "unlocked", "{ran:?}");
    assert!(!ran.json()["judgement"]["caveats"].to_string().contains("shared-machine"));
}

#[test]
fn root_runs_no_erl_of_another_user() {
    if !root_or_skip() || !erlang_or_skip() {
        return;
    }
    let place = Place::new();
    let (uid, _) = somebody();
    // The program is ours, but it is in a folder that others may write to.
    let (bin, told) = (place.path("bin"), place.path("told"));
    std::fs::create_dir(&bin).unwrap();
    let erl = bin.join("erl");
    let script = format!("#!/bin/sh\nid -u >> {}\nexec /usr/bin/erl \"$@\"\n", told.display());
    testing::write_program(&erl, &script);
    std::fs::write(&told, "").unwrap();
    std::fs::set_permissions(&told, Permissions::from_mode(0o666)).unwrap();
    chown(&erl, Some(uid), None).unwrap();
    let app = place.path("app").display().to_string();
    for args in [
        vec!["generate", "erlang-app", app.as_str()],
        vec!["compat", "nifwait", "1", "1", "1", "1"],
    ] {
        let mut command = by_sudo(&place, &args, Some(&uid.to_string()));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", bin.display()));
        let ran = place.run(command);
        ran.assert_no_panic();
        assert_eq!(ran.code(), 3, "{ran:?}");
        assert!(ran.err.contains("tailback runs no program that other users"), "{ran:?}");
    }
    let told = std::fs::read_to_string(&told).unwrap();
    assert!(!told.is_empty() && told.lines().all(|line| line == uid.to_string()), "{told:?}");
}

/// A folder of another user with these scripts as programs. Each appends its user to `told`.
fn theirs(place: &Place, name: &str, programs: &[(&str, String)]) -> PathBuf {
    let (uid, gid) = somebody();
    let folder = place.path(name);
    std::fs::create_dir(&folder).unwrap();
    let told = place.path("told");
    std::fs::write(&told, "").unwrap();
    std::fs::set_permissions(&told, Permissions::from_mode(0o666)).unwrap();
    for (program, rest) in programs {
        let file = folder.join(program);
        let script = format!("#!/bin/sh\nid -u >> {}\n{rest}\n", told.display());
        testing::write_program(&file, &script);
        chown(&file, Some(uid), Some(gid)).unwrap();
    }
    chown(&folder, Some(uid), Some(gid)).unwrap();
    folder
}

/// The users that programs of [`theirs`] ran as.
fn told(place: &Place) -> Vec<String> {
    let told = std::fs::read_to_string(place.path("told")).unwrap();
    told.lines().map(str::to_owned).collect()
}

/// The search path with this folder in front.
fn first(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

const RUNTIMES: [(&str, &str, &str); 4] = [
    ("go", "go", "--program"),
    ("jvm", "java", "--program"),
    ("node", "node", "--program"),
    ("beam", "erl", "--otp"),
];

#[test]
fn root_that_cannot_become_another_user_runs_no_runtime_of_one() {
    let has_setpriv =
        Command::new("setpriv").arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !root_or_skip() || !two_cpus_or_skip() || !testing::has_or_skip(has_setpriv, "no setpriv") {
        return;
    }
    // It takes no turn: every run is refused before it measures anything.
    let (place, cache) = (Place::new(), tempfile::tempdir().unwrap());
    let answer = |program: &str| (program.to_owned(), "echo go1.24.9".to_owned());
    let all = ["go", "java", "javac", "node", "erl"].map(answer);
    let all: Vec<_> = all.iter().map(|(name, rest)| (name.as_str(), rest.clone())).collect();
    let bin = theirs(&place, "bin", &all);
    // A compiler of another user, for a runtime of root.
    let javac = theirs(&place, "javac", &[("javac", String::new())]);
    let ours = cache.path().join("java");
    testing::write_program(&ours, "#!/bin/sh\n");
    let refused = |lost: &str, words: &[&str], search: &Path| {
        let mut command = place.program("setpriv");
        command.arg(format!("--bounding-set=-{lost}")).arg(common::BINARY);
        command.args(["run", "quota-blind", "--samples", "1", "--no-probe", "--runtime"]);
        command.args(words).env("PATH", first(search)).env("XDG_CACHE_HOME", cache.path());
        let ran = place.run(command);
        ran.assert_no_panic();
        assert_eq!(told(&place), [""; 0], "{lost} {words:?}: {ran:?}");
        assert_eq!(ran.code(), 3, "{lost} {words:?}: {ran:?}");
        let said = "tailback runs no program that other users";
        assert!(ran.err.contains(said), "{lost} {words:?}: {ran:?}");
    };
    let nowhere = place.path("nowhere");
    for (runtime, program, flag) in RUNTIMES {
        for lost in ["sys_ptrace", "kill", "setuid", "setgid"] {
            refused(lost, &[runtime], &bin);
            let program = bin.join(program);
            refused(lost, &[runtime, flag, program.to_str().unwrap()], &nowhere);
        }
    }
    refused("sys_ptrace", &["jvm", "--program", ours.to_str().unwrap()], &javac);
}

#[test]
fn root_starts_nothing_by_name_from_a_folder_of_another_user() {
    if !root_or_skip() || !erlang_or_skip() {
        return;
    }
    let (place, cache) = (Place::new(), tempfile::tempdir().unwrap());
    // The programs that `erl` and a C compiler start by name.
    let path = std::env::var_os("PATH").unwrap();
    let real = |name: &str| {
        let found = std::env::split_paths(&path).map(|folder| folder.join(name));
        found.into_iter().find(|file| file.is_file()).map(|file| (name.to_owned(), file))
    };
    let tools: Vec<_> = ["dirname", "sed", "as", "ld"].into_iter().filter_map(real).collect();
    let tool = |(name, real): &(String, PathBuf)| {
        (name.clone(), format!("exec {} \"$@\"", real.display()))
    };
    let tools: Vec<_> = tools.iter().map(tool).collect();
    let tools: Vec<_> = tools.iter().map(|(name, rest)| (name.as_str(), rest.clone())).collect();
    let bin = theirs(&place, "bin", &tools);
    let home = theirs(&place, "home", &[]);
    let text = format!(
        "file:write_file(\"{}\", os:cmd(\"id -u\"), [append]).",
        place.path("told").display()
    );
    std::fs::write(home.join(".erlang"), text).unwrap();
    let app = place.path("app").display().to_string();
    for args in [
        vec!["generate", "erlang-app", app.as_str()],
        vec!["compat", "nifwait", "1", "1", "1", "1"],
    ] {
        let mut command = by_sudo(&place, &args, None);
        command.env("PATH", first(&bin)).env("HOME", &home).env("XDG_CACHE_HOME", cache.path());
        let ran = place.run(command);
        ran.assert_no_panic();
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(!told(&place).contains(&"0".to_owned()), "{args:?}: {:?}", told(&place));
    }
}

#[test]
fn root_runs_no_erl_by_a_link_that_another_user_can_lead_elsewhere() {
    if !root_or_skip() || !erlang_or_skip() {
        return;
    }
    let place = Place::new();
    let path = std::env::var_os("PATH").unwrap();
    let erl = std::env::split_paths(&path).map(|folder| folder.join("erl")).find(|f| f.is_file());
    // `erl` looks for this program beside itself, and runs it.
    let bin = theirs(&place, "bin", &[("dyn_erl", "exit 1".to_owned())]);
    std::os::unix::fs::symlink(erl.unwrap(), bin.join("erl")).unwrap();
    let app = place.path("app").display().to_string();
    let mut command = by_sudo(&place, &["generate", "erlang-app", &app], None);
    command.env("PATH", first(&bin));
    let ran = place.run(command);
    ran.assert_no_panic();
    assert!(!told(&place).contains(&"0".to_owned()), "{:?} {ran:?}", told(&place));
    assert_eq!(ran.code(), 3, "{ran:?}");
}

/// A hostile compiler of another user. It replaces its working folder by a link and makes links
/// of its results. It also leaves a program running that holds the pipe.
const HOSTILE_GO: &str = r#"
here=$(pwd -P)
setsid sleep 600 &
echo $! >> TOLD
case "$1" in
env)
    mv "$here" "$here.moved" && ln -s VICTIM "$here"
    echo go1.24.9 ;;
build)
    ln -s SECRET worker ;;
esac
exit 0"#;

#[test]
fn a_compiler_of_another_user_leads_root_nowhere_and_leaves_nothing_running() {
    if !root_or_skip() || !two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let (place, cache) = (Place::new(), tempfile::tempdir().unwrap());
    let (uid, gid) = somebody();
    let [victim, secret] = ["victim", "secret"].map(|name| cache.path().join(name));
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(&secret, "secret").unwrap();
    let script = [("TOLD", place.path("left")), ("VICTIM", victim.clone()), ("SECRET", secret)]
        .iter()
        .fold(HOSTILE_GO.to_owned(), |text, (word, path)| {
            text.replace(word, path.to_str().unwrap())
        });
    let bin = theirs(&place, "bin", &[("go", script)]);
    let args = ["run", "quota-blind", "--runtime", "go", "--samples", "1", "--no-probe"];
    let mut command = by_sudo(&place, &args, Some(&uid.to_string()));
    command.env("PATH", first(&bin)).env("XDG_CACHE_HOME", cache.path());
    let ran = place.run(command);
    ran.assert_no_panic();
    assert!(ran.code() > 1 && ran.wrongs().len() == 1, "{ran:?}");
    assert!(ran.err.contains("work/worker: "), "{ran:?}");
    // It ran twice, as the user who called sudo.
    assert_eq!(told(&place), [uid.to_string(), uid.to_string()], "{gid}");
    assert_eq!(common::files(&victim), Vec::<PathBuf>::new());
    assert_eq!(common::files(&cache.path().join("tailback/workers")), Vec::<PathBuf>::new());
    for pid in std::fs::read_to_string(place.path("left")).unwrap().lines() {
        let pid = pid.parse().unwrap();
        wait_for("what it left to go", || processes::at(pid).is_none().then_some(()));
    }
}

/// A command that reads foreign records may write only where its output goes.
#[test]
fn a_command_without_rights_writes_where_the_link_of_its_output_leads() {
    let place = Place::new();
    let golden = place.golden("mmap-lock");
    let folders = [place.path("pages"), place.path("links")];
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let [page, link] = [folders[0].join("page.html"), folders[1].join("link.html")];
    std::fs::write(&page, "an older page").unwrap();
    std::os::unix::fs::symlink(&page, &link).unwrap();
    let ran = place.say(&["report", golden.to_str().unwrap(), "-o", link.to_str().unwrap()]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
    assert!(link.is_symlink());
}
