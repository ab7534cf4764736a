//! Systems without supervised children. A keeper is never made there.

use std::convert::Infallible;

use super::{Request, State};
use crate::status::ExitStatus;

#[derive(Debug)]
pub(crate) struct Keeper(Infallible);

impl Keeper {
    pub(crate) fn state(&self) -> State {
        match self.0 {}
    }

    pub(crate) fn memory_kills(&self) -> Option<u64> {
        match self.0 {}
    }

    pub(crate) fn request(&self, _request: Request) {
        match self.0 {}
    }

    pub(crate) async fn wait_main(&self) -> ExitStatus {
        match self.0 {}
    }

    pub(crate) async fn wait_all_gone(&self) {
        match self.0 {}
    }
}
