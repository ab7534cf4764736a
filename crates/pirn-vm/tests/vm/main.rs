//! Tests of the VM from outside.

mod attacks;
mod calls;
mod contract;
mod interrupt;
mod support;
