//! `pirn tools`: the tools that scripts can call.

use pirn_codemode::{ToolDeclaration, render_declarations};
use pirn_mcp::ServerSelection;
use pirn_runtime::{BuiltinTools, Runtime};
use pirn_tool::{Tool, search_tools, to_identifier, tool_identifiers};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::arguments::ToolsArguments;
use crate::failure::{Exit, Failure};
use crate::interrupt::interruptible;
use crate::invocation::Invocation;
use crate::mcp::{Configuration, TraceWhen, server_options, settle_and_tell};
use crate::project::Project;
use crate::standard;
use pirn_settings::FlagValues;
use pirn_terminal::on_one_line;

/// A tool with its identifier.
struct Row {
    tool: Tool,
    identifier: String,
}

pub(crate) fn run(arguments: &ToolsArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let project = Project::open(
        &invocation.host.cwd,
        arguments.mcp.file_kinds(),
        &arguments.approval,
        &FlagValues::default(),
        invocation,
    )?;
    let configuration = arguments
        .mcp
        .configuration(&project, &invocation.host.cwd, invocation)?;
    let tools = callable_tools(&project, configuration.as_ref(), invocation)?;
    let identifiers = tool_identifiers(tools.iter().map(|tool| tool.spec().name.as_str()));
    for (name, identifier) in collisions(&tools, &identifiers) {
        standard::note(&format!(
            "another tool is called like `{name}`; in scripts it is tools.{identifier}"
        ));
    }
    let mut rows: Vec<Row> = tools
        .into_iter()
        .zip(identifiers)
        .map(|(tool, identifier)| Row { tool, identifier })
        .collect();
    let query = arguments.query.join(" ");
    if !query.trim().is_empty() {
        rows = matching(&query, rows);
        if rows.is_empty() {
            return Err(Failure::new(
                Exit::Failed,
                format!("no tool matches `{}`", on_one_line(&query)),
            )
            .hint("`pirn tools` lists all"));
        }
    }
    let text = if arguments.json {
        format!("{:#}\n", rows.iter().map(as_json).collect::<Value>())
    } else if arguments.declarations {
        declarations(&rows)
    } else {
        table(&rows, invocation)
    };
    standard::write_out(&text)?;
    Ok(Exit::Success)
}

/// The built-in tools and those of all servers. What is not there is told.
fn callable_tools(
    project: &Project,
    configuration: Option<&Configuration>,
    invocation: &Invocation,
) -> Result<Vec<Tool>, Failure> {
    let display = invocation.display;
    let fetch = async |stopped: CancellationToken| {
        let mut builder = Runtime::builder(invocation.host.clone(), &invocation.host.cwd)
            .settings(project.settings.clone())
            .builtin_tools(BuiltinTools::Listed);
        if let Some(configuration) = configuration {
            let options = server_options(configuration, TraceWhen::Asked);
            builder = builder.servers(options);
        }
        let runtime = builder.build()?;
        if let (Some(servers), Some(configuration)) = (runtime.servers(), configuration) {
            let problems: Vec<_> = configuration.errors().cloned().collect();
            settle_and_tell(
                servers,
                &problems,
                ServerSelection::Visible,
                &stopped,
                display,
            )
            .await;
        }
        let tools = runtime.registry().callable();
        runtime.shutdown().await;
        Ok(tools)
    };
    interruptible(fetch)
}

/// Names that are not what scripts would take them for.
fn collisions<'a>(
    tools: &'a [Tool],
    identifiers: &'a [String],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    tools
        .iter()
        .map(|tool| tool.spec().name.as_str())
        .zip(identifiers.iter().map(String::as_str))
        .filter(|(name, identifier)| to_identifier(name) != *identifier)
}

fn matching(query: &str, rows: Vec<Row>) -> Vec<Row> {
    let tools: Vec<Tool> = rows.iter().map(|row| row.tool.clone()).collect();
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    search_tools(&tools, query, None, tools.len())
        .into_iter()
        .filter_map(|ranked| rows.get_mut(ranked.index).and_then(Option::take))
        .collect()
}

fn as_json(row: &Row) -> Value {
    let spec = row.tool.spec();
    json!({
        "name": spec.name,
        "identifier": row.identifier,
        "description": spec.description,
        "inputSchema": spec.input_schema,
        "outputSchema": spec.output_schema,
        "effects": spec.effects.names().collect::<Vec<_>>(),
        "exposure": spec.exposure,
    })
}

fn declarations(rows: &[Row]) -> String {
    let text_schema = json!({"type": "string"});
    let tools: Vec<ToolDeclaration<'_>> = rows
        .iter()
        .map(|row| {
            let spec = row.tool.spec();
            ToolDeclaration {
                name: &spec.name,
                identifier: Some(&row.identifier),
                description: Some(&spec.description),
                input_schema: Some(&spec.input_schema),
                // A tool without an output schema resolves to its text.
                output_schema: Some(spec.output_schema.as_ref().unwrap_or(&text_schema)),
            }
        })
        .collect();
    format!("{}\n", render_declarations(&tools, &[]))
}

fn table(rows: &[Row], invocation: &Invocation) -> String {
    let mut table = invocation.table();
    for row in rows {
        let spec = row.tool.spec();
        let effects = match spec.effects.listed() {
            names if names.is_empty() => "-".to_owned(),
            names => names,
        };
        let summary = spec.description.lines().next().unwrap_or_default();
        table.row([&spec.name, &effects, summary]);
    }
    table.render()
}
