//! How messages travel: a child's pipes, streamable HTTP, and the HTTP with events of 2024.

mod http;
mod sse;
mod stdio;

pub(crate) use http::{HttpFailure, HttpParts, LastFailure, http_transport};
pub use http::{http_client, http_client_without_certificates};
pub(crate) use sse::SseTransport;
pub(crate) use stdio::{Ending, InputUse, Silence, StdioTransport};
