//! How each platform runs a command line, and how it ends one with all that it started.

use std::process::{Child, Command, Stdio};

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

/// Ends `child` and whatever it started. It must not have been waited for: until then, no other
/// process has its number.
pub fn kill(child: &mut Child) {
    // The library ends the shell alone; what the shell started would live on, and keep its memory.
    let _ = killer(child.id())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(unix)]
fn killer(number: u32) -> Command {
    let mut killer = Command::new("sh");
    killer.args(["-c", "kill -s KILL -- \"-$0\"", &number.to_string()]);
    killer
}

#[cfg(windows)]
fn killer(number: u32) -> Command {
    let mut killer = Command::new("taskkill");
    killer.args(["/T", "/F", "/PID", &number.to_string()]);
    killer
}
