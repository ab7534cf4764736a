//! What each command does.

use crate::{
    AgentError, CommandAudience, Disposition, ModelChoice, QueueMode, RetryOptions, WhileBusy,
};
use pirn_model::{Block, ThinkingLevel, UserContent, UserMessage};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Ended, RPC_COMMANDS, RpcError, RpcServer, answer, session, state};
use crate::session_page;

/// What a command gives: data, nothing, or why it failed.
pub(super) type Outcome = Result<Option<Value>, String>;

impl RpcServer {
    /// Carries a command out, or begins to: what takes time goes on in `work`.
    pub(super) fn command(
        &self,
        command: Value,
        work: &mut JoinSet<Ended>,
    ) -> Result<(), RpcError> {
        let Some(name) = command["type"].as_str() else {
            let why = "a command is an object with a type";
            return self.write(&answer::failed(command.get("id"), "parse", why));
        };
        if !RPC_COMMANDS.contains(&name) {
            let why = format!("Unknown command: {name}");
            return self.write(&answer::failed(command.get("id"), name, &why));
        }
        let agent = self.agent.clone();
        match name {
            "abort" => {
                agent.abort();
                work.spawn(async move {
                    agent.settled().await;
                    Ended::new(command, Ok(None))
                });
                Ok(())
            }
            "export_html" => {
                let cwd = self.cwd.clone();
                work.spawn(async move {
                    let name = command["outputPath"].as_str().map(str::to_owned);
                    let written = tokio::task::spawn_blocking(move || {
                        session_page::write_session_page(&agent, &cwd, name.as_deref())
                    });
                    let outcome = match written.await {
                        Ok(outcome) => outcome.map(|path| Some(json!({"path": path}))),
                        Err(error) => Err(error.to_string()),
                    };
                    Ended::new(command, outcome)
                });
                Ok(())
            }
            "compact" => {
                work.spawn(async move {
                    let focus = command["customInstructions"].as_str().map(str::to_owned);
                    let outcome = agent.compact(focus).await;
                    let told = outcome
                        .map(|report| Some(json!(report)))
                        .map_err(|error| error.to_string());
                    Ended::new(command, told)
                });
                Ok(())
            }
            "bash" => {
                work.spawn(async move {
                    let audience = if command["excludeFromContext"] == true {
                        CommandAudience::User
                    } else {
                        CommandAudience::Model
                    };
                    let line = command["command"].as_str().unwrap_or_default();
                    let told = agent.run_command(line, audience).await.map(|run| {
                        Some(json!({
                            "output": run.output, "exitCode": run.exit_code, "cancelled": run.cancelled,
                            "truncated": run.truncated, "fullOutputPath": run.full_output_path,
                        }))
                    });
                    Ended::new(command, told.map_err(|error| error.to_string()))
                });
                Ok(())
            }
            "get_available_models" => {
                work.spawn(async move {
                    let models = agent.available_models().await;
                    Ended::new(command, Ok(Some(json!({"models": models}))))
                });
                Ok(())
            }
            "set_model" => {
                work.spawn(async move {
                    let outcome = set_model(&agent, &command).await;
                    Ended::new(command, outcome)
                });
                Ok(())
            }
            "cycle_model" => {
                work.spawn(async move {
                    let outcome = cycle_model(&agent).await;
                    Ended::new(command, outcome)
                });
                Ok(())
            }
            name => {
                let outcome = self.at_once(name, &command);
                self.write(&answer::told(&command, outcome))
            }
        }
    }

    /// Commands that take no time.
    fn at_once(&self, name: &str, command: &Value) -> Outcome {
        let agent = &self.agent;
        match name {
            "prompt" => self.prompt(command),
            "steer" => queued(agent.steer(message(command)?)),
            "follow_up" => queued(agent.follow_up(message(command)?)),
            "abort_bash" => {
                agent.abort_command();
                Ok(None)
            }
            "abort_retry" => {
                agent.abort();
                Ok(None)
            }
            "clear_queue" => {
                let (steering, follow_up) = agent.clear_queue();
                let texts = |messages: Vec<UserMessage>| -> Vec<String> {
                    messages
                        .iter()
                        .map(|message| message.content.joined_text())
                        .collect()
                };
                Ok(Some(
                    json!({"steering": texts(steering), "followUp": texts(follow_up)}),
                ))
            }
            "set_thinking_level" => {
                let level = word(command, "level")?;
                let level = ThinkingLevel::from_name(level)
                    .ok_or_else(|| format!("there is no level `{level}`"))?;
                agent
                    .set_thinking_level(level)
                    .map_err(|error| error.to_string())?;
                Ok(None)
            }
            "cycle_thinking_level" => cycle_level(agent),
            "get_available_thinking_levels" => Ok(Some(json!({"levels": levels(&agent.model())}))),
            "set_steering_mode" => {
                agent.set_steering_mode(mode(command)?);
                Ok(None)
            }
            "set_follow_up_mode" => {
                agent.set_follow_up_mode(mode(command)?);
                Ok(None)
            }
            "set_auto_compaction" => {
                let is_on = switch(command)?;
                agent.change_options(|options| options.compaction.is_automatic = is_on);
                Ok(None)
            }
            "set_auto_retry" => {
                let retries_max = if switch(command)? {
                    RetryOptions::default().retries_max
                } else {
                    0
                };
                agent.change_options(|options| options.machine.retry.retries_max = retries_max);
                Ok(None)
            }
            "set_session_name" => {
                let name = word(command, "name")?.trim();
                if name.is_empty() {
                    return Err("a name is not empty".to_owned());
                }
                agent
                    .set_session_name(Some(name.to_owned()))
                    .map_err(|error| error.to_string())?;
                Ok(None)
            }
            name => match state::look(agent, name, command) {
                Some(outcome) => outcome,
                None => session::change(self, name, command)
                    .unwrap_or_else(|| Err(format!("Unknown command: {name}"))),
            },
        }
    }

