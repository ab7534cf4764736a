use pirn_sandbox::ExitStatus;
use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::ClientInitializeError;

use super::{Cause, explain};
use crate::error::{Error, ErrorKind};
use crate::transport::Ending;
use crate::wire::{Trace, Wire};

/// Explains an error of the handshake with a process that has ended.
fn explained(error: ErrorData) -> Error {
    let cause = Cause::Process(Ending::with(ExitStatus::Code(0)));
    explain("s", ClientInitializeError::JsonRpcError(error), &cause)
}

#[test]
fn a_refusal_says_more_than_the_end_of_the_process() {
    let error = explained(ErrorData::new(ErrorCode(-32_000), "licence expired", None));
    assert_eq!(*error.kind(), ErrorKind::Server { code: -32_000 });
    assert!(error.to_string().contains("licence expired"), "{error}");
}

#[test]
fn the_end_of_the_process_says_more_than_an_error_in_its_place() {
    let message = Wire::new(Trace::off()).failure(&RequestId::Number(1), "nobody answered");
    let ServerJsonRpcMessage::Error(answer) = message else {
        panic!("{message:?}");
    };
    let error = explained(answer.error);
    assert_eq!(*error.kind(), ErrorKind::Closed);
    assert!(error.to_string().contains("exit code 0"), "{error}");
}
