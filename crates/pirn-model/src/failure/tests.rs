use super::*;

#[test]
fn what_vendors_say_is_understood() {
    use FailureKind::{
        Authentication, Invalid, Overflow, Quota, RateLimit, Refusal, Server, Timeout,
    };
    for (status, body, kind, message) in [
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}"#,
            Authentication,
            "Incorrect API key provided (invalid_request_error) (HTTP status 401)",
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
            RateLimit,
            "slow down (rate_limit_error) (HTTP status 429)",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            Quota,
            "You exceeded your current quota (insufficient_quota) (HTTP status 429)",
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
            Overflow,
            "This model's maximum context length is 8192 tokens (HTTP status 400)",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            Overflow,
            "the request exceeds the available context size (exceed_context_size_error) (HTTP status 400)",
        ),
        (
            429,
            r#"{"error":{"message":"Request too large for gpt on tokens per min: limit 30000"}}"#,
            RateLimit,
            "Request too large for gpt on tokens per min: limit 30000 (HTTP status 429)",
        ),
        (
            400,
            r#"{"error":"timeout must be a number"}"#,
            Invalid,
            "timeout must be a number (HTTP status 400)",
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Server,
            "Overloaded (overloaded_error) (HTTP status 529)",
        ),
        (
            502,
            "<html><head><title>502 Bad\nGateway</title></head></html>",
            Server,
            "a web page came instead of an answer: 502 Bad Gateway (HTTP status 502)",
        ),
        (504, "", Timeout, "HTTP status 504"),
        (
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"content filter hit"}}}"#,
            Refusal,
            "Provider returned error: content filter hit (HTTP status 400)",
        ),
        (
            403,
            r#"[{"error":{"code":403,"message":"API key not valid.","status":"PERMISSION_DENIED"}}]"#,
            Authentication,
            "API key not valid. (PERMISSION_DENIED) (HTTP status 403)",
        ),
        (
            422,
            r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
            Invalid,
            r#"[{"loc":["body"],"msg":"field required"}] (HTTP status 422)"#,
        ),
    ] {
        let failure = Failure::from_response(status, body, None);
        assert_eq!(
            (failure.kind, failure.message.as_str()),
            (kind, message),
            "{body}"
        );
    }
}
