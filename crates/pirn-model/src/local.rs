//! Model servers on this machine.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;

use crate::model::{Api, Model};

/// How long a server on this machine may take to say which models it has.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);
/// The list of a server that has every model there is.
const LIST_BYTES_MAX: usize = 4 << 20;

/// A place where a server may listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// What its models' provider is called.
    pub provider: String,
    /// Where its wire is, up to `/v1`.
    pub base_url: String,
}

/// Where the usual servers listen, unless they are told otherwise.
pub fn usual_servers() -> Vec<LocalServer> {
    [
        ("ollama", 11_434),
        ("llama.cpp", 9_931),
        ("llama.cpp", 8_080),
        ("lm-studio", 1_234),
        ("vllm", 8_000),
    ]
    .into_iter()
    .map(|(provider, port)| LocalServer {
        provider: provider.to_owned(),
        base_url: format!("http://127.0.0.1:{port}/v1"),
    })
    .collect()
}

/// Asks all of them at once which models they have. Who does not answer, or answers something else, has none.
pub async fn find_local_models(http: &reqwest::Client, servers: &[LocalServer]) -> Vec<Model> {
    let asked = servers.iter().map(|server| models_of(http, server));
    let found = join_all(asked).await;
    found.into_iter().flatten().flatten().collect()
}

async fn models_of(http: &reqwest::Client, server: &LocalServer) -> Option<Vec<Model>> {
    let asking = async {
        let url = format!("{}/models", server.base_url);
        let mut response = http.get(url).send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            body.extend_from_slice(&chunk);
            if body.len() > LIST_BYTES_MAX {
                return None;
            }
        }
        serde_json::from_slice::<Value>(&body).ok()
    };
    let list = tokio::time::timeout(ANSWER_TIMEOUT, asking).await.ok()??;
    let rows = list.get("data")?.as_array()?;
    let models = rows.iter().filter_map(|row| {
        let id = row.get("id")?.as_str()?;
        let mut model = Model::new(
            server.provider.as_str(),
            id,
            Api::OpenAiCompletions,
            server.base_url.as_str(),
        );
        let window = ["/meta/n_ctx", "/max_model_len", "/max_context_length"]
            .iter()
            .find_map(|pointer| row.pointer(pointer)?.as_u64());
        if let Some(window) = window.filter(|window| *window > 0) {
            model.context_window = window;
            // An answer needs no more than a part of the window.
            model.max_tokens = model.max_tokens.min(window / 2);
        }
        Some(model)
    });
    Some(models.filter(|model| !is_embedding(&model.id)).collect())
}

/// Models that do not talk stand in the same list.
fn is_embedding(id: &str) -> bool {
    id.contains("embed") || id.contains("rerank")
}
