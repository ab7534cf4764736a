//! The table.

mod answers;
mod eras;
mod handshake;
mod http;
mod lists;
mod old;
mod process;
mod questions;
mod results;
mod schemas;
mod streams;
mod waiting;

use crate::row::Row;

/// Every row.
pub(crate) fn all() -> Vec<Row> {
    [
        answers::rows(),
        results::rows(),
        lists::rows(),
        schemas::rows(),
        handshake::rows(),
        eras::rows(),
        process::rows(),
        waiting::rows(),
        questions::rows(),
        http::rows(),
        streams::rows(),
        old::rows(),
    ]
    .concat()
}
