//! Reading one HTTP request.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use crate::log::{Seen, method_of};

/// More than any client of ours sends in a line.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// More than any client of ours sends in a body.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Reads a request with its body. `None` where the client has closed the connection.
pub(super) async fn read<R: AsyncRead + Unpin>(
    reader: &mut BufReader<R>,
) -> io::Result<Option<Seen>> {
    let Some(first) = line(reader).await? else {
        return Ok(None);
    };
    let mut words = first.split(' ');
    let (Some(verb), Some(path)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let (verb, path) = (verb.to_owned(), path.to_owned());
    let mut headers = Vec::new();
    while let Some(text) = line(reader).await?.filter(|text| !text.is_empty()) {
        let (name, value) = text.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(Ok(0), |(_, value)| value.parse::<usize>())
        .map_err(io::Error::other)?;
    if length > BODY_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    let message = serde_json::from_slice(&body)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&body).into_owned()));
    let method = if message.is_object() {
        method_of(&message)
    } else {
        verb.clone()
    };
    Ok(Some(Seen {
        verb,
        method,
        path,
        headers,
        message,
    }))
}

async fn line<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    reader
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut line)
        .await?;
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
}
