//! MCP servers: starting many, calling one, and what the model sees of them.

mod call;
mod fleet;
mod noop;
mod raw_server;
mod surface;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use pirn_mcp::{
    ConfigEnvironment, ConfigFile, ManagerFolders, ManagerOptions, McpManager, Scope, SpillFolder,
    Tracing,
};
use pirn_tool::Registry;

use crate::Options;
use crate::report::Report;

pub(crate) use noop::serve as serve_noop;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        call::measure(options, report).await?;
        fleet::measure(options, report).await
    })
}

/// Servers written in a file as a user would, under a manager of their own.
struct Servers {
    manager: McpManager,
    registry: Registry,
    _folder: tempfile::TempDir,
}

impl Servers {
    fn configured(servers: &serde_json::Value) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("mcp.json");
        let text = serde_json::json!({ "mcpServers": servers }).to_string();
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        let loaded = pirn_mcp::load(&[ConfigFile {
            scope: Scope::User,
            path,
        }]);
        let registry = Registry::new();
        let manager = McpManager::new(ManagerOptions {
            registry: registry.clone(),
            environment: ConfigEnvironment::new(
                std::env::vars_os().collect(),
                std::env::home_dir(),
                folder.path().to_owned(),
            ),
            folders: ManagerFolders {
                logs: None,
                protocol_cache: None,
                spill: SpillFolder::none(),
            },
            client_name: "pirn-bench".to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            elicitor: None,
            oauth: None,
            interaction: None,
            http: pirn_mcp::http_client("pirn-bench").map_err(|error| anyhow::anyhow!(error))?,
            tracing: Tracing::Off,
        });
        manager.set_configuration(loaded.servers);
        Ok(Self {
            manager,
            registry,
            _folder: folder,
        })
    }
}

/// The folder where `make peers` puts real servers.
fn peers_folder() -> PathBuf {
    std::env::var_os("PIRN_MCP_PEERS").map_or_else(|| PathBuf::from("target/peers"), PathBuf::from)
}
