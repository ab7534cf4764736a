//! The tool `eval`, for clients whose calls a model makes.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_eval::{EvalTool, Gates, Language, eval_tool};
use pirn_tool::{CallContext, Effects, Subject, Tool, ToolHandler, ToolResult};
use serde_json::Value;

use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::runtime::Runtime;

impl Client {
    /// Gives this client the tool `eval` over the runtime's kernel. Each program passes `gates` before it starts, and can call tools
    /// with no other effects than `admitted`. Fails where the runtime has no evals.
    pub fn offer_evals(&self, gates: Gates, admitted: Effects) -> Result<(), Error> {
        let runtime = self.runtime();
        let Some(evals) = &runtime.inner().evals else {
            return Err(Error::new(
                ErrorKind::Input,
                "this runtime was made without evals",
            ));
        };
        let programs = evals.tool(gates, admitted);
        let shown = eval_tool(programs.clone());
        let handler = CheckedPrograms {
            runtime: runtime.clone(),
            programs: programs.clone(),
        };
        let tool = Tool::new(shown.spec().clone(), handler).with_loadout_hook(Arc::new(programs));
        self.registry().register(tool);
        Ok(())
    }
}

/// Runs programs whose interpreter no command could have put another in place of.
struct CheckedPrograms {
    runtime: Runtime,
    programs: EvalTool,
}

impl ToolHandler for CheckedPrograms {
    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'static, ToolResult> {
        let language = arguments["language"].as_str().and_then(Language::from_name);
        let evals = self.runtime.inner().evals.as_ref();
        let problem = evals
            .zip(language)
            .and_then(|(evals, language)| evals.unsafe_interpreter(language));
        match problem {
            Some(problem) => Box::pin(std::future::ready(ToolResult::error(problem))),
            None => ToolHandler::call(&self.programs, arguments, context),
        }
    }

    fn approval_subject(&self, arguments: &Value) -> Option<Subject> {
        self.programs.approval_subject(arguments)
    }
}
