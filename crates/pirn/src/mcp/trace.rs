//! `pirn mcp trace`: what went over the wire, for people.

use pirn_mcp::{TraceDirection, TraceLine, read_trace};
use pirn_runtime::trace_file;
use serde_json::Value;

use super::TraceArguments;
use crate::failure::{Exit, Failure};
use crate::invocation::{Invocation, Stream};
use crate::standard;
use pirn_terminal::{cut, on_one_line};

/// Columns of one message on a terminal; files and pipes get it whole.
const MESSAGE_COLUMNS: usize = 2_000;

pub(super) fn run(arguments: &TraceArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let path = trace_file(&arguments.name, &invocation.host).ok_or_else(|| {
        Failure::usage("there is no home folder, so no trace").hint("set HOME or PIRN_HOME")
    })?;
    if arguments.path {
        standard::write_out(&format!("{}\n", path.display()))?;
        return Ok(Exit::Success);
    }
    let lines = read_trace(&path).map_err(|error| {
        let failure = Failure::from(anyhow::Error::from(error).context(format!(
            "there is no trace of `{}`: {} cannot be read",
            on_one_line(&arguments.name),
            path.display()
        )));
        failure.hint(
            "`pirn mcp` writes a trace when it connects; other commands do where PIRN_MCP_TRACE is set",
        )
    })?;
    let columns = match invocation.stdout {
        Stream::Terminal => MESSAGE_COLUMNS,
        Stream::Other => usize::MAX,
    };
    for line in lines {
        standard::write_out(&shown(&line, columns))?;
    }
    Ok(Exit::Success)
}

/// A line of the trace: when, which way and what about, then the message.
fn shown(line: &TraceLine, columns: usize) -> String {
    let arrow = match line.direction {
        TraceDirection::Sent => "→",
        TraceDirection::Received => "←",
        _ => "·",
    };
    let mut head: Vec<String> = vec![line.time.clone(), arrow.to_owned()];
    head.extend(line.message.as_ref().map(topic));
    head.extend(
        line.text
            .as_ref()
            .map(|remark| cut(&on_one_line(remark), columns)),
    );
    head.extend(line.bytes.map(|bytes| format!("({bytes} bytes in all)")));
    let mut text = head.join(" ");
    for (word, message) in [("", &line.message), ("repaired: ", &line.repaired)] {
        if let Some(message) = message {
            let message = on_one_line(&message.to_string());
            text.push_str("\n  ");
            text.push_str(word);
            text.push_str(&cut(&message, columns));
        }
    }
    text.push('\n');
    text
}

/// The method and id of a message, as far as it has them.
fn topic(message: &Value) -> String {
    let id = match &message["id"] {
        Value::Null => String::new(),
        id => format!(" #{}", on_one_line(&id.to_string())),
    };
    let what = match (message["method"].as_str(), message.get("error")) {
        (Some(method), _) => on_one_line(method),
        (None, Some(_)) => "error".to_owned(),
        (None, None) => "result".to_owned(),
    };
    format!("{what}{id}")
}
