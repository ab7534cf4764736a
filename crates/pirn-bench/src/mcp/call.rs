//! One call of a tool that does nothing: through pipeline, client and pipes, against the same bytes by hand.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};
use pirn_mcp::ServerSelection;
use pirn_tool::{CallRequest, Origin, Pipeline};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Servers;
use super::raw_server::RawServer;
use crate::Options;
use crate::report::Report;
use crate::stats::Samples;

const CALLS: usize = 2_000;

pub(super) async fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants("mcp.call") {
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let servers = Servers::configured(&json!({
        "noop": {"command": program, "args": ["serve-noop"]}
    }))?;
    servers.manager.start();
    servers
        .manager
        .wait_for(ServerSelection::All, &CancellationToken::new())
        .await;
    let pipeline = Pipeline::builder(servers.registry.clone()).build();
    let mut hand = RawServer::start(Command::new(&program).arg("serve-noop"))?;
    let arguments = json!({"name": "noop", "arguments": {"value": "some text"}});
    let mut through = Vec::with_capacity(CALLS);
    let mut by_hand = Vec::with_capacity(CALLS);
    let mut extra = Vec::with_capacity(CALLS);
    for number in 0..CALLS + CALLS / 10 {
        let at = Instant::now();
        let request = CallRequest::new(
            number.to_string(),
            "mcp__noop__noop",
            json!({"value": "some text"}),
        )
        .origin(Origin::Nested);
        let outcome = pipeline.call(request).await;
        let pipeline_us = at.elapsed().as_secs_f64() * 1e6;
        if outcome.failure.is_some() {
            bail!("the call failed: {}", outcome.result.joined_text());
        }
        let at = Instant::now();
        hand.ask(number, "tools/call", &arguments)?;
        let hand_us = at.elapsed().as_secs_f64() * 1e6;
        // The first ones warm up.
        if number >= CALLS / 10 {
            through.push(pipeline_us);
            by_hand.push(hand_us);
            extra.push(pipeline_us - hand_us);
        }
    }
    servers.manager.shutdown().await;
    report.add("mcp.call_over_hand", "µs", 150.0, &Samples::new(extra));
    report.add_plain("mcp.call", "µs", &Samples::new(through));
    report.add_plain("mcp.call_by_hand", "µs", &Samples::new(by_hand));
    Ok(())
}
