//! Ways to the network: around the proxy, through it, and to what the machine itself offers.

mod direct;
mod place;
mod proxy;

use crate::attempt::Attempt;

pub(crate) fn rows() -> Vec<Attempt> {
    let mut rows = direct::rows();
    rows.extend(proxy::rows());
    rows
}
