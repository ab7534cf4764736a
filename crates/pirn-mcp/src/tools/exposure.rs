//! Who sees a server's tools.

use pirn_tool::{Exposure, matches_pattern};

use crate::config::{McpExposure, ToolExposures};

/// The exposure of one tool: its exact name first, then the first pattern that fits, then the server's.
pub(crate) fn exposure_of(
    exposures: &ToolExposures,
    server: McpExposure,
    tool: &str,
) -> McpExposure {
    let exact = exposures.0.iter().find(|(name, _)| name == tool);
    exact
        .or_else(|| {
            exposures
                .0
                .iter()
                .find(|(pattern, _)| matches_pattern(pattern, tool))
        })
        .map_or(server, |(_, exposure)| *exposure)
}

/// Every exposure a tool of the server can have, by the configuration alone.
pub(crate) fn exposures_used(
    server: McpExposure,
    exposures: &ToolExposures,
) -> impl Iterator<Item = McpExposure> {
    std::iter::once(server).chain(exposures.0.iter().map(|(_, exposure)| *exposure))
}

/// The one that shows most. [`McpExposure::Hidden`] of none.
pub(crate) fn widest_exposure(exposures: impl IntoIterator<Item = McpExposure>) -> McpExposure {
    exposures
        .into_iter()
        .max_by_key(|exposure| width(*exposure))
        .unwrap_or(McpExposure::Hidden)
}

fn width(exposure: McpExposure) -> u8 {
    match exposure {
        McpExposure::Direct => 3,
        McpExposure::Codemode => 2,
        McpExposure::Deferred => 1,
        McpExposure::Hidden => 0,
    }
}

/// The same exposure in the words of tools. What scripts see is not listed for the model, as in pi: servers that come and go
/// must not change its prompt, and the section about servers says that they are there.
pub(crate) fn to_exposure(exposure: McpExposure) -> Exposure {
    match exposure {
        McpExposure::Codemode | McpExposure::Deferred => Exposure::Deferred,
        McpExposure::Direct => Exposure::Direct,
        McpExposure::Hidden => Exposure::Hidden,
    }
}
