//! Local references of a JSON Schema.

use serde_json::Value;

/// Finds what `#` or `#/…` points at. `None` for references to other documents, for anchors, for malformed escapes, and for
/// targets that do not exist. Only members of objects are followed, empty segments are skipped.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    if pointer.is_empty() {
        return Some(root);
    }
    pointer
        .strip_prefix('/')?
        .split('/')
        .filter(|segment| !segment.is_empty())
        .try_fold(root, |value, segment| {
            let name = percent_decode(segment)?
                .replace("~1", "/")
                .replace("~0", "~");
            value.as_object()?.get(&name)
        })
}

/// Decodes `%XX` escapes; `None` where one is malformed or the result is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        decoded.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(decoded).ok()
}
