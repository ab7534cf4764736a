//! A fake server as a process.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;

use crate::channel::Channel;
use crate::log::{Log, Seen};
use crate::play::Player;
use crate::script::{Script, Termination};
use crate::text::Names;

/// Plays `script` over this process's standard input and output, and writes what comes in to `log`. Returns when the process
/// is to end; needs a tokio runtime.
pub async fn serve_stdio(script: Script, log: &Path) -> io::Result<()> {
    let _deaf = deafness(script.termination)?;
    let player = Arc::new(Player::new(script, Log::in_file(log)?, Names::default()));
    let output = Arc::new(Mutex::new(tokio::io::stdout()));
    let nothing = Seen::message(Value::Null);
    let greeting = player.script.greeting.clone();
    player
        .play(&mut Channel::Pipe(Arc::clone(&output)), &nothing, &greeting)
        .await?;
    let mut input = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    let mut received = 0;
    while input.read_until(b'\n', &mut line).await? > 0 {
        receive(&player, &output, &line);
        line.clear();
        received += 1;
        if player.script.deaf_after == Some(received) {
            return std::future::pending().await;
        }
    }
    match player.script.termination {
        Termination::WithInput => Ok(()),
        Termination::IgnoresEnd | Termination::IgnoresEverything => std::future::pending().await,
    }
}

fn receive(player: &Arc<Player>, output: &Arc<Mutex<tokio::io::Stdout>>, line: &[u8]) {
    let message = serde_json::from_slice(line)
        .unwrap_or_else(|_| String::from_utf8_lossy(line).into_owned().into());
    let seen = Seen::message(message);
    player.log.push(seen.clone());
    let acts = match player.rule_for_message(&seen) {
        Some(acts) => acts,
        None => player.usual(&seen),
    };
    let player = Arc::clone(player);
    let mut channel = Channel::Pipe(Arc::clone(output));
    // Ends with the process.
    tokio::spawn(async move {
        // A client that does not read any more is no concern of the server's.
        let _gone = player.play(&mut channel, &seen, &acts).await;
    });
}

/// Takes the signals that ask a process to end, and does nothing about them.
fn deafness(termination: Termination) -> io::Result<Vec<Signal>> {
    match termination {
        Termination::WithInput | Termination::IgnoresEnd => Ok(Vec::new()),
        Termination::IgnoresEverything => [
            SignalKind::terminate(),
            SignalKind::interrupt(),
            SignalKind::hangup(),
        ]
        .into_iter()
        .map(signal)
        .collect(),
    }
}
