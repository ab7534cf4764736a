//! What the tools for resources say about themselves.

use pirn_tool::{Annotations, Effects, ToolSpec};
use serde_json::{Value, json};

use super::ResourceList;

const LIST_RESOURCES: &str = "list_mcp_resources";
const LIST_TEMPLATES: &str = "list_mcp_resource_templates";
const READ_RESOURCE: &str = "read_mcp_resource";

/// The names of the tools that read resources of all servers.
pub const RESOURCE_TOOL_NAMES: [&str; 3] = [LIST_RESOURCES, LIST_TEMPLATES, READ_RESOURCE];

pub(super) fn list_spec(what: ResourceList) -> ToolSpec {
    let (name, description, member, uri_member) = match what {
        ResourceList::Resources => (
            LIST_RESOURCES,
            "Lists the resources of MCP servers: files, records and other data that servers offer for reading with \
             read_mcp_resource. Without a server, those of all servers; with one, a page of its own.",
            "resources",
            "uri",
        ),
        ResourceList::Templates => (
            LIST_TEMPLATES,
            "Lists the resource templates of MCP servers: patterns of URIs that can be filled in and read with \
             read_mcp_resource. Without a server, those of all servers; with one, a page of its own.",
            "resourceTemplates",
            "uriTemplate",
        ),
    };
    read_only(ToolSpec::new(name, description))
        .input_schema(json!({
            "type": "object",
            "properties": {
                "server": {"type": "string", "description": "The server's name"},
                "cursor": {"type": "string", "description": "The nextCursor of the page before; needs server"},
            },
            "additionalProperties": false,
        }))
        .output_schema(list_schema(member, uri_member))
}

fn list_schema(member: &str, uri_member: &str) -> Value {
    let mut entry = json!({
        "type": "object",
        "properties": {
            "server": {"type": "string"},
            "name": {"type": "string"},
            "title": {"type": "string"},
            "description": {"type": "string"},
            "mimeType": {"type": "string"},
            "size": {"type": "number"},
        },
        "required": ["server", "name", uri_member],
    });
    entry["properties"][uri_member] = json!({"type": "string"});
    let mut schema = json!({
        "type": "object",
        "properties": {
            "server": {"type": "string"},
            "nextCursor": {"type": "string"},
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"server": {"type": "string"}, "error": {"type": "string"}},
                    "required": ["server", "error"],
                },
            },
        },
        "required": [member],
    });
    schema["properties"][member] = json!({"type": "array", "items": entry});
    schema
}

pub(super) fn read_spec() -> ToolSpec {
    let description = "Reads a resource of an MCP server.";
    read_only(ToolSpec::new(READ_RESOURCE, description))
        .input_schema(json!({
            "type": "object",
            "properties": {
                "server": {"type": "string", "description": "The server's name"},
                "uri": {"type": "string", "description": "The resource's URI, as listed or made of a template"},
            },
            "required": ["server", "uri"],
            "additionalProperties": false,
        }))
        .output_schema(json!({
            "type": "object",
            "properties": {
                "server": {"type": "string"},
                "uri": {"type": "string"},
                "contents": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "uri": {"type": "string"},
                            "mimeType": {"type": "string"},
                            "text": {"type": "string"},
                            "blob": {"type": "string", "description": "base64"},
                        },
                        "required": ["uri"],
                    },
                },
            },
            "required": ["server", "uri", "contents"],
        }))
}

fn read_only(spec: ToolSpec) -> ToolSpec {
    spec.effects(Effects::READ | Effects::NETWORK)
        .annotations(Annotations {
            read_only_hint: Some(true),
            ..Annotations::default()
        })
}
