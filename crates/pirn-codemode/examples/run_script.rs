//! A program that lets scripts call its functions. Explained in `docs/embedding.md`.

#![allow(
    clippy::disallowed_methods,
    reason = "an example is a program of its own"
)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use pirn_codemode::{
    Cell, CellStatus, EXEC_TOOL_NAME, ExecTool, OutputFolder, PipelineHost, RunOptions, Script,
    ScriptLimits, ScriptService, ScriptServiceOptions, ScriptStore, run_script,
};
use pirn_tool::{
    BeforeVerdict, CallContext, CallRequest, Effects, Hook, HookCall, Pipeline, Registry, Rule,
    RulePolicy, Tool, ToolResult, ToolSpec, Verdict,
};
use pirn_vm::VmEngine;
use serde_json::{Value, json};

// [functions]
/// A Rust function as a tool: a schema for what it takes, one for what it gives, and an async closure.
fn weather() -> Tool {
    let spec = ToolSpec::new("weather", "Tells the weather of a city")
        .input_schema(json!({
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Its English name"}},
            "required": ["city"],
        }))
        .output_schema(json!({
            "type": "object",
            "properties": {"city": {"type": "string"}, "degrees": {"type": "number"}},
            "required": ["city", "degrees"],
        }))
        .effects(Effects::READ);
    Tool::from_fn(spec, |arguments, _context| async move {
        // The arguments were checked against the schema before this runs.
        let city = arguments["city"].as_str().unwrap_or_default().to_owned();
        match city.as_str() {
            "Atlantis" => ToolResult::error("Atlantis has sunk"),
            _ => ToolResult::text(format!("{city}: {}°", city.len()))
                .with_structured(json!({"city": city, "degrees": city.len()})),
        }
    })
}

fn publish() -> Tool {
    let spec = ToolSpec::new("publish", "Publishes a report").effects(Effects::WRITE);
    Tool::from_fn(spec, |_arguments, _context| async {
        ToolResult::text("published")
    })
}
// [functions]

// [hook]
/// Sees every call before it runs, whoever makes it, and may change its arguments or block it.
struct NoSpoilers;

impl Hook for NoSpoilers {
    fn before<'a>(
        &'a self,
        call: HookCall<'a>,
        arguments: &'a mut Value,
    ) -> futures_util::future::BoxFuture<'a, Result<BeforeVerdict, String>> {
        let is_secret = call.tool_name == "weather" && arguments["city"] == "Area 51";
        let verdict = if is_secret {
            BeforeVerdict::Block {
                reason: "there is no such place".to_owned(),
            }
        } else {
            BeforeVerdict::Continue
        };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}
// [hook]

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    // [pipeline]
    // One engine per process; a VM of it starts in microseconds.
    let engine = VmEngine::new(pirn_vm::EngineOptions::default())?;
    let registry = Registry::new();
    registry.register(weather());
    registry.register(publish());
    let files = std::env::temp_dir();
    let store = ScriptStore::default();
    let service = ScriptService::new(ScriptServiceOptions {
        store: Arc::new(store.clone()),
        ..ScriptServiceOptions::new(engine.clone())
    });
    let exec = ExecTool {
        folder: Some(OutputFolder::new(files)),
        ..ExecTool::over(service)
    };
    registry.register(exec.wait_tool());
    registry.register(exec.into_tool());
    // Of the rules that match a call the strictest holds. Without a queue of questions, asking is refusing.
    let policy = RulePolicy {
        rules: vec![Rule::for_effects(Verdict::Ask, Effects::WRITE)],
        ..RulePolicy::allow_all()
    };
    let pipeline = Pipeline::builder(registry)
        .hook(Arc::new(NoSpoilers))
        .policy(Arc::new(policy))
        .build();
    // [pipeline]

    // [exec]
    let code = r#"
        const cities = ["Oslo", "Rome", "Area 51", "Atlantis"];
        const ends = await Promise.allSettled(cities.map((city) => tools.weather({ city })));
        const known = ends.filter((end) => end.status === "fulfilled").map((end) => end.value);
        console.log(ends.length - known.length, "failed");
        store("warmest", known.sort((a, b) => b.degrees - a.degrees)[0].city);
        await tools.publish().catch((error) => text(`not published: ${error.kind}`));
        return known;
    "#;
    let outcome = pipeline
        .call(CallRequest::new(
            "call-1",
            EXEC_TOOL_NAME,
            json!({"code": code}),
        ))
        .await;
    println!("{}", outcome.result.joined_text());
    for receipt in outcome.nested_calls.unwrap_or_default().calls {
        println!("{} {} {:?}", receipt.id, receipt.name, receipt.status);
    }
    println!("stored: {:?}", store.values());
    // [exec]

    // [script]
    // The same without the tool around it: plain values instead of text for a model.
    let context = CallContext::detached("script-1");
    let environment = PipelineHost::environment(&pipeline, &context, &[EXEC_TOOL_NAME]);
    let limits = ScriptLimits {
        wall: Duration::from_secs(5),
        ..ScriptLimits::default()
    };
    let script = Script::new(
        "const { degrees } = await tools.weather({ city: 'Paris' }); return degrees * 2;",
    );
    let result = run_script(
        &engine,
        &script,
        &environment,
        RunOptions {
            limits,
            ..RunOptions::default()
        },
    )
    .await;
    println!("value: {:?}, calls: {}", result.outcome, result.calls.len());
    // [script]

    // [cell]
    // A cell runs by itself. It is looked at in pieces, and dropping it stops the script and its calls.
    let script = Script::new(
        "text('started'); yield_control();
         await new Promise((done) => setTimeout(done, 20));
         return (await tools.weather({ city: 'Lima' })).degrees;",
    );
    let cell = Cell::start(&engine, &script, &environment, RunOptions::default());
    let update = cell.wait(Duration::from_secs(10)).await?;
    println!(
        "running: {}, new items: {}",
        matches!(update.status, CellStatus::Running),
        update.output.len()
    );
    // [cell]

    // [suspend]
    // A script that waits is a value: a few hundred kilobytes that go on here, later, or in another process.
    let bytes = cell.suspend().await?;
    let cell = Cell::resume(&engine, &bytes, &environment, RunOptions::default()).await?;
    if let CellStatus::Ended(result) = cell.wait(Duration::from_secs(10)).await?.status {
        println!("resumed to its end: {:?}", result.outcome);
    }
    // [suspend]
    Ok(())
}
