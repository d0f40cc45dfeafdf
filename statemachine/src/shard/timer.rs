//! What time does to a run, as rows ordered by instant.

use agentprocess::time::Timestamp;

use super::head::{Head, StepState};

/// What a timer does when it fires. In order of precedence at one instant and step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerKind {
    /// A lease ends (LEASE-EDGE).
    Lease,
    /// A wait, or the timeout of a wait, is over.
    Wait,
    /// A step becomes overdue and this is announced (DUE-NOTIFY).
    Due,
}

impl TimerKind {
    pub(super) fn tag(self) -> u8 {
        match self {
            Self::Lease => 0,
            Self::Wait => 1,
            Self::Due => 2,
        }
    }

    pub(super) fn from_tag(tag: u8) -> Option<Self> {
        [Self::Lease, Self::Wait, Self::Due].into_iter().find(|k| k.tag() == tag)
    }
}

/// One pending timer of a run. They fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When; due when now is at or after it.
    pub at: Timestamp,
    /// Position of the step.
    pub position: u32,
    /// What happens.
    pub kind: TimerKind,
}

/// All pending timers of a run, in no order. A test run announces nothing, so it has no `Due` (§3.3).
pub fn timers(head: &Head) -> impl Iterator<Item = Timer> {
    (0..).zip(&head.steps).filter(|(_, step)| step.is_open()).flat_map(|(position, step)| {
        let lease = step.claim.as_ref().map(|c| (c.expires, TimerKind::Lease));
        let wait = step.fires.filter(|_| step.state == Some(StepState::Waiting)).map(|at| (at, TimerKind::Wait));
        let due = step.due.filter(|_| !step.overdue_told && !head.test).map(|at| (at, TimerKind::Due));
        [lease, wait, due].into_iter().flatten().map(move |(at, kind)| Timer { at, position, kind })
    })
}

/// The first timer of a run that is due at `now`.
pub fn first_due(head: &Head, now: Timestamp) -> Option<Timer> {
    timers(head).filter(|t| t.at <= now).min()
}
