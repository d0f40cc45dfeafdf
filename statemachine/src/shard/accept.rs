//! Acceptance (§6.3): every issue of a submission at once, in ISSUE-ORDER.

use std::collections::BTreeSet;

use agentprocess::json::Object;
use agentprocess::{IssueList, Next, Process, Route, StepIndex, Target, Work, shown};
use quorate_proto::shard::{Evidence, FileFact, Submission};

use super::advance::{complete, go, position};
use super::change::Change;
use super::data;
use super::event::{EvidenceRecord, Record, WorkRecord};
use super::head::Head;
use super::refuse::Stop;
use crate::store::Fatal;

/// Completes agent or task work, or stops with every issue.
pub fn complete_work(
    change: &mut Change,
    step: StepIndex,
    work: &Work,
    (by, is_person): (&str, bool),
    submission: &Submission,
    bytes_max: u64,
) -> Result<(), Stop> {
    let mut issues = IssueList::default();
    if !is_person && is_blank(submission.summary.as_deref()) {
        issues.add("summary: missing");
    }
    let nothing = Object::new();
    work.output.judge("output", submission.output.as_ref().unwrap_or(&nothing), &mut issues);
    evidence_issues(work, submission.evidence.as_deref().unwrap_or_default(), &mut issues);
    let route = route(change.process(), work, submission, &mut issues);
    let record = record(work, submission);
    if bytes_after(change, step, by, &record)? > bytes_max {
        issues.add(over(bytes_max));
    }
    if !issues.is_empty() {
        return Err(Stop::Unaccepted { step: position(step)?, issues: issues.into_vec() });
    }
    let target = route.ok_or_else(|| Fatal("accepted work leads nowhere".to_owned()))?;
    complete(change, step, by, Record::Work(record))?;
    go(change, step, target)?;
    Ok(())
}

/// The issue of run data over the cap.
pub fn over(bytes_max: u64) -> String {
    format!("run data: over {bytes_max} bytes")
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|t| t.trim().is_empty())
}

fn evidence_issues(work: &Work, given: &[Evidence], issues: &mut IssueList) {
    let mut asked = BTreeSet::new();
    for kind in work.evidence.iter().flatten().filter(|kind| asked.insert(**kind)) {
        if !given.iter().any(|e| e.kind == *kind) {
            issues.add(format!("evidence: {kind} required"));
        }
    }
    for item in given {
        let reference = shown(&item.reference);
        match item.file {
            FileFact::NotAFile | FileFact::Verified(_) => {}
            FileFact::Missing => issues.add(format!("evidence {reference}: not found")),
            FileFact::Mismatch => issues.add(format!("evidence {reference}: hash mismatch")),
        }
    }
}

/// The edge the work takes, if its choice is in order.
fn route(process: &Process, work: &Work, given: &Submission, issues: &mut IssueList) -> Option<Target> {
    match &work.next {
        Next::One(target) => {
            for (name, value) in [("next", &given.next), ("reason", &given.reason)] {
                if value.is_some() {
                    issues.add(format!("{name}: not allowed, this step has one next"));
                }
            }
            Some(*target)
        }
        Next::Choice(routes) => {
            let chosen = given.next.as_deref();
            let found = chosen.and_then(|name| process.chosen(&work.next, name));
            match (chosen, found) {
                (None, _) => issues.add(format!("next: required, one of {}", choices(process, routes))),
                (Some(_), None) => issues.add(format!("next: expected one of {}", choices(process, routes))),
                (Some(_), Some(_)) => {}
            }
            if is_blank(given.reason.as_deref()) {
                issues.add("reason: required");
            }
            found
        }
    }
}

fn choices(process: &Process, routes: &[Route]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for route in routes {
        let name = process.target_name(route.to);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// What run data would hold (RECORD-EMPTY).
fn record(work: &Work, given: &Submission) -> WorkRecord {
    let choice = matches!(work.next, Next::Choice(_));
    let evidence = given.evidence.iter().flatten().map(|item| EvidenceRecord {
        kind: item.kind,
        reference: item.reference.clone(),
        sha256: match item.file {
            FileFact::Verified(sha256) => Some(sha256),
            FileFact::NotAFile | FileFact::Missing | FileFact::Mismatch => None,
        },
    });
    WorkRecord {
        output: given.output.clone().unwrap_or_default(),
        evidence: evidence.collect(),
        summary: given.summary.clone().filter(|s| !is_blank(Some(s))),
        next: given.next.clone().filter(|_| choice),
        reason: given.reason.clone().filter(|_| choice),
    }
}

/// Run data after the completion (CAP-MEASURE). What the server itself adds afterwards is not the submitter's to mend.
fn bytes_after(change: &Change, step: StepIndex, by: &str, record: &WorkRecord) -> Result<u64, Fatal> {
    let fields = data::record(&Record::Work(record.clone()), by, change.at, &change.journal)?;
    let bytes = data::value_bytes(&fields.into());
    let mut after: Head = change.head.clone();
    let place = super::head::Pointer { revision: after.revision + 1, index: 0 };
    let completed =
        super::event::Event::Completed { step: position(step)?, by: by.to_owned(), record: Record::Waited, bytes };
    super::fold::fold(&mut after, place, change.at, &completed)?;
    Ok(data::bytes(&after, change.process()))
}
