//! The run that a call belongs to, and what may differ from call to call besides the arguments.

use std::ffi::OsString;
use std::sync::Arc;

/// What was started as one piece, such as a script, a turn or a command, and for whom. Calls made inside a call belong to the
/// same run. Whoever starts a run ends it at the [`crate::ApprovalQueue`]; a call without a run is one of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Names the run; the same after it was suspended and resumed.
    pub id: Arc<str>,
    /// For whom it is made, such as the client of a gateway; empty where there is only one.
    pub caller: Arc<str>,
    /// The project it works in, as its folder; empty outside of any project.
    pub project: Arc<str>,
}

impl Run {
    /// A run of the only caller, outside of any project.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            caller: Arc::from(""),
            project: Arc::from(""),
        }
    }

    /// Sets for whom it is made.
    #[must_use]
    pub fn caller(mut self, caller: impl Into<Arc<str>>) -> Self {
        self.caller = caller.into();
        self
    }

    /// Sets the project's folder.
    #[must_use]
    pub fn project(mut self, project: impl Into<Arc<str>>) -> Self {
        self.project = project.into();
        self
    }
}

/// What whoever makes a call may change for it and the calls made inside it. Tools that start no processes and read no pictures
/// have nothing to heed here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSettings {
    /// Variables that child processes get besides their usual environment; a variable with the same name is replaced.
    pub environment: Vec<(OsString, OsString)>,
    /// The largest image that the model behind the call takes; `None` for the tool's own limits.
    pub image_limits: Option<ImageLimits>,
}

/// The largest image that is given to a model; larger ones are scaled down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// The most pixels from left to right.
    pub width_px: u32,
    /// The most pixels from top to bottom.
    pub height_px: u32,
    /// Bytes after base64 encoding.
    pub base64_bytes: usize,
}

impl Default for ImageLimits {
    /// What the large vendors accept without scaling the image themselves.
    fn default() -> Self {
        Self {
            width_px: 2_000,
            height_px: 2_000,
            base64_bytes: 4_608 * 1_024,
        }
    }
}
