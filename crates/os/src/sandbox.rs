//! Limits what a process may do from then on: fewer privileges, files and system calls, less
//! memory. No limit can be undone, and each also applies to what the process starts later.
//!
//! Privileges and Landlock rules apply to the calling thread and to threads that it starts later.
//! So they are set while there is only one thread, or by each thread.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads, sock_filter,
};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Newest Landlock version whose rights are requested. An older kernel uses the rights it knows.
const NEWEST: ABI = ABI::V6;

/// `open_tree_attr`, which makes a mount since Linux 6.15. The crate libc does not have it. The
/// number is the same on x86-64 and arm64.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// System calls that tailback never makes once it is restricted. They start programs, look into
/// other processes, or change mounts, namespaces, keys, the clock or the kernel.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_mknodat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    libc::SYS_personality,
];

/// Flags by which `clone` makes a namespace. It has none for time: that bit is part of the signal.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The families of sockets to connect to others. UNIX sockets are not among them: through one, a
/// process of root can have systemd start any program.
const TO_OTHERS: [libc::c_int; 2] = [libc::AF_INET, libc::AF_INET6];

/// Network access that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// No connecting and no listening. Sockets that are open already stay usable.
    None,
    /// Connecting to others by IPv4 and IPv6.
    Connect,
}

/// File access that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files<'a> {
    /// None, except files that are open already.
    None,
    /// Reading all files, and writing below these folders. No file may be executed.
    Read {
        /// The folders.
        writable: &'a [PathBuf],
    },
}

/// Removes all privileges except these from the calling thread, for good. The thread gains none
/// that it lacks.
///
/// # Errors
/// If the kernel refuses.
pub fn keep_privileges(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    let own = capabilities(None)?;
    // A program that root starts gets no more than the bounding set. Changing this set needs a
    // privilege; a thread without it cannot start programs with new privileges anyway.
    for one in CapabilitySet::all().iter().filter(|one| !kept.contains(*one)) {
        let _ = remove_capability_from_bounding_set(one);
    }
    let kept = own.permitted & kept;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })?;
    Ok(())
}

/// Restricts the files, the network and the signal targets of the calling thread. Returns whether
/// the kernel enforces it (Landlock, Linux 5.13).
///
/// A restricted thread can no longer look into processes outside its Landlock domain, not even
/// with `CAP_SYS_PTRACE`: it cannot read /proc/PID/exe and maps of others.
///
/// # Errors
/// If a folder does not exist, or the kernel refuses.
pub fn restrict(files: Files, network: Network) -> Result<bool, RulesetError> {
    let net = match network {
        Network::None => AccessNet::from_all(NEWEST),
        Network::Connect => AccessNet::from_all(NEWEST) & !AccessNet::ConnectTcp,
    };
    let none: BitFlags<AccessFs> = AccessFs::from_all(NEWEST);
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(none)?
        .handle_access(net)?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let rules = match files {
        Files::None => rules,
        Files::Read { writable } => {
            let read = AccessFs::from_read(NEWEST) & !AccessFs::Execute;
            rules
                .add_rules(path_beneath_rules([Path::new("/")], read))?
                .add_rules(path_beneath_rules(writable, none & !AccessFs::Execute))?
        }
    };
    Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// Makes the kernel refuse system calls that would extend the reach of a process that was taken
/// over, and sockets as [`refuse_sockets`]. Applies to all threads of this process.
///
/// # Errors
/// If the kernel has no system call filters, or refuses.
pub fn refuse_calls(network: Network) -> io::Result<()> {
    apply(&filters(network)?)
}

/// Makes the kernel refuse new sockets, except those that this network access needs. Applies to
/// all threads of this process. [`restrict`] allows UDP, and UNIX sockets that have a path.
///
/// # Errors
/// If the kernel has no system call filters, or refuses.
pub fn refuse_sockets(network: Network) -> io::Result<()> {
    apply(&of_this_machine(vec![filter(of_sockets(network)?, libc::EPERM)?]))
}

fn apply(filters: &[BpfProgram]) -> io::Result<()> {
    filters.iter().try_for_each(|one| apply_filter_all_threads(one).map_err(io::Error::other))
}

/// The filters; together they refuse what any of them refuses.
fn filters(network: Network) -> io::Result<Vec<BpfProgram>> {
    let mut rules: BTreeMap<i64, Vec<_>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, NAMESPACES.iter().map(makes).collect::<io::Result<_>>()?);
    rules.extend(of_sockets(network)?);
    // The flags of clone3 are in memory, where no filter sees them. Without this call, C libraries
    // start threads by clone.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok(of_this_machine(vec![filter(rules, libc::EPERM)?, filter(clone3, libc::ENOSYS)?]))
}

