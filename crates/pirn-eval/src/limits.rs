//! The bounds of evals, each with its reason.

use std::time::Duration;

/// The longest source, in bytes: far more than a model writes in one call.
pub const CODE_BYTES_MAX: usize = 100_000;

/// The longest frame in each direction, in bytes without the newline: state of the largest size, with room for escapes.
pub const FRAME_BYTES_MAX: usize = 2_000_000;

/// Frames of a worker in one eval: every call is one, so this also bounds calls.
pub const FRAMES_MAX: u32 = 10_000;

/// Calls that run at once, whatever the program does; further ones wait.
pub const CALLS_IN_FLIGHT_MAX: usize = 32;

/// Inputs of waiting calls together, in bytes; a call beyond is refused. Eight of the largest.
pub(crate) const CALLS_WAITING_BYTES_MAX: usize = 8 * FRAME_BYTES_MAX;

/// The longest id of a call, in bytes: workers count.
pub(crate) const CALL_ID_BYTES_MAX: usize = 64;

/// The longest name of a capability, in bytes.
pub(crate) const CAPABILITY_NAME_BYTES_MAX: usize = 64;

/// How long calls that were told to end are awaited when their eval is over: their results interest nobody then.
pub(crate) const CALL_GRACE: Duration = Duration::from_millis(500);

/// The largest state, in bytes of JSON.
pub const STATE_BYTES_MAX: usize = 1_000_000;

/// The most values in a state, containers included.
pub const STATE_NODES_MAX: usize = 100_000;

/// What is kept of each output of a program, and of a value, where nothing else is set, in bytes: what a model can use.
pub const OUTPUT_BYTES_DEFAULT: usize = 51_200;

/// The least that can be set for [`OUTPUT_BYTES_DEFAULT`].
pub const OUTPUT_BYTES_LEAST: usize = 256;

/// The most that can be set for [`OUTPUT_BYTES_DEFAULT`].
pub const OUTPUT_BYTES_MOST: usize = 262_144;

/// The longest an eval may run, whatever the caller says.
pub const TIMEOUT_MAX: Duration = Duration::from_mins(2);

/// The last bytes of what a broker, a zygote or an idle worker wrote to standard error, for error texts.
pub(crate) const STDERR_TAIL_BYTES: usize = 16 * 1024;

/// Pictures of one eval: more are never looked at.
pub(crate) const DISPLAYS_MAX: usize = 16;

/// Pictures of one eval together, in bytes of base64.
pub(crate) const DISPLAYS_BYTES_MAX: usize = 8_000_000;

/// The most places that [`crate::EvalOutcome::lossy`] names.
pub(crate) const LOSSY_MAX: usize = 64;

/// The longest short text of a worker that is repeated (names of errors, places), in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 200;

/// Live Python namespaces at once; the one not used for longest ends first. Each is a process with tens of megabytes.
pub const LIVE_NAMESPACES_MAX: usize = 4;

/// From the request for a broker to its first word: it finds out what the machine can confine.
pub(crate) const BROKER_START: Duration = Duration::from_secs(30);

/// From the request for a worker to its start. Interpreters on a busy machine, with modules on a cold disk.
pub(crate) const WORKER_START: Duration = Duration::from_secs(30);

/// Fresh workers: from SIGINT to SIGTERM, and from there to SIGKILL.
pub(crate) const FRESH_GRACE: Duration = Duration::from_millis(100);

/// Live namespaces: from SIGINT to SIGTERM. Losing one costs more than waiting.
pub(crate) const LIVE_INTERRUPT_GRACE: Duration = Duration::from_secs(5);

/// Live namespaces: from SIGTERM to SIGKILL.
pub(crate) const LIVE_TERMINATE_GRACE: Duration = Duration::from_millis(750);

/// How long a worker may take from its result to its end when the eval was stopped in between.
pub(crate) const FINISH_GRACE: Duration = Duration::from_millis(750);

/// What the host waits beyond the broker's own time-outs before it kills the broker.
pub(crate) const BROKER_GRACE: Duration = Duration::from_secs(3);

/// How long the outputs of a worker that is gone are read: what still holds them is not of this eval.
pub(crate) const DRAIN_WAIT: Duration = Duration::from_millis(200);

/// The pause between two pieces of live output, so that a program that prints letter by letter costs little.
pub(crate) const OUTPUT_PAUSE: Duration = Duration::from_millis(25);

/// The longest piece of live output, in bytes: the size of a Linux pipe.
pub(crate) const OUTPUT_PIECE_BYTES: usize = 64 * 1024;

/// What is read at most from an output at one moment, in bytes: the largest pipe an ordinary user can make.
pub(crate) const PIPE_BYTES_MAX: usize = 1024 * 1024;
