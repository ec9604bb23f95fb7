//! Other people's programs: started so that they die with this process, and never waited for
//! without limit.

use crate::program;
use os::child::Child;
use os::death;
use os::user::User;
use rustix::process::Signal;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Most bytes of a tool's output that are kept.
const MOST_OUTPUT: usize = 64 << 20;

/// Why a tool did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The program does not exist.
    #[error("{program}: not found; {help}")]
    NotFound {
        /// The program.
        program: String,
        /// How to get it.
        help: &'static str,
    },
    /// The kernel cannot start it.
    #[error("{program}: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// The program failed.
    #[error("{program}: {why}")]
    Failed {
        /// The program.
        program: String,
        /// Its message, or what to do next.
        why: String,
    },
    /// Waiting for the program failed.
    #[error("{what}: {source}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// A program that is about to be run.
#[derive(Debug)]
pub struct Tool {
    program: String,
    help: &'static str,
    command: Command,
    /// Why it must not be run; None if it may be.
    refused: Option<String>,
}

impl Tool {
    /// A program, and the help text for the case that it is missing.
    pub fn new(program: impl Into<String>, help: &'static str) -> Self {
        let program = program.into();
        let (mut command, refused) = match program::command(&program) {
            Ok(command) => (command, None),
            Err(error) => (Command::new(&program), Some(error.to_string())),
        };
        command.stdin(Stdio::null()).process_group(0);
        death::bind(&mut command, Signal::KILL);
        Tool { program, help, command, refused }
    }

    /// Adds an argument.
    pub fn arg(&mut self, word: impl AsRef<OsStr>) -> &mut Self {
        self.command.arg(word);
        self
    }

    /// Sets the destination of its standard output.
    pub fn stdout(&mut self, to: Stdio) -> &mut Self {
        self.command.stdout(to);
        self
    }

    /// Sets the destination of its standard error.
    pub fn stderr(&mut self, to: Stdio) -> &mut Self {
        self.command.stderr(to);
        self
    }

    /// The command, for settings that only few tools need.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Runs it as this user, without any privilege; it still dies with this process. Of the
    /// environment it gets only the search path: that user can read it, and it may hold secrets,
    /// such as the password of a proxy.
    pub fn become_user(&mut self, user: User) {
        let chosen = self.command.get_envs().find(|(name, _)| *name == "PATH");
        let chosen = chosen.and_then(|(_, value)| value.map(OsStr::to_owned));
        let path = chosen.or_else(|| std::env::var_os("PATH"));
        self.command.env_clear().envs(path.map(|path| ("PATH", path)));
        death::bind_as(&mut self.command, Some(user));
    }

    /// Keeps these descriptors open in the program that is started next, and only there.
    pub fn keep_open(&mut self, descriptors: Vec<OwnedFd>) {
        death::keep_open(&mut self.command, descriptors);
    }

    /// Starts it.
    ///
    /// # Errors
    /// If it is missing, if another user could have put the program there that root would run, or
    /// if the kernel refuses.
    pub fn spawn(&mut self) -> Result<Child, ToolError> {
        if let Some(why) = &self.refused {
            let why = format!(
                "{why}; as root, tailback runs no program that other users could have put there"
            );
            return Err(ToolError::Failed { program: self.program.clone(), why });
        }
        let child = self.command.spawn().map_err(|source| {
            let program = self.program.clone();
            match source.kind() {
                std::io::ErrorKind::NotFound => ToolError::NotFound { program, help: self.help },
                _ => ToolError::NotStarted { program, source },
            }
        })?;
        Ok(Child::leading(child))
    }

    /// Runs it until it ends or reaches its limit. Returns its standard output. If it fails, the
    /// error has the reason from standard error, or else from standard output.
    pub fn run(
        &mut self,
        limit: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<String, ToolError> {
        self.stdout(Stdio::piped()).stderr(Stdio::piped());
        let deadline = Instant::now() + limit;
        let ran = self.spawn()?.run_to_end(MOST_OUTPUT, deadline, interrupted);
        let ran = ran.map_err(|source| ToolError::System { what: "waiting for a tool", source })?;
        let program = self.program.clone();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match ran.status {
            Some(status) if status.success() => Ok(text(&ran.stdout)),
            Some(_) => {
                let why = last_message(&text(&ran.stderr), &text(&ran.stdout));
                Err(ToolError::Failed { program, why })
            }
            None if interrupted() => Err(ToolError::Interrupted),
            None => {
                let why = format!("did not end within {limit:?}; is the network or the disk slow?");
                Err(ToolError::Failed { program, why })
            }
        }
    }
}

/// The lines that give the reason, joined into one line.
fn last_message(err: &str, out: &str) -> String {
    let from = if err.trim().is_empty() { out } else { err };
    let lines: Vec<&str> = from.lines().filter(|line| !line.trim().is_empty()).collect();
    let grave: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("E: ")).collect();
    let chosen = match grave.is_empty() {
        true => lines.last().copied().unwrap_or("it failed without a message").to_owned(),
        false => grave.join(" "),
    };
    chosen.chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Tool {
        let mut tool = Tool::new("sh", "install a shell");
        tool.arg("-c").arg(script);
        tool
    }

    #[test]
    fn words_of_a_tool_come_back() {
        let limit = Duration::from_secs(60);
        assert_eq!(shell("echo yes").run(limit, &|| false).unwrap(), "yes\n");
        let error = shell("echo W: a >&2; echo E: no room >&2; exit 1").run(limit, &|| false);
        assert!(error.unwrap_err().to_string().ends_with("sh: E: no room"));
    }

    #[test]
    fn a_tool_that_does_not_end_is_ended() {
        let error = shell("sleep 1000").run(Duration::from_millis(20), &|| false).unwrap_err();
        assert!(error.to_string().contains("did not end"), "{error}");
        let error = shell("sleep 1000").run(Duration::from_secs(60), &|| true).unwrap_err();
        assert!(matches!(error, ToolError::Interrupted));
    }

    #[test]
    fn a_tool_of_another_user_gets_nothing_of_the_environment_but_the_search_path() {
        let Some(account) = os::user::unprivileged() else {
            return testing::skipped("only root has something to drop");
        };
        let mut tool = Tool::new("env", "install coreutils");
        tool.become_user(account.user);
        let printed = tool.run(Duration::from_secs(60), &|| false).unwrap();
        assert!(printed.starts_with("PATH=") && printed.lines().count() == 1, "{printed}");
    }

    #[test]
    fn a_missing_tool_is_named_with_what_to_do() {
        let error = Tool::new("no-such-tool", "install it").spawn().unwrap_err();
        assert_eq!(error.to_string(), "no-such-tool: not found; install it");
    }
}
