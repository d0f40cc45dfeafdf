//! What happened, line by line, with virtual time: two runs of a seed must write the same bytes.

use std::fmt::{Display, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

/// A trace of one run. Clones write to the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Mutex<String>>);

impl Trace {
    /// Adds a line.
    pub(crate) fn line(&self, what: impl Display) {
        let at = madsim::time::TimeHandle::current().elapsed().as_nanos();
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing into a string cannot fail.
        let _ = writeln!(lines, "{at} {what}");
    }

    /// All lines so far.
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
