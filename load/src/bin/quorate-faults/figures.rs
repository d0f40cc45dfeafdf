//! What a test came to.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The figures of one test or several.
#[derive(Default)]
pub(crate) struct Figures {
    /// Runs that were started.
    pub(crate) runs: usize,
    /// Writes whose outcome was checked.
    pub(crate) calls: usize,
    /// Reads while faults struck, and those of them that had no answer.
    pub(crate) reads: (usize, usize),
    /// Of each kind of fault: how many, and the longest gap in acknowledged writes until all was well again.
    pub(crate) faults: BTreeMap<&'static str, (usize, u64)>,
    /// The longest gap in acknowledged writes, in milliseconds.
    pub(crate) longest_gap_ms: u64,
    /// Faults that this machine does not permit, and why.
    pub(crate) left_out: BTreeMap<&'static str, String>,
    /// Promises that were not kept.
    pub(crate) violations: Vec<String>,
}

impl Figures {
    /// Notes a fault.
    pub(crate) fn fault(&mut self, name: &'static str, gap_ms: u64) {
        let (count, longest) = self.faults.entry(name).or_default();
        (*count, *longest) = (*count + 1, (*longest).max(gap_ms));
    }

    /// Adds those of another test.
    pub(crate) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.calls += other.calls;
        self.reads = (self.reads.0 + other.reads.0, self.reads.1 + other.reads.1);
        self.faults.extend(other.faults);
        self.longest_gap_ms = self.longest_gap_ms.max(other.longest_gap_ms);
        self.left_out.extend(other.left_out);
        self.violations.extend(other.violations);
    }

    /// One line.
    pub(crate) fn line(&self) -> Value {
        let fault = |(name, (count, gap)): (&&'static str, &(usize, u64))| {
            ((*name).to_owned(), json!({"count": count, "longest_gap_ms": gap}))
        };
        let by_fault: serde_json::Map<_, _> = self.faults.iter().map(fault).collect();
        json!({"runs": self.runs, "calls": self.calls, "reads": self.reads.0, "reads_unanswered": self.reads.1,
               "faults": self.faults.values().map(|(count, _)| count).sum::<usize>(), "violations": self.violations.len(),
               "longest_gap_ms": self.longest_gap_ms, "by_fault": by_fault, "left_out": self.left_out})
    }
}
