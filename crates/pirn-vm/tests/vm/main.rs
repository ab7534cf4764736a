//! Tests of the VM from outside.

mod calls;
mod contract;
mod support;
