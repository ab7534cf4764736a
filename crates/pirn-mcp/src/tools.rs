//! A server's tools as Pirn's tools: what they are called, what goes in, what comes out for scripts and for the model, and the
//! three tools for resources.

mod cut;
mod definition;
mod exposure;
mod handler;
mod media;
mod progress;
mod resources;
mod result;
mod schema;
mod summary;
mod text;

pub use pirn_file::SpillFolder;
pub use summary::{SectionTools, ServerSummary, servers_section};

pub(crate) use definition::{ServerProfile, tool_specs};
pub(crate) use exposure::{exposure_of, exposures_used, to_exposure, widest_exposure};
pub(crate) use handler::ToolCaller;
pub(crate) use progress::{progress_sink, progress_text};
pub use resources::RESOURCE_TOOL_NAMES;
pub(crate) use resources::{ResourceList, ResourceSource, resource_tools};

/// How files begin that hold what results cannot show.
const SPILL_PREFIX: &str = "pirn-mcp-";
