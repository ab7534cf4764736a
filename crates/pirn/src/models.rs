//! `pirn models`: the models that can be asked.

use clap::Args;
use pirn_model::{Catalog, Model, Provider, find_local_models};
use serde_json::{Value, json};

use crate::catalog;
use crate::event_loop;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;

/// The arguments of `pirn models`.
#[derive(Debug, Args)]
pub(crate) struct ModelsArguments {
    /// Show only models whose `PROVIDER/NAME` holds all these words
    #[arg(value_name = "SEARCH")]
    search: Vec<String>,

    /// Print them as a JSON array
    #[arg(long)]
    json: bool,
}

/// A model, and what is in the way of asking it.
struct Row {
    model: Model,
    access: Access,
}

/// How a model is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// There is a key, or none is needed.
    Ready,
    /// Its provider wants a key, and there is none.
    NoKey,
}

pub(crate) fn run(arguments: &ModelsArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let catalog = catalog::read(invocation)?;
    let http = catalog::http_client()?;
    let local =
        event_loop::on_main_thread()?.block_on(find_local_models(&http, &catalog::local_servers()));
    let rows = rows(&catalog, local, &arguments.search);
    if arguments.json {
        let models: Value = rows.iter().map(as_json).collect();
        standard::write_out(&format!("{models:#}\n"))?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        let words = arguments.search.join(" ");
        return Err(Failure::new(Exit::Failed, format!("no model matches `{words}`")).hint(
            "`pirn models` lists those that are known; a provider's other models are asked for as PROVIDER/NAME",
        ));
    }
    standard::write_out(&table(&rows, invocation))?;
    if rows.iter().all(|row| row.access == Access::NoKey) {
        standard::note("there is no key for any of them: `pirn auth login PROVIDER` keeps one");
    }
    Ok(Exit::Success)
}

/// Those that fit, what can be asked at once first.
fn rows(catalog: &Catalog, local: Vec<Model>, search: &[String]) -> Vec<Row> {
    let known = catalog.models().iter().map(|model| Row {
        access: if catalog.can_ask(model) {
            Access::Ready
        } else {
            Access::NoKey
        },
        model: model.clone(),
    });
    let local = local.into_iter().map(|model| Row {
        model,
        access: Access::Ready,
    });
    let words: Vec<String> = search
        .iter()
        .flat_map(|words| words.split_whitespace())
        .map(str::to_lowercase)
        .collect();
    let fits = |row: &Row| {
        let name = row.model.full_name().to_lowercase();
        words.iter().all(|word| name.contains(word))
    };
    let mut rows: Vec<Row> = known.chain(local).filter(fits).collect();
    rows.sort_by_key(|row| row.access == Access::NoKey);
    rows
}

fn table(rows: &[Row], invocation: &Invocation) -> String {
    let mut table = invocation.table();
    table.row([
        "MODEL",
        "CONTEXT",
        "OUTPUT",
        "IMAGES",
        "IN/OUT PER 1M",
        "KEY",
    ]);
    for Row { model, access } in rows {
        let is_priced = model.cost.input > 0.0 || model.cost.output > 0.0;
        let price = if is_priced {
            format!("${}/${}", model.cost.input, model.cost.output)
        } else {
            String::new()
        };
        let images = if model.sees_images() { "yes" } else { "" };
        let is_known = Provider::find(&model.provider).is_some();
        let key = match access {
            Access::Ready if is_known => "yes",
            Access::Ready => "not needed",
            Access::NoKey => "missing",
        };
        table.row([
            &model.full_name(),
            &in_thousands(model.context_window),
            &in_thousands(model.max_tokens),
            images,
            &price,
            key,
        ]);
    }
    table.render()
}

/// Tokens as people write them: `200k`.
fn in_thousands(tokens: u64) -> String {
    if tokens < 1_000 {
        return tokens.to_string();
    }
    format!("{}k", tokens / 1_000)
}

/// A model without what may be secret: headers stay out.
fn as_json(row: &Row) -> Value {
    let model = &row.model;
    json!({
        "provider": model.provider,
        "id": model.id,
        "name": model.name,
        "api": model.api,
        "baseUrl": model.base_url,
        "reasoning": model.reasoning,
        "input": model.input,
        "contextWindow": model.context_window,
        "maxTokens": model.max_tokens,
        "cost": model.cost,
        "available": row.access == Access::Ready,
    })
}
