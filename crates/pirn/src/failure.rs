//! How the program ends, and how every error looks.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use pirn_terminal::{Emphasis, Style, Text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything went well; also when nobody read the output to its end.
    Success,
    /// The script failed, or something else did.
    Failed,
    /// The input cannot be used; nothing was done.
    Usage,
    /// The script ran past its deadline.
    Deadline,
    /// A closed terminal stopped the model's work.
    HungUp,
    /// The user stopped it.
    Interrupted,
    /// A request to end stopped the model's work.
    Terminated,
}

impl Exit {
    /// Every exit code, in the order of their numbers.
    pub(crate) const ALL: [Self; 7] = [
        Self::Success,
        Self::Failed,
        Self::Usage,
        Self::Deadline,
        Self::HungUp,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// The number. 124 is that of `timeout`, and 130 that of a shell after Ctrl-C.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Deadline => 124,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// For help and reference.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Success => "The script succeeded, even if the reader of its output stopped early",
            Self::Failed => "The script failed",
            Self::Usage => {
                "The command line, the script's file or the store cannot be used; nothing was run"
            }
            Self::Deadline => "The script ran past its deadline",
            Self::HungUp => "The terminal of `pirn -p` was closed",
            Self::Interrupted => "The script was interrupted",
            Self::Terminated => "`pirn -p` was terminated",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why the program ends without success, as data; [`Failure::render`] is the only place that makes text of it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// The message, and the causes below it.
    error: anyhow::Error,
    /// Paragraphs below the message: what was done, usage.
    details: Vec<String>,
    /// What to do about it.
    hints: Vec<String>,
}

impl Failure {
    /// A failure with this message.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            error: anyhow::Error::msg(message.into()),
            details: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Input that cannot be used.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Input that cannot be used because of `cause`.
    pub(crate) fn usage_because(
        cause: impl Into<anyhow::Error>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            exit: Exit::Usage,
            ..Self::from(cause.into().context(message.into()))
        }
    }

    /// Ends with another exit code.
    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// A command line that is wrong.
    pub(crate) fn from_clap(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Self::usage("a command is missing").detail(text.trim_end());
        }
        // The paragraphs are the message, tips, the usage, and where to find more.
        let mut paragraphs = text.split("\n\n");
        let message = paragraphs.next().unwrap_or_default();
        let mut failure = Self::usage(
            message
                .strip_prefix("error: ")
                .unwrap_or(message)
                .trim_end(),
        );
        for paragraph in paragraphs.map(str::trim) {
            if paragraph.starts_with("tip: ") {
                let tips = paragraph
                    .lines()
                    .filter_map(|line| line.trim().strip_prefix("tip: "));
                failure.hints.extend(tips.map(str::to_owned));
            } else if paragraph.starts_with("Usage: ") {
                failure.details.push(paragraph.to_owned());
            }
        }
        if let Some(ContextValue::String(command)) = error.get(ContextKind::InvalidSubcommand)
            && std::path::Path::new(command).is_file()
        {
            failure
                .hints
                .push(format!("`pirn exec {command}` runs a script"));
        }
        failure
    }

    /// The text for people.
    pub(crate) fn render(&self, style: Style) -> Text {
        let mut text = Text::emphasised(Emphasis::Error, style, "error:");
        text.push(&Text::lines(format_args!(" {}\n", self.error)));
        for cause in self.error.chain().skip(1) {
            text.push(&Text::lines(format_args!("  caused by: {cause}\n")));
        }
        for detail in &self.details {
            text.push(&Text::lines(format_args!("\n{detail}\n")));
        }
        for (index, hint) in self.hints.iter().enumerate() {
            if index == 0 {
                text.push(&Text::line(""));
            }
            text.push(&Text::emphasised(Emphasis::Hint, style, "hint:"));
            // What others wrote in it stays behind a margin.
            let mut margin = " ";
            for line in hint.lines() {
                text.push(&Text::line(format_args!("{margin}{line}")));
                margin = "  ";
            }
        }
        text
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self {
            exit: Exit::Failed,
            error,
            details: Vec::new(),
            hints: Vec::new(),
        }
    }
}

impl From<pirn_runtime::Error> for Failure {
    fn from(error: pirn_runtime::Error) -> Self {
        let exit = match error.kind() {
            pirn_runtime::ErrorKind::Input => Exit::Usage,
            _ => Exit::Failed,
        };
        let hints = error.hints().to_vec();
        let failure = Self::from(anyhow::Error::from(error)).with_exit(exit);
        hints.into_iter().fold(failure, Self::hint)
    }
}
