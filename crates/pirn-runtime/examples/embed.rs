//! All of Pirn in a program of one's own: its tools, confined, and one more. Explained in `docs/embedding.md`.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

// [runtime]
use pirn_runtime::{ClientOptions, EffectPolicy, HostEnv, Otherwise, Runtime, ScriptRun};
use pirn_tool::{Effects, Tool, ToolResult, ToolSpec};

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = HostEnv {
        temp_dir: std::env::temp_dir(),
        environment: std::env::vars_os().collect(),
        ..HostEnv::default()
    };
    let spec = ToolSpec::new("shout", "Makes a text loud").effects(Effects::NONE);
    let shout = Tool::from_fn(spec, |arguments, _context| async move {
        let text = arguments["text"].as_str().unwrap_or_default();
        ToolResult::text(text.to_uppercase())
    });
    let runtime = Runtime::builder(host, std::env::current_dir()?)
        .tool(shout)
        .build()?;
    // Reading and commands run without a question; with nobody to ask, the rest does not run.
    let policy = EffectPolicy::new(Effects::PROCESS, Otherwise::deny("nobody is here"));
    let client = runtime.client(ClientOptions::new(policy));
    let code = "const { output } = await tools.bash({ command: 'echo hello' });
                return tools.shout({ text: output });";
    let end = client.run_script(ScriptRun::new("run-1", code)).await?;
    println!("{:?}", end.result.outcome);
    runtime.shutdown().await;
    Ok(())
}
// [runtime]
