//! What a script may rely on about a tool's result, as far as its schema says.

use pirn_tool::{ToolSpec, closest};
use pirn_vm::ToolShape;
use serde_json::Value;

/// A result's shape, where it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ResultShape {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// A text, or an object with these members.
    Text(Vec<String>),
    /// An object with these members.
    Object(Vec<String>),
    /// A list of texts, or of objects with these members.
    List(Vec<String>),
}

/// Members that models know from elsewhere, and what has the same in a result here.
const ELSEWHERE: [(&str, &[&str]); 15] = [
    ("stdout", &["output"]),
    ("stderr", &["output"]),
    ("code", &["exit_code"]),
    ("exitCode", &["exit_code"]),
    ("status", &["exit_code"]),
    ("returncode", &["exit_code"]),
    ("file", &["path"]),
    ("filename", &["path", "name"]),
    ("match", &["text"]),
    ("content", &["text"]),
    ("lineNumber", &["line"]),
    ("line_number", &["line"]),
    ("isDirectory", &["type"]),
    ("isFile", &["type"]),
    ("mtime", &["modified"]),
];

/// Members of texts that scripts use.
const OF_TEXTS: [&str; 40] = [
    "at",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "constructor",
    "endsWith",
    "includes",
    "indexOf",
    "isWellFormed",
    "lastIndexOf",
    "length",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "repeat",
    "replace",
    "replaceAll",
    "search",
    "slice",
    "split",
    "startsWith",
    "substr",
    "substring",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toLowerCase",
    "toString",
    "toUpperCase",
    "toWellFormed",
    "trim",
    "trimEnd",
    "trimLeft",
    "trimRight",
    "trimStart",
    "valueOf",
    "anchor",
];

/// Names that lists have in JavaScript.
const OF_LISTS: [&str; 42] = [
    "at",
    "concat",
    "constructor",
    "copyWithin",
    "entries",
    "every",
    "fill",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flat",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "keys",
    "lastIndexOf",
    "length",
    "map",
    "pop",
    "push",
    "reduce",
    "reduceRight",
    "reverse",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "toLocaleString",
    "toReversed",
    "toSorted",
    "toSpliced",
    "toString",
    "unshift",
    "values",
    "with",
    "hasOwnProperty",
    "valueOf",
];

/// Members of all objects, and those that may always be asked for.
const OF_OBJECTS: [&str; 10] = [
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "then",
    "toJSON",
    "toLocaleString",
    "toString",
    "valueOf",
    "__proto__",
];

impl ResultShape {
    /// The shape of a tool's result. Tools of servers give whatever their server gives, so nothing is said of those.
    pub(crate) fn of(spec: &ToolSpec) -> Self {
        match &spec.output_schema {
            Some(schema) if spec.namespace.is_none() => Self::of_schema(schema),
            Some(_) | None => Self::Unknown,
        }
    }

    fn of_schema(schema: &Value) -> Self {
        let kind = |schema: &Value| {
            schema
                .get("type")
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let is_text = |schema: &Value| kind(schema).as_deref() == Some("string");
        match kind(schema).as_deref() {
            Some("object") => members(schema).map_or(Self::Unknown, Self::Object),
            Some("array") => match schema.get("items") {
                Some(items) if is_text(items) => Self::List(Vec::new()),
                Some(items) if kind(items).as_deref() == Some("object") => {
                    members(items).map_or(Self::Unknown, Self::List)
                }
                Some(_) | None => Self::Unknown,
            },
            Some("string") => Self::Text(Vec::new()),
            Some(_) => Self::Unknown,
            None => match schema
                .get("anyOf")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
            {
                Some([text, object]) if is_text(text) => {
                    members(object).map_or(Self::Unknown, Self::Text)
                }
                Some(_) | None => Self::Unknown,
            },
        }
    }

    /// What the VM is told of it.
    pub(crate) fn for_vm(&self) -> ToolShape {
        match self {
            Self::Unknown | Self::Text(_) => ToolShape::default(),
            Self::Object(members) => ToolShape {
                result: Some(members.clone()),
                element: None,
            },
            Self::List(members) => ToolShape {
                result: None,
                element: Some(members.clone()),
            },
        }
    }

    /// What is wrong with reading `member` of the result of `tool`; nothing where it may have it.
    pub(crate) fn complaint(&self, tool: &str, member: &str) -> Option<String> {
        let (what, members, known): (&str, &[String], &[&str]) = match self {
            Self::Unknown => return None,
            Self::Text(members) => ("a text", members, &OF_TEXTS),
            Self::Object(members) => ("an object", members, &OF_OBJECTS),
            Self::List(_) => ("a list", &[], &OF_LISTS),
        };
        let has = |name: &str| members.iter().any(|known| known == name);
        if has(member) || known.contains(&member) || OF_OBJECTS.contains(&member) {
            return None;
        }
        let alike = ELSEWHERE.iter().find(|(name, _)| *name == member);
        let meant = alike
            .and_then(|(_, names)| names.iter().copied().find(|name| has(name)))
            .or_else(|| closest(member, members.iter().map(String::as_str)));
        let meant = meant.map_or_else(String::new, |meant| format!(" Did you mean {meant}?"));
        let rest = match self {
            Self::Object(_) => format!("; it has {}", members.join(", ")),
            Self::Text(_) if known_list_method(member) => {
                ": make lines of it with .split(\"\\n\")".to_owned()
            }
            Self::Text(_) => ": use it as it is".to_owned(),
            Self::List(_) => ": go over it, or use its elements by number".to_owned(),
            Self::Unknown => String::new(),
        };
        let meant = if matches!(self, Self::Object(_)) {
            meant
        } else {
            String::new()
        };
        Some(format!(
            "The result of tools.{tool} has no member {member}: it is {what}{rest}.{meant}"
        ))
    }
}

fn known_list_method(member: &str) -> bool {
    OF_LISTS.contains(&member)
}

/// The members that an object may have; `None` where the schema lets others in, or names none.
fn members(schema: &Value) -> Option<Vec<String>> {
    let is_open = schema
        .get("additionalProperties")
        .is_some_and(|others| *others != Value::Bool(false));
    let properties = schema.get("properties")?.as_object()?;
    (!is_open && !properties.is_empty()).then(|| properties.keys().cloned().collect())
}
