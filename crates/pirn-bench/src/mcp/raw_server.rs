//! Servers spoken to by hand: lines written to a child and read from it, nothing else.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

/// A server that is spoken to without a client, one line for each message.
pub(super) struct RawServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl RawServer {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{command:?}"))?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Self {
            child,
            input,
            output,
            line: String::new(),
        })
    }

    /// Sends a request and reads lines until its result.
    pub(super) fn ask(&mut self, id: usize, method: &str, params: &Value) -> Result<()> {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.input, "{request}")?;
        loop {
            self.line.clear();
            if self.output.read_line(&mut self.line)? == 0 {
                bail!("the server ended before it answered {method}");
            }
            let Ok(answer) = serde_json::from_str::<Value>(&self.line) else {
                continue;
            };
            if answer.get("id") == Some(&json!(id)) && answer.get("method").is_none() {
                if answer.get("result").is_none() {
                    bail!("the server refused {method}: {}", self.line);
                }
                return Ok(());
            }
        }
    }

    /// The handshake and the list of tools.
    fn connect(&mut self) -> Result<()> {
        self.ask(
            1,
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "hand", "version": "1"},
            }),
        )?;
        writeln!(
            self.input,
            "{}",
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
        )?;
        self.ask(2, "tools/list", &json!({}))
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Starts all servers at once, each from a thread of its own, and says how long the slowest took to list its tools, in
/// milliseconds.
pub(super) fn slowest(servers: &Map<String, Value>) -> Result<f64> {
    let threads: Vec<_> = servers
        .values()
        .map(|entry| {
            let mut command = Command::new(entry["command"].as_str().unwrap_or_default());
            for argument in entry["args"].as_array().into_iter().flatten() {
                command.arg(argument.as_str().unwrap_or_default());
            }
            std::thread::spawn(move || -> Result<(f64, RawServer)> {
                let at = Instant::now();
                let mut server = RawServer::start(&mut command)?;
                server.connect()?;
                Ok((at.elapsed().as_secs_f64() * 1e3, server))
            })
        })
        .collect();
    let mut slowest: f64 = 0.0;
    let mut alive = Vec::new();
    for thread in threads {
        let (milliseconds, server) = thread
            .join()
            .map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        slowest = slowest.max(milliseconds);
        alive.push(server);
    }
    Ok(slowest)
}
