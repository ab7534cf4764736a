//! What to run, and starting it.

use std::ffi::{OsStr, OsString};
use std::io;
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;
#[cfg(unix)]
use std::{os::fd::OwnedFd, sync::Arc};

use tokio::io::AsyncWriteExt as _;

use crate::child::Child;
use crate::child_supervisor::ChildSupervisor;
#[cfg(unix)]
use crate::child_supervisor::{SpawnError, SpawnRequest};
use crate::error::Error;
use crate::output::ChildOutput;
#[cfg(unix)]
use crate::sandbox::PreparedLevel;
use crate::sandbox::Sandbox;

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
    sandbox: Option<Sandbox>,
    #[cfg(unix)]
    descriptors: Vec<Arc<OwnedFd>>,
}

/// How many descriptors [`Command::descriptor`] can pass: each needs a place that is ready before the child is.
#[cfg(unix)]
pub(crate) const DESCRIPTORS_MAX: usize = 16;

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
            sandbox: None,
            #[cfg(unix)]
            descriptors: Vec::new(),
        }
    }

    /// Adds one argument after those given before.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments after those given before.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory. A relative one is relative to ours, and in a sandbox to its working folder.
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

    /// Passes a descriptor to the child, which finds it as number 3; the next ones as 4, 5 and so on. At most 16. Only on
    /// Linux; on other Unix systems such a command does not start.
    #[cfg(unix)]
    #[must_use]
    pub fn descriptor(mut self, descriptor: OwnedFd) -> Self {
        self.descriptors.push(Arc::new(descriptor));
        self
    }

    /// Confines the child and everything it starts. It starts in the sandbox's working folder unless another directory is set.
    #[must_use]
    pub fn sandbox(mut self, sandbox: &Sandbox) -> Self {
        self.sandbox = Some(sandbox.clone());
        self
    }

    /// The program as given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Starts the command. Must be called inside a tokio runtime with I/O and time enabled.
    pub fn spawn(self) -> Result<Child, Error> {
        let program = self.program.clone();
        let directory = self.directory_outside();
        #[cfg(not(unix))]
        {
            let source = io::Error::new(
                io::ErrorKind::Unsupported,
                "supervised children need a Unix system",
            );
            Err(Error::starting(&program, directory.as_ref(), source))
        }
        #[cfg(unix)]
        {
            let is_confined = self.is_confined()?;
            self.spawn_inner().map_err(|error| match error {
                SpawnError::Explained(error) => error,
                SpawnError::System(source) => {
                    let is_hidden = is_confined
                        && source.kind() == io::ErrorKind::NotFound
                        && Path::new(&program).is_absolute()
                        && Path::new(&program).exists()
                        && directory.as_deref().is_none_or(Path::is_dir);
                    if is_hidden {
                        Error::hidden_program(&program, source)
                    } else {
                        Error::starting(&program, directory.as_ref(), source)
                    }
                }
            })
        }
    }

    /// The directory, which for a confined child is relative to the working folder.
    fn directory_outside(&self) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(match &self.sandbox {
            Some(sandbox) => sandbox.policy().working_folder.join(directory),
            None => directory.clone(),
        })
    }

    /// Whether the child sees another file system than we do.
    #[cfg(target_os = "linux")]
    fn is_confined(&self) -> Result<bool, Error> {
        match &self.sandbox {
            Some(sandbox) => Ok(sandbox.confined()?.is_some()),
            None => Ok(false),
        }
    }

    /// Whether the child sees another file system than we do.
    #[cfg(all(unix, not(target_os = "linux")))]
    fn is_confined(&self) -> Result<bool, Error> {
        match &self.sandbox {
            Some(sandbox) => sandbox.confined().map(|_confined| false),
            None => Ok(false),
        }
    }

    /// The program and its arguments as they are started.
    #[cfg(target_os = "macos")]
    fn wrapped(&self, confined: Option<&PreparedLevel>) -> (OsString, Vec<OsString>) {
        match confined {
            Some(confined) => confined.wrap(&self.program, &self.arguments),
            None => (self.program.clone(), self.arguments.clone()),
        }
    }

    /// The program and its arguments as they are started.
    #[cfg(all(unix, not(target_os = "macos")))]
    fn wrapped(&self, _confined: Option<&PreparedLevel>) -> (&OsStr, &[OsString]) {
        (&self.program, &self.arguments)
    }

    /// Starts the program as the user's own: it is not supervised, neither reads nor writes anything of ours, and goes on when
    /// whoever started it ends. For what the user sees and closes, like a browser; everything else is [`Command::spawn`]'s.
    /// Must be called inside a tokio runtime.
    pub fn hand_over(self) -> Result<(), Error> {
        self.hand_over_streams(Stdio::null(), Stdio::null())
    }

    /// Like [`Command::hand_over`], with a standard input and a standard output: for what watches over us and acts when we end.
    #[cfg(unix)]
    pub fn hand_over_with(self, stdin: OwnedFd, stdout: OwnedFd) -> Result<(), Error> {
        self.hand_over_streams(stdin.into(), stdout.into())
    }

    fn hand_over_streams(self, stdin: Stdio, stdout: Stdio) -> Result<(), Error> {
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(n, v)| (n, v)))
            .stdin(stdin)
            .stdout(stdout)
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

    /// Starts a program of the user's own that takes over the terminal, like an editor, and waits for its end. It has our
    /// streams and is in our process group, so that keys reach it.
    pub fn in_foreground(self) -> Result<std::process::ExitStatus, Error> {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(n, v)| (n, v)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
            .status()
            .map_err(|source| Error::starting(&self.program, self.directory.as_ref(), source))
    }

    #[cfg(unix)]
    fn spawn_inner(self) -> Result<Child, SpawnError> {
        if self.descriptors.len() > DESCRIPTORS_MAX {
            let message = format!("At most {DESCRIPTORS_MAX} descriptors can be passed");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message).into());
        }
        let (reader, writer) = io::pipe()?;
        let sandbox = self.sandbox.clone();
        let confined = match &sandbox {
            Some(sandbox) => sandbox.confined().map_err(SpawnError::Explained)?,
            None => None,
        };
        let is_confined = self.is_confined().map_err(SpawnError::Explained)?;
        let (program, arguments) = self.wrapped(confined);
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(n, v)| (n, v)));
        if let Some(confined) = confined {
            command.envs(confined.environment());
        }
        let directory = self.directory_outside();
        // A confined child goes there when it is inside.
        if let Some(directory) = &directory
            && !is_confined
        {
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
        let (supervisor, mut stdin) = ChildSupervisor::spawn(SpawnRequest {
            command,
            descriptors: self.descriptors,
            sandbox: self.sandbox.clone(),
            directory,
        })?;
        if let Some(bytes) = bytes
            && let Some(mut pipe) = stdin.take()
        {
            // Ends with the child at the latest: then the pipe has no reader and the write fails.
            tokio::spawn(async move {
                // A child need not read its input.
                let _unread = pipe.write_all(&bytes).await;
            });
        }
        Ok(Child::new(supervisor, output, errors, stdin, self.sandbox))
    }
}
