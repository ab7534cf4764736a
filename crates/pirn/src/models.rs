//! `pirn models`: the models that can be asked.

use clap::Args;
use pirn_model::{Catalog, Model, Prices, Provider, TaskModel, find_local_models};
use serde_json::Value;

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
    listed: Listed,
    access: Access,
}

/// A model as its kind has it.
enum Listed {
    Chat(Model),
    Task(TaskModel),
}

impl Listed {
    fn provider(&self) -> &str {
        match self {
            Self::Chat(model) => &model.provider,
            Self::Task(model) => &model.provider,
        }
    }

    fn full_name(&self) -> String {
        match self {
            Self::Chat(model) => model.full_name(),
            Self::Task(model) => model.full_name(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Chat(_) => "chat",
            Self::Task(model) => model.api.kind().as_str(),
        }
    }

    fn prices(&self) -> &Prices {
        match self {
            Self::Chat(model) => &model.cost,
            Self::Task(model) => &model.cost,
        }
    }

    fn sees_images(&self) -> bool {
        match self {
            Self::Chat(model) => model.sees_images(),
            Self::Task(model) => model.sees_images(),
        }
    }
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
    let chat = catalog.models().iter().cloned().map(Listed::Chat);
    let tasks = catalog.task_models().iter().cloned().map(Listed::Task);
    let known = chat.chain(tasks).map(|listed| Row {
        access: if catalog.can_ask(listed.provider()) {
            Access::Ready
        } else {
            Access::NoKey
        },
        listed,
    });
    let local = local.into_iter().map(|model| Row {
        listed: Listed::Chat(model),
        access: Access::Ready,
    });
    let words: Vec<String> = search
        .iter()
        .flat_map(|words| words.split_whitespace())
        .map(str::to_lowercase)
        .collect();
    let fits = |row: &Row| {
        let name = row.listed.full_name().to_lowercase();
        words.iter().all(|word| name.contains(word))
    };
    let mut rows: Vec<Row> = known.chain(local).filter(fits).collect();
    rows.sort_by_key(|row| row.access == Access::NoKey);
    rows
}

fn table(rows: &[Row], invocation: &Invocation) -> String {
    let mut table = invocation.table();
    table.heading([
        "MODEL",
        "KIND",
        "CONTEXT",
        "OUTPUT",
        "IMAGES",
        "IN/OUT PER 1M",
        "KEY",
    ]);
    for Row { listed, access } in rows {
        let prices = listed.prices();
        let price = if prices.input > 0.0 || prices.output > 0.0 {
            format!("${}/${}", prices.input, prices.output)
        } else {
            String::new()
        };
        let (context, output) = match listed {
            Listed::Chat(model) => (
                in_thousands(model.context_window),
                in_thousands(model.max_tokens),
            ),
            Listed::Task(_) => (String::new(), String::new()),
        };
        let key = match access {
            Access::Ready if Provider::find(listed.provider()).is_some() => "yes",
            Access::Ready => "not needed",
            Access::NoKey => "missing",
        };
        table.row([
            listed.full_name().as_str(),
            listed.kind(),
            &context,
            &output,
            if listed.sees_images() { "yes" } else { "" },
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
    let mut shown = match &row.listed {
        Listed::Chat(model) => model.public_facts(),
        Listed::Task(model) => model.public_facts(),
    };
    shown.insert("kind".to_owned(), row.listed.kind().into());
    shown.insert("available".to_owned(), (row.access == Access::Ready).into());
    Value::Object(shown)
}
