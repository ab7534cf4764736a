//! The end of what a helper process wrote to standard error, for error texts.

use std::sync::{Arc, Mutex, PoisonError};

use pirn_sandbox::ChildOutput;
use tokio::io::AsyncReadExt as _;

use crate::text::Tail;

const CHUNK_BYTES: usize = 4 * 1024;

/// The last bytes of an output that is read in the background.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedTail {
    tail: Arc<Mutex<Tail>>,
}

impl SharedTail {
    /// Reads an output to its end and keeps the last bytes.
    pub(crate) fn follow(&self, output: Option<ChildOutput>) {
        let Some(mut output) = output else { return };
        let tail = Arc::clone(&self.tail);
        // Ends with the last process that holds the output, and those end with their owner.
        tokio::spawn(async move {
            let mut chunk = vec![0; CHUNK_BYTES];
            while let Ok(count @ 1..) = output.read(&mut chunk).await {
                tail.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(chunk.get(..count).unwrap_or_default());
            }
        });
    }

    /// What is kept now.
    pub(crate) fn text(&self) -> String {
        self.tail
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .text()
    }
}
