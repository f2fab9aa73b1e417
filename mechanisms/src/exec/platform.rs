//! How each platform runs a command line, and how it ends one with all that it started.

use std::process::{Child, Command};

/// `command` as the platform's shell reads it, in a process group of its own: an interrupt at the
/// terminal lets an audit finish its batch, so it must not end the process that answers it.
#[cfg(unix)]
pub fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;

    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).process_group(0);
    shell
}

/// `command` as the platform's shell reads it. The shell takes what stands between the outer quotes as
/// it is, so nothing may be escaped for it.
#[cfg(windows)]
pub fn shell(command: &str) -> Command {
    use std::os::windows::process::CommandExt;

    let mut shell = Command::new("cmd");
    shell.raw_arg(format!("/D /S /C \"{command}\""));
    shell
}

/// Whether `child` has ended. It is not waited for: until then no other process has its number, and its group can
/// still be ended.
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

/// Ends the process of this number and whatever it started and left in its group. It must not have been waited for.
#[cfg(unix)]
pub fn kill(number: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};

    if let Some(number) = i32::try_from(number).ok().and_then(Pid::from_raw) {
        // One that has ended, and left nothing, is as it should be.
        let _ = kill_process_group(number, Signal::KILL);
    }
}

/// Ends the process of this number and whatever it started.
#[cfg(windows)]
pub fn kill(number: u32) {
    use std::process::Stdio;

    // The library ends the shell alone; what the shell started would live on, and keep its memory.
    let _ = Command::new("taskkill")
        .args(["/T", "/F", "/PID", &number.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
