//! `searchTools`, `describeTool` and `describeNamespace`: how a script finds out what it can call.

use std::collections::BTreeMap;

use pirn_tool::{Namespace, Tool, search_tools, to_identifier};
use pirn_vm::JsonText;
use serde_json::{Value, json};

use crate::catalog::describe_tool;
use crate::host::CallEnd;

/// The names of the global functions that find tools.
pub(crate) const GLOBALS: [&str; 3] = ["searchTools", "describeTool", "describeNamespace"];
/// Matches a search gives unless asked for another number.
const SEARCH_LIMIT_DEFAULT: usize = 8;

/// The tools of a script, with their identifiers.
pub(crate) struct Discovery {
    tools: Vec<Tool>,
    identifiers: BTreeMap<String, String>,
    /// Where each tool stands, by name; looked up at every call.
    indices: BTreeMap<String, usize>,
}

impl Discovery {
    pub(crate) fn new(tools: Vec<Tool>, identifiers: BTreeMap<String, String>) -> Self {
        let indices = tools
            .iter()
            .enumerate()
            .map(|(index, tool)| (tool.spec().name.clone(), index))
            .collect();
        Self {
            tools,
            identifiers,
            indices,
        }
    }

    /// A tool by its own name, with its identifier.
    pub(crate) fn tool(&self, name: &str) -> Option<(Tool, String)> {
        let tool = self.tools.get(*self.indices.get(name)?)?;
        Some((tool.clone(), self.identifier(tool).to_owned()))
    }

    fn identifier<'a>(&'a self, tool: &'a Tool) -> &'a str {
        let name = &tool.spec().name;
        self.identifiers.get(name).map_or(name, String::as_str)
    }

    /// Answers a call of one of the functions. `arguments` is the list of all arguments.
    pub(crate) fn answer(&self, function: &str, arguments: Option<&JsonText>) -> CallEnd {
        let arguments = arguments
            .and_then(|json| json.parse().ok())
            .unwrap_or_default();
        let argument = |index: usize| arguments.get(index).unwrap_or(&Value::Null);
        let answer = match function {
            "searchTools" => self.search(argument(0), argument(1)),
            "describeTool" => {
                name_argument("describeTool", argument(0)).map(|name| self.describe_tool(name))
            }
            "describeNamespace" => name_argument("describeNamespace", argument(0))
                .map(|name| self.describe_namespace(name)),
            _ => Err(format!("{function} does not exist")),
        };
        match answer {
            Ok(value) => CallEnd::ok(value.map(|value| JsonText::from_value(&value))),
            Err(message) => CallEnd::error(message),
        }
    }

    fn search(&self, query: &Value, options: &Value) -> Result<Option<Value>, String> {
        let usage = |what: &str| format!("searchTools(query, {{limit, namespace}}): {what}");
        let query = query
            .as_str()
            .ok_or_else(|| usage("the query must be a string"))?;
        let limit = match options.get("limit") {
            None | Some(Value::Null) => SEARCH_LIMIT_DEFAULT,
            Some(limit) => positive_integer(limit)
                .ok_or_else(|| usage("the limit must be a positive integer"))?,
        };
        let namespace = match options.get("namespace") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name.as_str()),
            Some(_) => return Err(usage("the namespace must be a string")),
        };
        let found: Vec<Value> = search_tools(&self.tools, query, namespace, limit)
            .into_iter()
            .filter_map(|ranked| self.tools.get(ranked.index))
            .map(|tool| {
                let identifier = self.identifier(tool).to_owned();
                json!({"name": identifier, "description": describe_tool(tool.spec(), &identifier)})
            })
            .collect();
        Ok(Some(Value::Array(found)))
    }

    fn describe_tool(&self, name: &str) -> Option<Value> {
        let by_name = self
            .indices
            .get(name)
            .and_then(|index| self.tools.get(*index));
        let tool =
            by_name.or_else(|| self.tools.iter().find(|tool| self.identifier(tool) == name))?;
        Some(Value::String(describe_tool(
            tool.spec(),
            self.identifier(tool),
        )))
    }

    fn describe_namespace(&self, name: &str) -> Option<Value> {
        let wanted = to_identifier(name);
        let is_wanted = |namespace: &Namespace| {
            std::iter::once(&namespace.name)
                .chain(&namespace.aliases)
                .any(|known| to_identifier(known) == wanted)
        };
        let members: Vec<&Tool> = self
            .tools
            .iter()
            .filter(|tool| tool.spec().namespace.as_deref().is_some_and(is_wanted))
            .collect();
        let namespace = members.first()?.spec().namespace.as_deref()?;
        let mut description = serde_json::Map::new();
        description.insert("name".into(), json!(namespace.name));
        for (key, text) in [
            ("description", &namespace.description),
            ("instructions", &namespace.instructions),
        ] {
            if let Some(text) = text {
                description.insert(key.into(), json!(text));
            }
        }
        let tools: Vec<&str> = members.iter().map(|tool| self.identifier(tool)).collect();
        description.insert("tools".into(), json!(tools));
        Some(Value::Object(description))
    }
}

fn name_argument<'a>(function: &str, argument: &'a Value) -> Result<&'a str, String> {
    argument
        .as_str()
        .ok_or_else(|| format!("{function}(name): the name must be a string"))
}

fn positive_integer(value: &Value) -> Option<usize> {
    match value.as_u64() {
        Some(number) => usize::try_from(number).ok().filter(|number| *number >= 1),
        // A whole number that is no integer to the parser is larger than any number of tools.
        None => value
            .as_f64()
            .filter(|number| number.fract() == 0.0 && *number >= 1.0)
            .map(|_| usize::MAX),
    }
}
