//! Starting other programs and reading what they print.

use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where `make toolchain` puts programs that a check may need.
const TOOLCHAIN_PROGRAMS: &str = "target/toolchain/bin";

/// The `cargo` that started this program, so that a pinned toolchain stays pinned.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// Runs a command with this program's own output streams; a bad end is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    command.stdin(Stdio::null());
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", describe(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", describe(command));
    }
    Ok(())
}

/// Runs a command and returns what it wrote to standard output; a bad end is an error that carries
/// what it wrote to standard error.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", describe(command)))?;
    if !output.status.success() {
        bail!(
            "{} ended with {}\n{}",
            describe(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} did not write UTF-8", describe(command)))
}

/// Finds a program in the toolchain folder or on `PATH`.
pub(crate) fn find_program(root: &Path, name: &str) -> Option<PathBuf> {
    let file_name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(root.join(TOOLCHAIN_PROGRAMS))
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(&file_name))
        .find(|candidate| candidate.is_file())
}

fn describe(command: &Command) -> String {
    let mut words = vec![program_name(command)];
    words.extend(
        command
            .get_args()
            .map(|argument| argument.to_string_lossy().into_owned()),
    );
    format!("`{}`", words.join(" "))
}

fn program_name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program
        .file_stem()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned()
}
