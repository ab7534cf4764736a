//! What to run, and starting it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;

use crate::child::Child;
use crate::error::Error;
use crate::keeper::Keeper;
use crate::output::ChildOutput;

/// What a child reads from its standard input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: the null device.
    #[default]
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// What the caller writes to [`Child::take_stdin`].
    Piped,
}

/// How a child's standard output and standard error are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputMode {
    /// Both through one pipe, in the order in which they were written.
    #[default]
    Merged,
    /// Each through its own pipe.
    Separate,
}

/// A program to run, with its arguments, directory and whole environment. Nothing is inherited but the user's rights.
#[derive(Debug, Clone)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    directory: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    stdin: Stdin,
    output: OutputMode,
}

impl Command {
    /// A command without arguments, with an empty environment, in the present directory, reading nothing. A program without
    /// `/` is looked up on the `PATH` of the command's own environment.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: None,
            environment: Vec::new(),
            stdin: Stdin::Null,
            output: OutputMode::Merged,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets one variable of the environment, which starts empty.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets variables of the environment; of equal names the last one counts.
    #[must_use]
    pub fn envs(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Sets what the child reads.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Sets how its output is read.
    #[must_use]
    pub fn output_mode(mut self, output: OutputMode) -> Self {
        self.output = output;
        self
    }

    /// The program as given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Starts the command. Must be called inside a tokio runtime with I/O and time enabled.
    pub fn spawn(self) -> Result<Child, Error> {
        let Self {
            program, directory, ..
        } = &self;
        let (program, directory) = (program.clone(), directory.clone());
        self.spawn_inner()
            .map_err(|source| Error::starting(&program, directory.as_ref(), source))
    }

    /// Starts the program as the user's own: it is not supervised, neither reads nor writes anything of ours, and goes on when
    /// whoever started it ends. For what the user sees and closes, like a browser; everything else is [`Command::spawn`]'s.
    /// Must be called inside a tokio runtime.
    pub fn hand_over(self) -> Result<(), Error> {
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(n, v)| (n, v)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        // Ctrl-C in our terminal is not meant for it.
        #[cfg(unix)]
        command.process_group(0);
        match command.spawn() {
            // The runtime reaps it when it ends before we do.
            Ok(_child) => Ok(()),
            Err(source) => Err(Error::starting(
                &self.program,
                self.directory.as_ref(),
                source,
            )),
        }
    }

    #[cfg(not(unix))]
    fn spawn_inner(self) -> io::Result<Child> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "supervised children need a Unix system",
        ))
    }

    #[cfg(unix)]
    fn spawn_inner(self) -> io::Result<Child> {
        let (reader, writer) = io::pipe()?;
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(n, v)| (n, v)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let errors = match self.output {
            OutputMode::Merged => {
                command.stderr(Stdio::from(writer.try_clone()?));
                None
            }
            OutputMode::Separate => {
                let (reader, writer) = io::pipe()?;
                command.stderr(Stdio::from(writer));
                Some(ChildOutput::new(reader)?)
            }
        };
        command.stdout(Stdio::from(writer));
        let (stdin, bytes) = match self.stdin {
            Stdin::Null => (Stdio::null(), None),
            Stdin::Bytes(bytes) => (Stdio::piped(), Some(bytes)),
            Stdin::Piped => (Stdio::piped(), None),
        };
        command.stdin(stdin);
        let output = ChildOutput::new(reader)?;
        // Takes the command, and with it our copies of the writing ends: the output must end when the child's copies close.
        let (keeper, mut stdin) = Keeper::spawn(command)?;
        if let Some(bytes) = bytes
            && let Some(mut pipe) = stdin.take()
        {
            // Ends with the child at the latest: then the pipe has no reader and the write fails.
            tokio::spawn(async move {
                // A child need not read its input.
                let _unread = pipe.write_all(&bytes).await;
            });
        }
        Ok(Child::new(keeper, output, errors, stdin))
    }
}
