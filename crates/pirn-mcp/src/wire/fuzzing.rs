//! The entry for fuzzing: any bytes through the whole layer.

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use serde_json::json;

use super::{Frame, FrameDecoder, Trace, Wire};

const METHODS: [&str; 11] = [
    "initialize",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "prompts/get",
    "subscriptions/listen",
    "ping",
    "completion/complete",
];

/// Any bytes through the whole layer.
///
/// # Panics
///
/// When frames depend on how the bytes arrive, or a request is answered twice.
#[cfg(feature = "fuzzing")]
pub fn fuzz_wire(bytes: &[u8]) {
    check(bytes);
}

/// Reads bytes as a child's output, in pieces of a size that the first of them gives, and as the body of an answer.
pub(super) fn check(bytes: &[u8]) {
    let (size, stream) = match bytes.split_first() {
        Some((size, stream)) => (usize::from(*size) + 1, stream),
        None => (1, bytes),
    };
    let frames = decode(stream.chunks(size));
    assert_eq!(
        frames,
        decode([stream].into_iter()),
        "pieces make a difference"
    );
    let wire = open_wire();
    let mut answers = 0;
    for frame in &frames {
        answers += match frame {
            Frame::Message(text) => count_answers(&wire.incoming(text, None)),
            Frame::TooLong { id, bytes } => {
                usize::from(wire.too_long(id.as_ref(), *bytes).is_some())
            }
            Frame::Noise(_) => 0,
        };
    }
    assert_eq!(answers + wire.open_requests().len(), METHODS.len());
    let wire = open_wire();
    let expected = wire.open_requests().into_iter().nth(size % METHODS.len());
    let answers = count_answers(&wire.incoming(stream, expected.as_ref()));
    assert_eq!(answers + wire.open_requests().len(), METHODS.len());
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut decoder = FrameDecoder::new();
    pieces.for_each(|piece| decoder.push(piece));
    decoder.finish();
    std::iter::from_fn(|| decoder.pop()).collect()
}

/// A wire with a request of each kind, numbered from zero.
fn open_wire() -> Wire {
    let wire = Wire::new(Trace::off());
    for (id, method) in METHODS.iter().enumerate() {
        let message = json!({
            "jsonrpc": "2.0",
            "id": id,
            "method": method,
            "params": {"name": "n", "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}, "notifications": {}},
        });
        if let Ok(message) = serde_json::from_value::<ClientJsonRpcMessage>(message) {
            drop(wire.outgoing(&message));
        }
    }
    assert_eq!(wire.open_requests().len(), METHODS.len());
    wire
}

fn count_answers(messages: &[ServerJsonRpcMessage]) -> usize {
    messages
        .iter()
        .filter(|message| {
            matches!(
                message,
                ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)
            )
        })
        .count()
}