    fn prompt(&self, command: &Value) -> Outcome {
        let while_busy = match command["streamingBehavior"].as_str() {
            None => WhileBusy::Refuse,
            Some("steer") => WhileBusy::Steer,
            Some("followUp") => WhileBusy::FollowUp,
            Some(other) => {
                return Err(format!(
                    "streamingBehavior is steer or followUp, not `{other}`"
                ));
            }
        };
        match self.agent.prompt(message(command)?, while_busy) {
            Ok(disposition) => Ok(Some(told(disposition))),
            Err(AgentError::Busy) => Err(
                "the model is at work: say with streamingBehavior whether to steer it or to let the message follow"
                    .to_owned(),
            ),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn told(disposition: Disposition) -> Value {
    let word = match disposition {
        Disposition::Started => "started",
        Disposition::Queued => "queued",
    };
    json!({"disposition": word})
}

fn queued(outcome: Result<Disposition, AgentError>) -> Outcome {
    outcome
        .map(|disposition| Some(told(disposition)))
        .map_err(|error| error.to_string())
}

/// The message of a command, with its pictures.
fn message(command: &Value) -> Result<UserMessage, String> {
    let mut said = UserMessage::text(word(command, "message")?, pirn_session::now_ms());
    let images = command["images"].as_array().map_or(&[][..], Vec::as_slice);
    if !images.is_empty() {
        let mut blocks = said.content.to_blocks();
        for image in images {
            let block: Block = serde_json::from_value(image.clone())
                .map_err(|error| format!("an image has type, data and mimeType: {error}"))?;
            blocks.push(block);
        }
        said.content = UserContent::Blocks(blocks);
    }
    Ok(said)
}

pub(super) fn word<'a>(command: &'a Value, key: &str) -> Result<&'a str, String> {
    command[key]
        .as_str()
        .ok_or_else(|| format!("`{key}` is missing, or is not a string"))
}

fn switch(command: &Value) -> Result<bool, String> {
    command["enabled"]
        .as_bool()
        .ok_or_else(|| "`enabled` is missing, or is not true or false".to_owned())
}

fn mode(command: &Value) -> Result<QueueMode, String> {
    match word(command, "mode")? {
        "all" => Ok(QueueMode::All),
        "one-at-a-time" => Ok(QueueMode::OneAtATime),
        other => Err(format!("mode is all or one-at-a-time, not `{other}`")),
    }
}

async fn set_model(agent: &crate::Agent, command: &Value) -> Outcome {
    let (provider, id) = (word(command, "provider")?, word(command, "modelId")?);
    let models = agent.available_models().await;
    let model = models
        .into_iter()
        .find(|model| model.provider == provider && model.id == id)
        .ok_or_else(|| format!("there is no model {provider}/{id} that can be asked"))?;
    let choice = ModelChoice::new(model.clone(), agent.model().thinking);
    agent.set_model(choice).map_err(|error| error.to_string())?;
    Ok(Some(json!(model)))
}

async fn cycle_model(agent: &crate::Agent) -> Outcome {
    let models = agent.available_models().await;
    let now = agent.model();
    let place = models
        .iter()
        .position(|model| model.provider == now.model.provider && model.id == now.model.id);
    let next = match place {
        Some(place) => models.get(place + 1).or_else(|| models.first()),
        None => models.first(),
    };
    let Some(next) = next.filter(|next| **next != now.model) else {
        return Ok(Some(Value::Null));
    };
    let choice = ModelChoice::new(next.clone(), now.thinking);
    let told = json!({"model": next, "thinkingLevel": choice.thinking, "isScoped": false});
    agent.set_model(choice).map_err(|error| error.to_string())?;
    Ok(Some(told))
}

/// The levels that a model has.
fn levels(choice: &ModelChoice) -> Vec<ThinkingLevel> {
    ThinkingLevel::ALL
        .into_iter()
        .filter(|level| choice.model.clamp(*level) == *level)
        .collect()
}

fn cycle_level(agent: &crate::Agent) -> Outcome {
    let choice = agent.model();
    let levels = levels(&choice);
    let place = levels.iter().position(|level| *level == choice.thinking);
    let next = place
        .and_then(|place| levels.get(place + 1))
        .or_else(|| levels.first());
    match next.filter(|next| **next != choice.thinking) {
        Some(next) => {
            let level = agent
                .set_thinking_level(*next)
                .map_err(|error| error.to_string())?;
            Ok(Some(json!({"level": level})))
        }
        None => Ok(Some(Value::Null)),
    }
}
