//! The tools `exec` and `wait`, for clients whose calls a model makes.

use std::sync::Arc;
use std::time::Duration;

use pirn_codemode::{
    CatalogOptions, EXEC_TOOL_NAME, ExecTool, LayoutKind, MissingToolsSource, ModelHost,
    OutputFolder, WAIT_TOOL_NAME, YIELD_AFTER_DEFAULT,
};
use pirn_tool::Exposure;

use crate::client::Client;
use crate::error::Error;

/// How scripts are offered to a model.
#[derive(Debug, Clone)]
pub struct ScriptTools {
    /// How results are laid out.
    pub layout: LayoutKind,
    /// How the description and the catalog are made.
    pub catalog: CatalogOptions,
    /// Answers `models.*`; without it scripts do not have these globals.
    pub models: Option<Arc<dyn ModelHost>>,
    /// How long a script runs before it goes on in the background, unless its options line says otherwise.
    pub yield_after: Duration,
}

impl Default for ScriptTools {
    fn default() -> Self {
        Self {
            layout: LayoutKind::default(),
            catalog: CatalogOptions::default(),
            models: None,
            yield_after: YIELD_AFTER_DEFAULT,
        }
    }
}

impl Client {
    /// Gives this client the tools `exec` and `wait`, over the service that runs all scripts of the runtime. Others do not see
    /// them.
    pub fn offer_scripts(&self, tools: ScriptTools) -> Result<(), Error> {
        let exec = ExecTool {
            caller: self.caller().to_owned(),
            limits: self.runtime().script_limits(),
            layout: tools.layout,
            folder: Some(OutputFolder::over(self.runtime().spill().clone())),
            catalog: tools.catalog,
            models: tools.models,
            yield_after: tools.yield_after,
            missing_tools: Some(MissingToolsSource(Arc::new({
                let runtime = self.runtime().clone();
                move || runtime.missing_tools()
            }))),
            ..ExecTool::over(self.runtime().scripts()?.clone())
        };
        self.registry().register(exec.wait_tool());
        let hook = Arc::new(exec.clone());
        let tool = exec.into_tool().with_loadout_hook(hook);
        self.registry().register(tool);
        Ok(())
    }

    /// Takes `exec` and `wait` from this client again. Scripts that go on do so.
    pub fn withdraw_scripts(&self) {
        for name in [EXEC_TOOL_NAME, WAIT_TOOL_NAME] {
            if let Some(tool) = self.registry().get(name) {
                self.registry()
                    .register(tool.with_exposure(Exposure::Hidden));
            }
        }
    }
}
