//! The agent: its start, what comes over the wire, its sessions.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pirn_agent::model::{Api, Message, Model, ReplyDecoder, StreamEnd, ThinkingLevel, UserMessage};
use pirn_agent::session::{NewSession, Session};
use serde_json::{Value, json};

use crate::Options;
use crate::process::pirn;
use crate::report::Report;
use crate::stats::{Samples, sample};
use crate::sys::wait_with_peak;

const STARTS: usize = 30;
/// Milliseconds for a megabyte at 300 MB in a second.
const DECODING_MAX: f64 = 3.33;
const TURNS: usize = 1_000;
/// A reply of this many pieces is decoded.
const PIECES: usize = 40_000;
/// How exactly the time of a request is known.
const ACCEPT_EVERY: Duration = Duration::from_micros(100);
/// Bytes that come at once, as from a socket.
const CHUNK_BYTES: usize = 16 << 10;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if options.wants("agent.start") || options.wants("agent.event") {
        starts(report)?;
    }
    for (name, api) in [
        ("decode.anthropic_ms_mb", Api::AnthropicMessages),
        ("decode.responses_ms_mb", Api::OpenAiResponses),
        ("decode.completions_ms_mb", Api::OpenAiCompletions),
        ("decode.google_ms_mb", Api::GoogleGenerativeAi),
    ] {
        if options.wants(name) {
            report.add(name, "ms/MB", DECODING_MAX, &decoding(api)?);
        }
    }
    if options.wants("session") {
        session(report)?;
    }
    Ok(())
}

/// A model on this machine that answers with one word, and tells when it was asked and when it spoke.
struct Desk {
    listener: TcpListener,
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let folder = tempfile::tempdir()?;
        for name in ["home", "work"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        let models = json!({"providers": {"desk": {
            "baseUrl": format!("http://{}/v1", listener.local_addr()?), "api": "openai-completions", "apiKey": "key",
            "models": [{"id": "scripted"}],
        }}});
        std::fs::write(folder.path().join("home/models.json"), models.to_string())?;
        Ok(Self { listener, folder })
    }

    fn ask(&self, pirn: &Path) -> Result<Child> {
        Command::new(pirn)
            .args(["-p", "--mode", "json", "--no-session", "hello"])
            .current_dir(self.folder.path().join("work"))
            .env("PIRN_HOME", self.folder.path().join("home"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| pirn.display().to_string())
    }

    /// Waits for the request of a process, and reads it.
    fn request(&self, child: &mut Child) -> Result<(TcpStream, Instant)> {
        let mut stream = loop {
            match self.listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if let Some(status) = child.try_wait()? {
                        bail!("pirn -p ended with {status} before it asked");
                    }
                    std::thread::sleep(ACCEPT_EVERY);
                }
                Err(error) => return Err(error.into()),
            }
        };
        stream.set_nonblocking(false)?;
        let mut first = [0];
        stream.read_exact(&mut first)?;
        let asked = Instant::now();
        let mut reading = BufReader::new(stream.try_clone()?);
        let mut length = 0;
        let mut line = String::new();
        while reading.read_line(&mut line)? > 2 {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            line.clear();
        }
        reading.read_exact(&mut vec![0; length])?;
        Ok((stream, asked))
    }
}

fn starts(report: &mut Report) -> Result<()> {
    let pirn = pirn()?;
    let desk = Desk::new()?;
    let (mut peaks, mut delays) = (Vec::new(), Vec::new());
    let times = sample(STARTS, || {
        let begun = Instant::now();
        let mut child = desk.ask(&pirn)?;
        let output = child.stdout.take().context("standard output is a pipe")?;
        let (mut stream, asked) = desk.request(&mut child)?;
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
        )?;
        let said = Instant::now();
        stream.write_all(event(Api::OpenAiCompletions, "word").as_bytes())?;
        stream.flush()?;
        let mut lines = BufReader::new(output).lines();
        for line in lines.by_ref() {
            if line?.contains("\"word\"") {
                delays.push(said.elapsed().as_secs_f64() * 1e3);
                break;
            }
        }
        stream.write_all(end(Api::OpenAiCompletions).as_bytes())?;
        drop(stream);
        for line in lines {
            line?;
        }
        let (succeeded, peak_bytes) = wait_with_peak(&child)?;
        if !succeeded {
            bail!("{} -p failed", pirn.display());
        }
        #[expect(clippy::cast_precision_loss, reason = "megabytes with two decimals")]
        peaks.push(peak_bytes as f64 / 1e6);
        Ok(asked.duration_since(begun).as_secs_f64() * 1e3)
    })?;
    report.add("agent.start_ms", "ms", 30.0, &times);
    report.add("agent.start_mb", "MB", 30.0, &Samples::new(peaks));
    report.add("agent.event_ms", "ms", 5.0, &Samples::new(delays));
    Ok(())
}