/// The sockets to refuse.
fn of_sockets(network: Network) -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let refused = match network {
        // Without a rule, all.
        Network::None => Vec::new(),
        Network::Connect => vec![is_none_of(TO_OTHERS)?],
    };
    Ok(BTreeMap::from([
        (libc::SYS_socket, refused),
        // A datagram socket of a pair can still be connected to another socket.
        (libc::SYS_socketpair, Vec::new()),
        // Makes sockets without these calls from Linux 5.19 on.
        (libc::SYS_io_uring_setup, Vec::new()),
    ]))
}

/// Adds what this architecture needs to filters.
fn of_this_machine(mut filters: Vec<BpfProgram>) -> Vec<BpfProgram> {
    if cfg!(target_arch = "x86_64") {
        filters.push(no_x32());
    }
    filters
}

/// Answers that calls of the x32 ABI do not exist. They have the same architecture as others, but
/// their numbers have one bit more, so no list of numbers would refuse them. Kernels before 5.4
/// take 36 of them without that bit; other programs do not use these numbers.
fn no_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    let step = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let (at_least, above) = (libc::BPF_JMP | libc::BPF_JGE, libc::BPF_JMP | libc::BPF_JGT);
    let error = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    vec![
        // The number of the call is at the start of what a filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(at_least | libc::BPF_K, 3, 0, X32),
        step(at_least | libc::BPF_K, 0, 1, 512),
        step(above | libc::BPF_K, 0, 1, 547),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, error),
    ]
}

/// Applies to a `clone` with this flag. The kernel reads 32 bits of its flags.
fn makes(flag: &libc::c_int) -> io::Result<SeccompRule> {
    let flag = u64::from(flag.cast_unsigned());
    let is_set = SeccompCmpOp::MaskedEq(flag);
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, is_set, flag)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(io::Error::other)
}

/// Applies to a `socket` of none of these families. The kernel reads 32 bits of the family.
fn is_none_of(families: [libc::c_int; 2]) -> io::Result<SeccompRule> {
    let is_other = |family: libc::c_int| {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    let conditions = families.into_iter().map(is_other).collect::<Result<Vec<_>, _>>();
    conditions.and_then(SeccompRule::new).map_err(io::Error::other)
}

/// Answers these calls with an error, and allows all others.
fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, error: libc::c_int) -> io::Result<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refused = SeccompAction::Errno(error.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch);
    filter.and_then(TryInto::try_into).map_err(io::Error::other)
}

/// Limits the address space of this process, in bytes. A limit that is lower already stays.
///
/// # Errors
/// If the kernel refuses.
pub fn limit_memory(bytes: u64) -> io::Result<()> {
    lower(Resource::As, bytes)
}

/// Limits the private, writable memory that this process allocates, in bytes.
///
/// # Errors
/// If the kernel refuses.
pub fn limit_data(bytes: u64) -> io::Result<()> {
    lower(Resource::Data, bytes)
}

/// Limits the CPU time of this process, in seconds, and disables its core dump.
///
/// # Errors
/// If the kernel refuses.
pub fn limit_time(seconds: u64) -> io::Result<()> {
    lower(Resource::Core, 0)?;
    lower(Resource::Cpu, seconds)
}

fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.unwrap_or(u64::MAX).min(to));
    let both = Rlimit { current: least(now.current), maximum: least(now.maximum) };
    Ok(setrlimit(resource, both)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, WaitOptions, waitpid};
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;

    /// Runs in a new thread, which ends afterwards. Only that thread is restricted.
    fn apart<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(run).join().unwrap()
    }

    #[test]
    fn only_privileges_that_are_named_are_kept() {
        let before = capabilities(None).unwrap().effective;
        let wanted = CapabilitySet::DAC_READ_SEARCH | CapabilitySet::SYS_PTRACE;
        let after = apart(move || {
            keep_privileges(wanted).unwrap();
            capabilities(None).unwrap()
        });
        assert_eq!(after.effective, before & wanted);
        assert_eq!((after.permitted, after.inheritable.is_empty()), (after.effective, true));
    }

    #[test]
    fn files_are_written_where_that_is_allowed_and_executed_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join("record"), "read me").unwrap();
        let tried = apart(move || {
            let files = Files::Read { writable: std::slice::from_ref(&own) };
            if !restrict(files, Network::None).unwrap() {
                testing::skipped("this kernel has no Landlock");
                return None;
            }
            let read = std::fs::read_to_string(other.join("record")).is_ok();
            let written = |folder: &Path| std::fs::write(folder.join("a"), "").is_ok();
            let run = Command::new("/bin/true").status().is_ok();
            Some((read, written(&own), written(&other), run))
        });
        if let Some(tried) = tried {
            assert_eq!(tried, (true, true, false, false));
        }
    }

    /// The error of a `clone` with these flags. A child that was made ends at once.
    fn clone_error(flags: libc::c_int) -> Option<i32> {
        let flags = libc::c_long::from(flags | libc::SIGCHLD);
        // SAFETY: without CLONE_VM the child has memory of its own, and it only ends.
        let made = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
        if made == 0 {
            // SAFETY: ends this process without running anything of it.
            unsafe { libc::_exit(0) };
        }
        if made < 0 {
            return io::Error::last_os_error().raw_os_error();
        }
        let child = i32::try_from(made).ok().and_then(Pid::from_raw);
        waitpid(child, WaitOptions::empty()).unwrap();
        None
    }

    #[test]
    fn no_namespace_is_made_and_threads_and_processes_still_start() {
        // Without a filter, others may make the namespace of a user alone.
        if !testing::root_or_skip() {
            return;
        }
        let (errors, plain, clone3, thread) = apart(|| {
            let refuse = |one: &BpfProgram| seccompiler::apply_filter(one).unwrap();
            filters(Network::None).unwrap().iter().for_each(refuse);
            let errors: Vec<_> = NAMESPACES.iter().map(|flag| clone_error(*flag)).collect();
            // SAFETY: the kernel reads nothing of a structure of this size.
            let made = unsafe { libc::syscall(libc::SYS_clone3, 0, 0) };
            let clone3 = (made, io::Error::last_os_error().raw_os_error());
            // Numbers that no kernel has, and one beside those of x32.
            for number in [548, 600] {
                // SAFETY: there is no such call.
                unsafe { libc::syscall(number) };
                assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS));
            }
            let thread = std::thread::Builder::new().spawn(|| 7).map(|run| run.join().unwrap());
            (errors, clone_error(0), clone3, thread.unwrap())
        });
        assert_eq!(errors, [Some(libc::EPERM); 7]);
        assert_eq!((plain, clone3, thread), (None, (-1, Some(libc::ENOSYS)), 7));
    }

    #[test]
    fn no_copy_of_a_mount_is_made_whether_the_kernel_knows_the_call_or_not() {
        for call in [libc::SYS_open_tree, OPEN_TREE_ATTR] {
            let (made, error) = apart(move || {
                let refuse = |one: &BpfProgram| seccompiler::apply_filter(one).unwrap();
                filters(Network::None).unwrap().iter().for_each(refuse);
                let no_path = std::ptr::null::<libc::c_char>();
                let no_attributes = std::ptr::null::<libc::c_void>();
                // SAFETY: the filter refuses the call; a kernel would refuse a path that is not
                // there.
                let made = unsafe { libc::syscall(call, -1, no_path, 0, no_attributes, 0) };
                (made, io::Error::last_os_error().raw_os_error())
            });
            assert_eq!((made, error), (-1, Some(libc::EPERM)), "{call}");
        }
    }

    /// The error of a socket of this family.
    fn socket_error(family: libc::c_int) -> Option<i32> {
        // SAFETY: takes numbers.
        let made = unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if made < 0 {
            return io::Error::last_os_error().raw_os_error();
        }
        // SAFETY: nothing else has this descriptor.
        drop(unsafe { OwnedFd::from_raw_fd(made) });
        None
    }

    #[test]
    fn a_socket_leads_to_no_service_of_this_machine_and_to_others_only_if_that_is_allowed() {
        let tried = |network, of_sockets_alone: bool| {
            apart(move || {
                let all = match of_sockets_alone {
                    true => vec![filter(of_sockets(network).unwrap(), libc::EPERM).unwrap()],
                    false => filters(network).unwrap(),
                };
                all.iter().for_each(|one| seccompiler::apply_filter(one).unwrap());
                let families = [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_INET, libc::AF_INET6];
                let is_refused = |error: Option<i32>| error == Some(libc::EPERM);
                let refused = families.map(|family| is_refused(socket_error(family)));
                let pair = UnixDatagram::pair().err().and_then(|error| error.raw_os_error());
                let no_parameters = std::ptr::null_mut::<libc::c_void>();
                // SAFETY: the kernel refuses a structure that is not there.
                let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, no_parameters) };
                let of_ring = io::Error::last_os_error().raw_os_error();
                (refused, is_refused(pair), ring == -1 && is_refused(of_ring))
            })
        };
        for of_sockets_alone in [false, true] {
            assert_eq!(tried(Network::None, of_sockets_alone), ([true; 4], true, true));
            let to_others = tried(Network::Connect, of_sockets_alone);
            assert_eq!(to_others, ([true, true, false, false], true, true));
        }
    }

    #[test]
    fn who_may_open_nothing_reads_what_is_open_alone() {
        let open = std::fs::File::open("/proc/self/status").unwrap();
        let tried = apart(move || {
            let enforced = restrict(Files::None, Network::None).unwrap();
            let again = std::fs::File::open("/proc/self/status").is_ok();
            (enforced, again, std::io::read_to_string(open).is_ok())
        });
        if !tried.0 {
            return testing::skipped("this kernel has no Landlock");
        }
        assert_eq!(tried, (true, false, true));
    }
}
