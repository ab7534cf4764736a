//! The one engine of scripts and programs, made when the first of them needs it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use pirn_codemode::{EngineOptions, VmEngine};
use pirn_eval::ScriptEngineSource;

use crate::error::{Error, ErrorKind};

/// Gives the engine, the same to all.
#[derive(Clone)]
pub(crate) struct EngineSource {
    options: EngineOptions,
    engine: Arc<OnceLock<VmEngine>>,
}

impl fmt::Debug for EngineSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EngineSource")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl EngineSource {
    pub(crate) fn new(options: EngineOptions) -> Self {
        Self {
            options,
            engine: Arc::default(),
        }
    }

    /// The engine, made now if there was none.
    pub(crate) fn get(&self) -> Result<VmEngine, Error> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine.clone());
        }
        let engine = VmEngine::new(self.options).map_err(|error| {
            Error::new(
                ErrorKind::Machine,
                "the script engine cannot start; `pirn doctor` may tell why",
            )
            .because(error)
        })?;
        Ok(self.engine.get_or_init(|| engine).clone())
    }

    /// The same engine for programs.
    pub(crate) fn for_programs(&self) -> ScriptEngineSource {
        let source = self.clone();
        Arc::new(move || {
            source.get().map_err(|error| {
                let kind = pirn_eval::ErrorKind::ScriptEngine;
                pirn_eval::Error::new(kind, error.to_string()).because(error)
            })
        })
    }
}
