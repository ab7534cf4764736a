//! Twelve real servers: connecting all of them at once, against the slowest of them when the same twelve are started at once
//! by hand. On a machine with fewer cores than servers the slowest one alone would say more about the cores.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use pirn_codemode::ExecTool;
use pirn_mcp::{ServerSelection, ServerState};
use pirn_vm::{EngineOptions, VmEngine};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Servers, peers_folder, raw_server, surface};
use crate::Options;
use crate::report::Report;
use crate::stats::Samples;

/// Rounds; each starts every server twice.
const ROUNDS: usize = 5;

pub(super) async fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants("mcp.connect") {
        return Ok(());
    }
    let folder = peers_folder();
    if !folder.join("node_modules").is_dir() {
        report.note("mcp.connect: left out; `make peers` installs the servers");
        return Ok(());
    }
    let folder = folder.canonicalize()?;
    let scratch = tempfile::tempdir()?;
    let servers = fleet(&folder, scratch.path());
    let mut by_hand = Vec::new();
    let mut together = Vec::new();
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let hand_ms = raw_server::slowest(&servers)?;
        let (fleet, all_ms) = connect(&Value::Object(servers.clone())).await?;
        if round == 0 {
            let engine = VmEngine::new(EngineOptions::default())?;
            surface::measure(&fleet, ExecTool::new(engine), report);
        }
        fleet.manager.shutdown().await;
        by_hand.push(hand_ms);
        together.push(all_ms);
        ratios.push(all_ms / hand_ms);
    }
    report.add("mcp.connect_ratio", "x", 1.3, &Samples::new(ratios));
    report.add_plain("mcp.connect_all", "ms", &Samples::new(together));
    report.add_plain("mcp.connect_by_hand", "ms", &Samples::new(by_hand));
    Ok(())
}

/// Connects all of them and lists their tools; milliseconds.
async fn connect(servers: &Value) -> Result<(Servers, f64)> {
    let servers = Servers::configured(servers)?;
    let at = Instant::now();
    servers.manager.start();
    servers
        .manager
        .wait_for(ServerSelection::All, &CancellationToken::new())
        .await;
    let milliseconds = at.elapsed().as_secs_f64() * 1e3;
    for status in servers.manager.servers() {
        if status.state != ServerState::Connected {
            bail!(
                "{} is {}: {:?} {}",
                status.name,
                status.state.as_str(),
                status.problem,
                status.stderr_tail
            );
        }
    }
    Ok((servers, milliseconds))
}

/// The servers of `make peers` that start without a network.
fn fleet(folder: &Path, scratch: &Path) -> Map<String, Value> {
    let node = folder.join("node_modules/node/bin/node");
    let script = |path: &str, args: &[&str]| {
        let mut all = vec![json!(folder.join("node_modules").join(path))];
        all.extend(args.iter().map(|argument| json!(argument)));
        json!({"command": node, "args": all})
    };
    let python = |path: &str, args: &[&str]| json!({"command": folder.join(path), "args": args});
    let scratch = scratch.to_string_lossy();
    let mut servers = Map::new();
    let mut add = |name: &str, entry: Value| servers.insert(name.to_owned(), entry);
    add(
        "everything",
        script("@modelcontextprotocol/server-everything/dist/index.js", &[]),
    );
    add(
        "filesystem",
        script(
            "@modelcontextprotocol/server-filesystem/dist/index.js",
            &[&scratch],
        ),
    );
    add(
        "memory",
        script("@modelcontextprotocol/server-memory/dist/index.js", &[]),
    );
    add(
        "thinking",
        script(
            "@modelcontextprotocol/server-sequential-thinking/dist/index.js",
            &[],
        ),
    );
    add("playwright", script("@playwright/mcp/cli.js", &[]));
    add(
        "devtools",
        script(
            "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js",
            &[],
        ),
    );
    add(
        "context7",
        script("@upstash/context7-mcp/dist/index.js", &[]),
    );
    add(
        "github",
        script("@modelcontextprotocol/server-github/dist/index.js", &[]),
    );
    add("git", python("python/bin/mcp-server-git", &[]));
    add("fetch", python("python/bin/mcp-server-fetch", &[]));
    add("time", python("python/bin/mcp-server-time", &[]));
    add(
        "sqlite",
        python(
            "python-old/bin/mcp-server-sqlite",
            &["--db-path", &format!("{scratch}/notes.db")],
        ),
    );
    servers
}
