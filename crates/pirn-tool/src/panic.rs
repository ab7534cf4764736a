//! Keeps panics of other people's code out of this crate's.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;

/// Characters of a panic's message that are kept.
const MESSAGE_CHARS_MAX: usize = 500;

/// Runs `code`; a panic becomes its message. What the code may have left half changed is not used afterwards.
pub(crate) fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(message)
}

/// Runs the future that `make` returns; a panic of either becomes its message.
pub(crate) async fn guarded_future<F: Future>(
    make: impl FnOnce() -> F,
) -> Result<F::Output, String> {
    // Making the future can panic too, so it is made inside the guarded one.
    AssertUnwindSafe(async move { make().await })
        .catch_unwind()
        .await
        .map_err(message)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape of `map_err`; the panic ends here"
)]
fn message(panic: Box<dyn Any + Send>) -> String {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "no message",
    };
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}
