//! Images of chat models, as `OpenRouter` serves them.

use serde_json::{Value, json};

use super::TaskModel;
use crate::failure::{Failure, FailureKind};
use crate::request::HttpRequest;

/// The request for images. `input` holds text and image blocks; the error says which block is something else.
pub(super) fn request(model: &TaskModel, input: &[Value]) -> Result<HttpRequest, Failure> {
    let invalid = |message: String| Failure::new(FailureKind::Invalid, message);
    let word = |block: &Value, key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut content = Vec::new();
    for (index, block) in input.iter().enumerate() {
        let part = match word(block, "type").as_deref() {
            Some("text") => word(block, "text").map(|text| json!({ "type": "text", "text": text })),
            Some("image") => {
                word(block, "mimeType")
                    .zip(word(block, "data"))
                    .map(|(kind, data)| {
                        let url = format!("data:{kind};base64,{data}");
                        json!({ "type": "image_url", "image_url": { "url": url } })
                    })
            }
            _ => None,
        };
        let shape = "must be {type: \"text\", text} or {type: \"image\", data, mimeType}";
        content.push(part.ok_or_else(|| invalid(format!("input[{index}] {shape}")))?);
    }
    if content.is_empty() {
        return Err(invalid("input must hold at least one block".to_owned()));
    }
    let writes_text = model
        .compat
        .get("textOutput")
        .and_then(Value::as_bool)
        .unwrap_or(true);
    let modalities = if writes_text {
        json!(["image", "text"])
    } else {
        json!(["image"])
    };
    let body = json!({
        "model": model.id,
        "stream": false,
        "messages": [{ "role": "user", "content": content }],
        "modalities": modalities,
    });
    Ok(model.post("/chat/completions", body))
}

/// The blocks of a body: its text, then its images.
pub(super) fn output(body: &Value) -> Result<Value, Failure> {
    let unreadable = |message: &str| Failure::new(FailureKind::Stream, message);
    let Some(message) = body.pointer("/choices/0/message") else {
        return Err(unreadable("the reply holds no message"));
    };
    let mut blocks = Vec::new();
    let text = message.get("content").and_then(Value::as_str);
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        blocks.push(json!({ "type": "text", "text": text }));
    }
    let images = message.get("images").and_then(Value::as_array);
    for image in images.into_iter().flatten() {
        let url = image.get("image_url");
        let url = url.and_then(|url| url.get("url").unwrap_or(url).as_str());
        let parts = url
            .and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"))
            .filter(|(kind, _)| kind.starts_with("image/"));
        let Some((kind, data)) = parts else {
            return Err(unreadable(
                "the reply holds an image that is not a data URL",
            ));
        };
        blocks.push(json!({ "type": "image", "data": data, "mimeType": kind }));
    }
    if blocks.is_empty() {
        return Err(unreadable("the reply is empty"));
    }
    Ok(Value::Array(blocks))
}
