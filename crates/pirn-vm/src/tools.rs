//! The tools of a script, which the guest asks for as it needs them: a script that uses two of three thousand pays for two.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

/// The members of `tools` and the list `ALL_TOOLS`. Cheap to clone; made once for all scripts that have the same tools.
#[derive(Clone, Default)]
pub struct ToolTable(Arc<Table>);

/// A member of `tools`.
#[derive(Debug, Clone)]
pub struct ToolBinding {
    /// The tool's own name; works in brackets.
    pub name: String,
    /// The member's name; `None` for a tool whose identifier another tool has.
    pub identifier: Option<String>,
    /// What `ALL_TOOLS` says about it.
    pub description: ToolDescription,
    /// What is known of its schemas; `None` for a plain function, which takes no `BigInt`.
    pub shape: Option<ToolShape>,
}

/// What `ALL_TOOLS` says about a tool.
#[derive(Clone)]
pub enum ToolDescription {
    /// A text that is there already.
    Text(String),
    /// A text that is made when a script looks at the list.
    Made(Arc<dyn Fn() -> String + Send + Sync>),
}

/// What a script may rely on about a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ToolShape {
    /// The members that its result may have; reading others is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Vec<String>>,
    /// For a result that is a list, the members that its elements may have; none for a list of texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<Vec<String>>,
}

#[derive(Default)]
struct Table {
    tools: Vec<ToolBinding>,
    /// The members in their order, with the index of each one's tool.
    members: Vec<(String, usize)>,
    by_member: HashMap<String, usize>,
    list: OnceLock<String>,
}

/// Own name, identifier; then the shape, unless the tool is a plain function.
#[derive(Serialize)]
#[serde(untagged)]
enum Found<'a> {
    Plain(&'a str, Option<&'a str>),
    Shaped(&'a str, Option<&'a str>, &'a ToolShape),
}

/// The same after the member's name.
#[derive(Serialize)]
#[serde(untagged)]
enum Member<'a> {
    Plain(&'a str, &'a str, Option<&'a str>),
    Shaped(&'a str, &'a str, Option<&'a str>, &'a ToolShape),
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    description: String,
}

impl ToolTable {
    /// A table of these tools, in the order of `ALL_TOOLS`.
    pub fn new(tools: impl IntoIterator<Item = ToolBinding>) -> Self {
        let mut table = Table {
            tools: tools.into_iter().collect(),
            ..Table::default()
        };
        for (index, tool) in table.tools.iter().enumerate() {
            let identifier = tool.identifier.as_deref();
            // A tool whose identifier another tool has is reached by its own name alone.
            for member in identifier.into_iter().chain([tool.name.as_str()]) {
                if !table.by_member.contains_key(member) {
                    table.by_member.insert(member.to_owned(), index);
                    table.members.push((member.to_owned(), index));
                }
            }
        }
        Self(Arc::new(table))
    }

    /// The tools, in the order of `ALL_TOOLS`.
    pub fn tools(&self) -> &[ToolBinding] {
        &self.0.tools
    }

    /// What the prelude makes the member of this name from; `None` where there is none.
    pub(crate) fn find(&self, member: &str) -> Option<String> {
        let tool = self.0.tools.get(*self.0.by_member.get(member)?)?;
        let (name, identifier) = (tool.name.as_str(), tool.identifier.as_deref());
        Some(json(&match &tool.shape {
            None => Found::Plain(name, identifier),
            Some(shape) => Found::Shaped(name, identifier, shape),
        }))
    }

    /// What the prelude makes all members from.
    pub(crate) fn members(&self) -> String {
        let members: Vec<Member<'_>> = self
            .0
            .members
            .iter()
            .filter_map(|(member, index)| {
                let tool = self.0.tools.get(*index)?;
                let (name, identifier) = (tool.name.as_str(), tool.identifier.as_deref());
                Some(match &tool.shape {
                    None => Member::Plain(member, name, identifier),
                    Some(shape) => Member::Shaped(member, name, identifier, shape),
                })
            })
            .collect();
        json(&members)
    }

    pub(crate) fn list(&self) -> &str {
        self.0.list.get_or_init(|| {
            let listed: Vec<Listed<'_>> = self
                .0
                .tools
                .iter()
                .filter_map(|tool| {
                    Some(Listed {
                        name: tool.identifier.as_deref()?,
                        description: tool.description.text(),
                    })
                })
                .collect();
            json(&listed)
        })
    }
}

impl ToolDescription {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Made(make) => make(),
        }
    }
}

impl From<String> for ToolDescription {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolDescription {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Debug for ToolTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ToolTable")
            .field("tools", &self.0.tools.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolDescription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(formatter),
            Self::Made(_) => formatter.write_str("Made"),
        }
    }
}

/// Plain data always serialises.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
