//! `models.*`, over a host that knows three models.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pirn_codemode::{
    Availability, ClassifyRequest, EXEC_TOOL_NAME, ExecTool, ImageRequest, ModelAnswer, ModelEntry,
    ModelHost, ModelQuery, ModelRef, ModelStop, ModelType,
};
use pirn_tool::{CallRequest, Loadout, LoadoutHook, Pipeline, Registry};
use serde_json::{Map, Value, json};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use crate::support::{PNG_1X1, engine};

#[derive(Debug, Clone)]
struct Catalog {
    /// Opens when four images are being made.
    four: Arc<Barrier>,
    /// Images being made, and the most of them there were.
    at_once: Arc<Mutex<(usize, usize)>>,
}

impl Catalog {
    fn new() -> Self {
        Self {
            four: Arc::new(Barrier::new(4)),
            at_once: Arc::default(),
        }
    }
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} has no members"),
    }
}

impl ModelHost for Catalog {
    fn models(&self, query: ModelQuery) -> BoxFuture<'static, Result<Vec<ModelEntry>, String>> {
        let rows = [
            (ModelType::Chat, "acme", "talker", true),
            (ModelType::Classifier, "acme", "judge", true),
            (ModelType::Classifier, "other", "critic", false),
        ];
        let fits = |(kind, provider, id, is_usable): &(ModelType, &str, &str, bool)| {
            *kind == query.kind
                && query
                    .provider
                    .as_deref()
                    .is_none_or(|wanted| wanted == *provider)
                && query.id.as_deref().is_none_or(|wanted| wanted == *id)
                && (*is_usable || query.availability == Availability::Known)
        };
        let found = rows
            .iter()
            .filter(|row| fits(row))
            .map(|(_, provider, id, _)| ModelEntry {
                provider: (*provider).to_owned(),
                id: (*id).to_owned(),
                facts: members(json!({"name": id.to_uppercase()})),
            });
        Box::pin(std::future::ready(Ok(found.collect())))
    }

    fn classify(
        &self,
        model: ModelRef,
        request: ClassifyRequest,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ModelAnswer, String>> {
        if model.id != "judge" {
            return Box::pin(std::future::ready(Err(format!(
                "{}/{} is no classifier",
                model.provider, model.id
            ))));
        }
        let asked: Vec<&String> = request.questions.keys().collect();
        let content = members(json!({"answers": {"asked": asked, "state": request.state}}));
        let answer = ModelAnswer {
            stop_reason: ModelStop::Stop,
            error_message: None,
            content,
        };
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn generate_images(
        &self,
        _model: ModelRef,
        request: ImageRequest,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ModelAnswer, String>> {
        let catalog = self.clone();
        Box::pin(async move {
            {
                let mut at_once = catalog.at_once.lock().unwrap();
                at_once.0 += 1;
                at_once.1 = at_once.1.max(at_once.0);
            }
            if request.input == [json!("four at once")] {
                catalog.four.wait().await;
            }
            catalog.at_once.lock().unwrap().0 -= 1;
            let image = json!({"type": "image", "data": PNG_1X1, "mimeType": "image/png"});
            let content = members(json!({"output": [request.input, image]}));
            Ok(ModelAnswer {
                stop_reason: ModelStop::Error,
                error_message: Some("tired".into()),
                content,
            })
        })
    }
}

fn exec(models: Option<Arc<dyn ModelHost>>) -> ExecTool {
    ExecTool {
        models,
        ..ExecTool::new(engine().clone())
    }
}

async fn run(exec: ExecTool, code: &str) -> Value {
    let registry = Registry::new();
    registry.register(exec.into_tool());
    let code = format!(
        "return JSON.stringify(await (async () => {{ {code} }})().catch((error) => error.message));"
    );
    let request = CallRequest::new("call", EXEC_TOOL_NAME, json!({"code": code}));
    let text = Pipeline::builder(registry)
        .build()
        .call(request)
        .await
        .result
        .joined_text();
    serde_json::from_str(text.split("Output:\n").nth(1).unwrap().trim())
        .unwrap_or_else(|_| panic!("{text}"))
}

#[tokio::test]
async fn scripts_reach_models_through_the_host() {
    let judge = json!({"provider": "acme", "id": "judge", "name": "JUDGE"});
    let critic = json!({"provider": "other", "id": "critic", "name": "CRITIC"});
    for (code, expected) in [
        ("return models.getModelsOfType('classifier')", json!([judge, critic])),
        ("return models.getModelsOfType('classifier', 'other')", json!([critic])),
        ("return models.getAvailableOfType('classifier')", json!([judge])),
        ("return models.getModelOfType('classifier', 'acme', 'judge')", judge.clone()),
        ("return [await models.getModelOfType('chat', 'acme', 'none')]", json!([null])),
        (
            "const model = await models.getModelOfType('classifier', 'acme', 'judge');
             return models.classify(model, {state: {a: 1}, questions: {good: {type: 'bool'}}})",
            json!({"stopReason": "stop", "answers": {"asked": ["good"], "state": {"a": 1}}}),
        ),
        (
            "const made = await models.generateImages({provider: 'p', id: 'i'}, {input: ['a cat']});
             return [made.stopReason, made.errorMessage, made.output[0]]",
            json!(["error", "tired", ["a cat"]]),
        ),
        (
            "return models.classify({provider: 'acme', id: 'talker', baseUrl: 'http://evil'}, {state: {}, questions: {}})",
            json!("models.classify: acme/talker is no classifier"),
        ),
    ] {
        assert_eq!(run(exec(Some(Arc::new(Catalog::new()))), code).await, expected, "{code}");
    }
}

#[tokio::test]
async fn wrong_input_is_answered_with_the_shape() {
    for (code, shape) in [
        (
            "return models.getModelsOfType('fast')",
            "argument 1 must be \"chat\", \"image\" or \"classifier\"",
        ),
        (
            "return models.classify('judge', {})",
            "argument 2 must be {state, images?, questions}",
        ),
        (
            "return models.generateImages({id: 'x'}, {input: []})",
            "argument 1 must be a model {provider, id}",
        ),
        ("return models.unknown", "models.unknown does not exist"),
    ] {
        let shown = run(exec(Some(Arc::new(Catalog::new()))), code).await;
        assert!(shown.as_str().unwrap().contains(shape), "{code}: {shown}");
    }
}

#[tokio::test]
async fn four_model_calls_run_at_once() {
    let catalog = Catalog::new();
    let code = "const make = () => models.generateImages({provider: 'p', id: 'i'}, {input: ['four at once']});
        return (await Promise.all([...Array(8)].map(make))).length";
    assert_eq!(
        run(exec(Some(Arc::new(catalog.clone()))), code).await,
        json!(8)
    );
    assert_eq!(*catalog.at_once.lock().unwrap(), (0, 4));
}

#[tokio::test]
async fn without_a_host_there_is_nothing() {
    assert_eq!(
        run(exec(None), "return typeof models").await,
        json!("undefined")
    );
    let description = |exec: &ExecTool| {
        exec.prepare_loadout(&Loadout::of(&Registry::new()))
            .descriptions["exec"]
            .clone()
    };
    assert!(!description(&exec(None)).contains("models."));
    assert!(
        description(&exec(Some(Arc::new(Catalog::new()))))
            .contains("`models.classify(model, { state, images?, questions })`")
    );
}
