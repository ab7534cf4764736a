//! The folder that a command runs in.

use std::path::PathBuf;
use std::sync::Arc;

use pirn_tool::CallContext;

use crate::blocking;
use crate::options::ToolsOptions;
use crate::paths;

/// The folder that a call names, else the working directory. Commands that are confined run where they may work; naming a folder
/// makes nothing writable.
pub(super) async fn locate(
    context: &CallContext,
    named: Option<String>,
    options: Arc<ToolsOptions>,
) -> Result<PathBuf, String> {
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        // Commands look at it themselves.
        return blocking::off_thread(context, move || Ok(options.cwd.clone())).await;
    };
    blocking::off_thread(context, move || {
        let could_not = "Could not run in";
        let place = paths::resolve_readable(&named, &options)
            .map_err(|error| error.explain(could_not))?;
        let fails = |reason: &str| format!("{could_not} {}: {reason}", place.shown);
        let real = place
            .path
            .canonicalize()
            .map_err(|error| fails(&place.explain(&error.into(), &options)))?;
        if !real.is_dir() {
            return Err(fails("ENOTDIR: not a directory"));
        }
        let Some(sandbox) = &options.sandbox else {
            return Ok(real);
        };
        let rules = sandbox.file_rules();
        if place.private_root.is_none() && !rules.is_place_of_work(&real) {
            return Err(fails(
                "commands run in the working directory, in a write root (sandbox.writeRoots) or below one. Begin the command \
                 with cd to look around elsewhere",
            ));
        }
        // In the private folder commands have another name for it.
        Ok(if place.private_root.is_some() {
            options.cwd.join(&named)
        } else {
            real
        })
    })
    .await
}
