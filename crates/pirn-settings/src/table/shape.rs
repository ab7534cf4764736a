//! The keys of an object, what their values look like, and the JSON Schema that follows from it.

use serde_json::{Map, Value, json};

/// One key of an object.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// The key without which this one has no meaning.
    pub only_with: Option<&'static str>,
    /// What its value looks like.
    pub shape: Shape,
    /// The default as JSON, where there is one worth naming.
    pub default: Option<&'static str>,
    /// For people: one or two sentences.
    pub help: &'static str,
}

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Any string, an empty one too.
    Text,
    /// A string with something in it.
    Filled,
    /// One of the words `true` and `false`.
    Flag,
    /// A whole number within bounds.
    Whole {
        /// The smallest that is taken.
        least: u64,
        /// The largest that is taken.
        most: u64,
    },
    /// A number of seconds above 0.
    Seconds,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// An array of these strings.
    Choices(&'static [&'static str]),
    /// An array of such values.
    List(&'static Shape),
    /// An object of such values by name.
    Map {
        /// What the values look like.
        values: &'static Shape,
        /// A pattern of the names, where not every name is one.
        names: Option<&'static str>,
    },
    /// An object with keys of its own.
    Object(&'static [Key]),
    /// `true`, `false`, or an object with keys of its own.
    FlagOrObject(&'static [Key]),
}

/// The key of this name.
pub fn find_key(keys: &'static [Key], name: &str) -> Option<&'static Key> {
    keys.iter().find(|key| key.name == name)
}

/// The schema of an object with these keys, open for others: unknown ones are kept and ignored.
pub fn keys_schema(keys: &[Key]) -> Map<String, Value> {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), Value::Object(key.schema())))
        .collect();
    members([
        ("type", json!("object")),
        ("properties", Value::Object(properties)),
    ])
}

impl Key {
    /// The schema of its value, with help and default.
    pub fn schema(&self) -> Map<String, Value> {
        let mut schema = self.shape.schema();
        let only = self.only_with;
        let only = only.map_or_else(String::new, |other| format!(" Only with {other}."));
        let description = [self.help, &only].concat();
        schema.insert("description".to_owned(), json!(description));
        let default: Option<Value> = self
            .default
            .and_then(|text| serde_json::from_str(text).ok())
            .filter(|default: &Value| !default.is_null());
        if let Some(default) = default {
            schema.insert("default".to_owned(), default);
        }
        schema
    }
}

impl Shape {
    fn schema(self) -> Map<String, Value> {
        match self {
            Self::Text => members([("type", json!("string"))]),
            Self::Filled => members([("type", json!("string")), ("minLength", json!(1))]),
            Self::Flag => members([("type", json!("boolean"))]),
            Self::Whole { least, most } => members([
                ("type", json!("integer")),
                ("minimum", json!(least)),
                ("maximum", json!(most)),
            ]),
            Self::Seconds => members([
                ("type", json!("number")),
                ("exclusiveMinimum", json!(0)),
                ("maximum", json!(604_800)),
            ]),
            Self::Choice(words) => members([("enum", json!(words))]),
            Self::Choices(words) => array(Self::Choice(words)),
            Self::List(shape) => array(*shape),
            Self::Map { values, names } => {
                let mut schema = members([("type", json!("object"))]);
                if let Some(pattern) = names {
                    schema.insert("propertyNames".to_owned(), json!({"pattern": pattern}));
                }
                let values = Value::Object(values.schema());
                schema.insert("additionalProperties".to_owned(), values);
                schema
            }
            Self::Object(keys) => keys_schema(keys),
            Self::FlagOrObject(keys) => {
                members([("anyOf", json!([{"type": "boolean"}, keys_schema(keys)]))])
            }
        }
    }
}

fn array(items: Shape) -> Map<String, Value> {
    members([
        ("type", json!("array")),
        ("items", Value::Object(items.schema())),
    ])
}

fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    let owned = members.into_iter();
    owned
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
