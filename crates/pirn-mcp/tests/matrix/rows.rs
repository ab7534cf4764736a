//! The table of all rows of the matrix.

mod answers;
mod handshake;
mod http;
mod lists;
mod old;
mod process;
mod protocols;
mod questions;
mod results;
mod schemas;
mod streams;
mod waiting;

use crate::row::Row;

pub(crate) fn all() -> Vec<Row> {
    [
        answers::rows(),
        results::rows(),
        lists::rows(),
        schemas::rows(),
        handshake::rows(),
        protocols::rows(),
        process::rows(),
        waiting::rows(),
        questions::rows(),
        http::rows(),
        streams::rows(),
        old::rows(),
    ]
    .concat()
}
