//! All attempts to get out, by what they go for.

mod files;
mod git;
mod kernel;
mod network;
mod processes;
mod reading;
mod resources;
mod settings;
mod sockets;

use crate::attempt::Attempt;

pub(crate) fn all() -> Vec<Attempt> {
    [
        files::rows(),
        reading::rows(),
        settings::rows(),
        git::rows(),
        kernel::rows(),
        network::rows(),
        processes::rows(),
        resources::rows(),
        sockets::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
