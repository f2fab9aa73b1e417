//! How each platform runs a command line, and how it ends it with everything it started.

use std::process::{Child, Command};

/// `command` as read by the platform's shell, in a process group of its own: an interrupt at the terminal lets an
/// audit finish its batch, so it must not end the process that answers it.
#[cfg(unix)]
pub fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;

    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).process_group(0);
    shell
}

/// `command` as read by the platform's shell. The shell takes the text between the outer quotes literally, so nothing
/// may be escaped for it.
#[cfg(windows)]
pub fn shell(command: &str) -> Command {
    use std::os::windows::process::CommandExt;

    let mut shell = Command::new("cmd");
    shell.raw_arg(format!("/D /S /C \"{command}\""));
    shell
}

/// Whether `child` has ended. It is not waited for: until it is, no other process has its id, and its group can still
/// be ended.
#[cfg(unix)]
pub fn has_ended(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    number.is_none_or(|number| !matches!(waitid(WaitId::Pid(number), options), Ok(None)))
}

/// Whether `child` has ended.
#[cfg(windows)]
pub fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Ends the process with this id and everything it started that is still in its group. It must not have been waited
/// for.
#[cfg(unix)]
pub fn kill(number: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};

    if let Some(number) = i32::try_from(number).ok().and_then(Pid::from_raw) {
        // It is fine if the process has already ended and left nothing.
        let _ = kill_process_group(number, Signal::KILL);
    }
}

/// Ends the process with this id and everything it started.
#[cfg(windows)]
pub fn kill(number: u32) {
    use std::process::Stdio;

    // The library ends only the shell; what the shell started would live on, and keep its memory.
    let _ = Command::new("taskkill")
        .args(["/T", "/F", "/PID", &number.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
