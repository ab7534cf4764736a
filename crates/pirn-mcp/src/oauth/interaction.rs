//! The seam between signing in and the person who does it.

use futures_util::future::BoxFuture;

/// Shows a sign-in page to a person. Front ends implement it.
pub trait Interaction: Send + Sync + 'static {
    /// Opens the page in a browser, or shows its URL. Returns at once.
    fn open(&self, url: &str);

    /// Waits for the person to paste the URL their browser ended at, or the code in it, where it cannot reach this machine.
    /// `None` where nothing will be pasted. Called again after [`refused`](Self::refused); dropped when the browser arrives.
    fn pasted(&self) -> BoxFuture<'_, Option<String>>;

    /// What was pasted is of no use; `why` is a sentence for the person.
    fn refused(&self, why: &str) {
        let _ = why;
    }
}
