//! What the model is told about its work, and how changes are told.

use pirn_model::{Instructions, Message, SystemMessage, ToolDeclaration, ToolName};
use pirn_tool::PreparedLoadout;
use serde_json::Map;

/// What the model is to know: sections by name, in order, and tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Declarations {
    /// The sections of the system prompt.
    pub sections: Vec<(String, String)>,
    /// The tools that the model can call, with their schemas.
    pub tools: Vec<ToolDeclaration>,
}

impl Declarations {
    /// What the messages say, all together.
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a Message> + Clone) -> Self {
        Self {
            sections: sections(messages.clone()),
            tools: Instructions::of(messages).tools,
        }
    }

    /// The system message that makes what the messages say into this; `None` where they say it already. What is added comes last,
    /// so that the beginning of a request stays as it was.
    pub fn difference<'a>(
        &self,
        messages: impl IntoIterator<Item = &'a Message> + Clone,
        timestamp: u64,
    ) -> Option<SystemMessage> {
        let known = Instructions::of(messages.clone()).tools;
        let known_sections = sections(messages);
        let mut message = SystemMessage {
            timestamp,
            ..SystemMessage::default()
        };
        for (name, text) in &self.sections {
            let is_known = known_sections
                .iter()
                .any(|(known, known_text)| known == name && known_text == text);
            if !is_known {
                message.sections.push((name.clone(), Some(text.clone())));
            }
        }
        for (name, _) in &known_sections {
            if !self.sections.iter().any(|(wanted, _)| wanted == name) {
                message.sections.push((name.clone(), None));
            }
        }
        for tool in &self.tools {
            if !known.contains(tool) {
                message.tools_added.push(tool.clone());
            }
        }
        for tool in &known {
            if !self.tools.iter().any(|wanted| wanted.name == tool.name) {
                let name = tool.name.clone();
                message.tools_removed.push(ToolName { name });
            }
        }
        let is_empty = message.sections.is_empty()
            && message.tools_added.is_empty()
            && message.tools_removed.is_empty();
        (!is_empty).then_some(message)
    }
}

/// The sections that the messages leave, in the order in which they were told first.
fn sections<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for message in messages {
        let Message::System(system) = message else {
            continue;
        };
        for (name, text) in &system.sections {
            let known = sections.iter_mut().find(|(known, _)| known == name);
            match (known, text) {
                (Some((_, known)), Some(text)) => known.clone_from(text),
                (None, Some(text)) => sections.push((name.clone(), text.clone())),
                (_, None) => sections.retain(|(known, _)| known != name),
            }
        }
    }
    sections
}

/// Tools as a model is told about them.
pub fn declared(loadout: &PreparedLoadout) -> Vec<ToolDeclaration> {
    loadout
        .declarations
        .iter()
        .map(|declaration| {
            let spec = declaration.tool.spec();
            ToolDeclaration {
                name: spec.name.clone(),
                description: declaration.description.clone(),
                parameters: spec.input_schema.clone(),
                grammar: spec.grammar.clone(),
                other: Map::new(),
            }
        })
        .collect()
}
