//! A policy for work that somebody attends or does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pirn_tool::{Decision, Offer, Policy, PolicyInput};

/// Whether somebody is there to answer questions, which may begin while work goes on.
#[derive(Debug, Clone, Default)]
pub struct Attendance(Arc<AtomicBool>);

impl Attendance {
    /// From now on somebody is there.
    pub fn declare(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody is there.
    pub fn is_declared(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Decides by one policy while somebody is there to answer, and by another one otherwise.
#[derive(Debug, Clone)]
pub struct AttendedPolicy<P> {
    /// Tells which of the two counts.
    pub attendance: Attendance,
    /// Decides while questions are answered.
    pub asks: P,
    /// Decides while they are not.
    pub denies: P,
}

impl<P: Policy> AttendedPolicy<P> {
    fn current(&self) -> &P {
        if self.attendance.is_declared() {
            &self.asks
        } else {
            &self.denies
        }
    }
}

impl<P: Policy> Policy for AttendedPolicy<P> {
    fn decide(&self, input: PolicyInput<'_>) -> Decision {
        self.current().decide(input)
    }

    fn offer(&self, input: PolicyInput<'_>) -> Offer {
        self.current().offer(input)
    }
}