/// A piece of text as it comes over the wire.
fn event(api: Api, text: &str) -> String {
    match api {
        Api::AnthropicMessages => {
            let data = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
            format!("event: content_block_delta\ndata: {data}\n\n")
        }
        Api::OpenAiResponses => {
            let data = json!({"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0, "delta": text});
            format!("event: response.output_text.delta\ndata: {data}\n\n")
        }
        Api::OpenAiCompletions => {
            let data = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
                "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
            format!("data: {data}\n\n")
        }
        Api::GoogleGenerativeAi => {
            let data = json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}],
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12}, "modelVersion": "scripted", "responseId": "r1"});
            format!("data: {data}\n\n")
        }
    }
}

/// What stands before the first piece.
fn beginning(api: Api) -> String {
    let events: &[Value] = &match api {
        Api::AnthropicMessages => vec![
            json!({"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "model": "scripted",
                "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ],
        Api::OpenAiResponses => vec![
            json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress", "output": []}}),
            json!({"type": "response.output_item.added", "output_index": 0,
                "item": {"type": "message", "id": "m1", "role": "assistant", "status": "in_progress", "content": []}}),
            json!({"type": "response.content_part.added", "item_id": "m1", "output_index": 0, "content_index": 0,
                "part": {"type": "output_text", "text": ""}}),
        ],
        Api::OpenAiCompletions | Api::GoogleGenerativeAi => Vec::new(),
    };
    events.iter().fold(String::new(), |wire, data| {
        wire + &format!("data: {data}\n\n")
    })
}

fn end(api: Api) -> String {
    let data = match api {
        Api::OpenAiCompletions => {
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 2}})
        }
        Api::AnthropicMessages => {
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}})
        }
        Api::OpenAiResponses => {
            json!({"type": "response.completed", "response": {"id": "r1", "status": "completed", "usage": {"input_tokens": 10, "output_tokens": 2}}})
        }
        Api::GoogleGenerativeAi => {
            json!({"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP", "index": 0}]})
        }
    };
    format!("data: {data}\n\n")
}

/// Milliseconds for a megabyte of a streamed reply, whose events are taken as they come.
fn decoding(api: Api) -> Result<Samples> {
    let mut wire = beginning(api);
    for _ in 0..PIECES {
        wire.push_str(&event(api, " a few words of an answer"));
    }
    let model = Model::new("bench", "scripted", api, "");
    #[expect(clippy::cast_precision_loss, reason = "some megabytes")]
    let megabytes = wire.len() as f64 / 1e6;
    sample(5, || {
        let begun = Instant::now();
        let mut decoder = ReplyDecoder::new(&model, ThinkingLevel::Off, 1);
        let mut events = 0;
        for chunk in wire.as_bytes().chunks(CHUNK_BYTES) {
            decoder.push(chunk);
            events += black_box(decoder.take_events()).len();
        }
        black_box(decoder.finish(StreamEnd::Closed));
        if events < PIECES {
            bail!("{events} events of {PIECES} pieces");
        }
        Ok(begun.elapsed().as_secs_f64() * 1e3 / megabytes)
    })
}

/// A session of a thousand turns, each with a call.
fn session(report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut session = Session::create(NewSession {
        cwd: folder.path().to_owned(),
        sessions: Some(folder.path().join("sessions")),
        ..NewSession::default()
    })?;
    for turn in 0..TURNS {
        for message in turn_messages(turn)? {
            session.append_message(message)?;
        }
    }
    let path = session.path().context("the session is on disk")?.to_owned();
    drop(session);
    let opened = sample(10, || {
        let begun = Instant::now();
        black_box(Session::open(&path)?);
        anyhow::Ok(begun.elapsed().as_secs_f64() * 1e3)
    })?;
    report.add("session.open_ms", "ms", 150.0, &opened);
    let session = Session::open(&path)?;
    let contexts = sample(50, || {
        let begun = Instant::now();
        black_box(session.tree().context());
        anyhow::Ok(begun.elapsed().as_secs_f64() * 1e3)
    })?;
    report.add("session.context_ms", "ms", 5.0, &contexts);
    Ok(())
}

/// A question, a call with its result of a kilobyte, and the answer.
fn turn_messages(turn: usize) -> Result<[Message; 4]> {
    let assistant = |content: Value, reason: &str| {
        serde_json::from_value(
            json!({"role": "assistant", "api": "openai-completions", "provider": "bench",
            "model": "scripted", "stopReason": reason, "timestamp": 1, "content": content,
            "usage": {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 12,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}}),
        )
    };
    let id = format!("call_{turn}");
    Ok([
        Message::User(UserMessage::text(format!("What is in file {turn}?"), 1)),
        assistant(
            json!([{"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "file"}}]),
            "toolUse",
        )?,
        serde_json::from_value(
            json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "isError": false,
            "timestamp": 1, "content": [{"type": "text", "text": "some text of a file\n".repeat(50)}]}),
        )?,
        assistant(
            json!([{"type": "text", "text": "There are fifty lines of the same."}]),
            "stop",
        )?,
    ])
}
