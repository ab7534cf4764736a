//! The program of a child as exec wants it, made ready before the fork.

use std::ffi::{CString, OsStr, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use libc::c_int;

use super::errno;

/// Where programs are looked for without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A program with its arguments and its environment.
#[derive(Debug)]
pub(super) struct ProgramImage {
    /// Where the program may be, in the order in which that is tried.
    candidates: Vec<CString>,
    /// The shell of a script that does not name its own, the program, its arguments, and a null pointer.
    arguments: Vec<*const c_char>,
    /// The variables and a null pointer.
    environment: Vec<*const c_char>,
    /// What the pointers lead to.
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead to texts that it owns itself, on the heap, and never changes.
unsafe impl Send for ProgramImage {}
// SAFETY: as above.
unsafe impl Sync for ProgramImage {}

impl ProgramImage {
    /// What a command says, whose environment is all its own.
    pub(super) fn of(command: &std::process::Command) -> io::Result<Self> {
        let variables: Vec<(&OsStr, &OsStr)> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let path = variables
            .iter()
            .find_map(|(name, value)| (*name == "PATH").then_some(*value))
            .unwrap_or_else(|| OsStr::new(DEFAULT_PATH));
        let candidates = candidates(command.get_program(), path)?;
        let mut texts = vec![text(b"/bin/sh")?, text(command.get_program().as_bytes())?];
        for argument in command.get_args() {
            texts.push(text(argument.as_bytes())?);
        }
        let first_variable = texts.len();
        for (name, value) in variables {
            texts.push(text(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
        let (arguments, variables) = texts.split_at(first_variable);
        Ok(Self {
            candidates,
            arguments: pointers(arguments),
            environment: pointers(variables),
            _texts: texts,
        })
    }

    /// Becomes the program, or says why not. Only system calls: runs after a fork.
    pub(super) fn execute(&mut self) -> c_int {
        let mut reason = libc::ENOENT;
        for candidate in &self.candidates {
            match execute(candidate.as_ptr(), &self.arguments, 1, &self.environment) {
                libc::ENOENT | libc::ENOTDIR => {}
                // Another folder may have one that can be run.
                libc::EACCES => reason = libc::EACCES,
                libc::ENOEXEC => {
                    if let [shell, program, ..] = self.arguments.as_mut_slice() {
                        *program = candidate.as_ptr();
                        let shell = *shell;
                        return execute(shell, &self.arguments, 0, &self.environment);
                    }
                }
                errno => return errno,
            }
        }
        reason
    }
}

/// A name without a slash is looked for in the folders of a `PATH`.
fn candidates(program: &OsStr, path: &OsStr) -> io::Result<Vec<CString>> {
    let name = program.as_bytes();
    if name.is_empty() {
        return Ok(Vec::new());
    }
    if name.contains(&b'/') {
        return Ok(vec![text(name)?]);
    }
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(|folder| match folder {
            // Where it starts.
            [] => text(&[b"./", name].concat()),
            folder => text(&[folder, b"/", name].concat()),
        })
        .collect()
}

fn text(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(io::Error::from)
}

/// Pointers to texts, which stay where they are on the heap, and a null pointer.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts
        .iter()
        .map(|text| text.as_ptr())
        .chain(std::iter::once(std::ptr::null()))
        .collect()
}

/// `from` is the first of the arguments that the program gets.
fn execute(
    program: *const c_char,
    arguments: &[*const c_char],
    from: usize,
    environment: &[*const c_char],
) -> c_int {
    let Some(arguments) = arguments.get(from..) else {
        return libc::EINVAL;
    };
    // SAFETY: all texts end in zero, both lists in a null pointer, and all of them live as long as the image.
    unsafe { libc::execve(program, arguments.as_ptr(), environment.as_ptr()) };
    errno()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_in_the_folders_of_the_path() {
        for (program, path, wanted) in [
            ("sh", "/bin:/usr/bin", vec!["/bin/sh", "/usr/bin/sh"]),
            ("sh", "/bin::", vec!["/bin/sh", "./sh", "./sh"]),
            ("sh", "", vec!["./sh"]),
            ("./sh", "/bin", vec!["./sh"]),
            ("/bin/sh", "/usr/bin", vec!["/bin/sh"]),
            ("", "/bin", vec![]),
        ] {
            let found = candidates(OsStr::new(program), OsStr::new(path)).unwrap();
            let found: Vec<&str> = found.iter().map(|text| text.to_str().unwrap()).collect();
            assert_eq!(found, wanted, "{program} in {path}");
        }
    }
}
