//! Run data (§3.1): what agents and people read, what snapshots hash and what the cap measures.

use agentprocess::json::{self, Object, Value};
use agentprocess::time::Timestamp;
use agentprocess::{DataPath, Process};
use sha2::{Digest, Sha256};

use super::event::{Delivery, Event, EvidenceRecord, Record, WorkRecord};
use super::head::{Head, Pointer, StepHead};
use super::journal::Journal;
use crate::store::Fatal;

/// `data` of a run view, without file urls: inputs and the steps that have a record, in file order (VIEW-TIME).
pub fn run_data(head: &Head, process: &Process, journal: &Journal) -> Result<Value, Fatal> {
    let mut steps = Object::new();
    for (step, state) in process.steps.iter().zip(&head.steps) {
        if let Some(entry) = step_data(state, journal)? {
            steps.set(step.id.as_str(), entry);
        }
    }
    let mut data = Object::new();
    data.set("inputs", inputs(journal)?).set("steps", steps);
    Ok(data.into())
}

/// `snapshot`: SHA-256 over the NUM-COMPARE form of run data (SNAP-HASH).
pub fn snapshot(data: &Value) -> String {
    hex(&Sha256::digest(json::canonical(data).as_bytes()))
}

/// Compact bytes of run data plus those of all held events' data (CAP-MEASURE), from the sizes the head keeps.
pub fn bytes(head: &Head, process: &Process) -> u64 {
    let mut total = len(r#"{"inputs":,"steps":{}}"#) + head.input_bytes;
    let mut entries = 0;
    for (step, state) in process.steps.iter().zip(&head.steps) {
        if state.current.is_none() && state.history.is_empty() {
            continue;
        }
        entries += 1;
        // `"id":{…,"history":[…]}`: a record always has a field, so its fields and `history` have a comma between.
        total += len(&step.id) + len(r#""":{"history":[]}"#);
        total += state.current.map_or(0, |c| c.bytes - 2 + 1);
        total += state.history.iter().map(|c| c.bytes).sum::<u64>() + commas(state.history.len());
    }
    total + commas(entries) + head.held.iter().map(|h| h.bytes).sum::<u64>()
}

/// Compact bytes of a value.
pub fn value_bytes(value: &Value) -> u64 {
    len(&value.to_string())
}

/// The inputs as sent.
pub fn inputs(journal: &Journal) -> Result<Object, Fatal> {
    journal.find(Pointer { revision: 1, index: 0 }, |event, _| match event {
        Event::Started(started) => Some(started.inputs.clone()),
        Event::Reached { .. }
        | Event::ItemOpened { .. }
        | Event::Claimed { .. }
        | Event::Renewed { .. }
        | Event::LeaseEnded { .. }
        | Event::Refused { .. }
        | Event::Escalated { .. }
        | Event::Returned { .. }
        | Event::Completed { .. }
        | Event::Passed { .. }
        | Event::Joined { .. }
        | Event::Rewound { .. }
        | Event::EventHeld { .. }
        | Event::Overdue { .. }
        | Event::Ended { .. } => None,
    })
}

/// The current value at a path; history never resolves one (PATH-ABSENT).
pub fn at_path(head: &Head, journal: &Journal, path: &DataPath) -> Result<Option<Value>, Fatal> {
    match path {
        DataPath::Input(field) => Ok(inputs(journal)?.get(field).cloned()),
        DataPath::Output { step, field } => {
            let Some(current) = head.steps.get(*step).and_then(|s| s.current) else { return Ok(None) };
            let record = record_at(current.at, journal)?;
            Ok(record.get("output").and_then(Value::as_object).and_then(|o| o.get(field)).cloned())
        }
    }
}

/// Digest of one input for the run lists: equal exactly when name and value are equal (RUNS-MATCH).
pub fn input_digest(name: &str, value: &Value) -> [u8; 16] {
    let mut pair = Object::new();
    pair.set(name, value.clone());
    let full: [u8; 32] = Sha256::digest(json::canonical(&pair.into()).as_bytes()).into();
    let mut half = [0; 16];
    half.copy_from_slice(&full[..16]);
    half
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The fields of one completion, without `history`.
pub fn record(record: &Record, by: &str, at: Timestamp, journal: &Journal) -> Result<Object, Fatal> {
    let mut fields = Object::new();
    match record {
        Record::Work(work) => work_fields(&mut fields, work),
        Record::Approved { note } => {
            fields.set("decision", "approved");
            optional(&mut fields, "note", note.as_deref());
        }
        Record::Rejected { note, .. } => {
            fields.set("decision", "rejected").set("note", note.as_str());
        }
        Record::Failed { note } => {
            fields.set("decision", "failed").set("note", note.as_str());
        }
        Record::Waited => {}
        Record::Delivered(Delivery::Now(data)) => {
            fields.set("output", data.clone());
        }
        Record::Delivered(Delivery::Held(place)) => {
            let data = journal.find(*place, |event, _| {
                if let Event::EventHeld { data, .. } = event { Some(data.clone()) } else { None }
            })?;
            fields.set("output", data);
        }
    }
    fields.set("by", by).set("at", at.to_string());
    Ok(fields)
}

fn record_at(place: Pointer, journal: &Journal) -> Result<Object, Fatal> {
    let (kept, by, at) = journal.find(place, |event, at| {
        if let Event::Completed { record, by, .. } = event { Some((record.clone(), by.clone(), at)) } else { None }
    })?;
    record(&kept, &by, at, journal)
}

fn step_data(state: &StepHead, journal: &Journal) -> Result<Option<Object>, Fatal> {
    if state.current.is_none() && state.history.is_empty() {
        return Ok(None);
    }
    let mut entry = match state.current {
        Some(current) => record_at(current.at, journal)?,
        None => Object::new(),
    };
    let history = state.history.iter().map(|c| record_at(c.at, journal).map(Value::from));
    entry.set("history", history.collect::<Result<Vec<_>, _>>()?);
    Ok(Some(entry))
}

fn work_fields(fields: &mut Object, work: &WorkRecord) {
    fields.set("output", work.output.clone());
    fields.set("evidence", work.evidence.iter().map(evidence).collect::<Vec<Value>>());
    optional(fields, "summary", work.summary.as_deref());
    optional(fields, "next", work.next.as_deref());
    optional(fields, "reason", work.reason.as_deref());
}

fn evidence(item: &EvidenceRecord) -> Value {
    let mut fields = Object::new();
    fields.set("kind", item.kind.word()).set("ref", item.reference.as_str());
    if let Some(sha256) = &item.sha256 {
        fields.set("sha256", hex(sha256));
    }
    fields.into()
}

fn optional(fields: &mut Object, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        fields.set(name, text);
    }
}

fn len(text: &str) -> u64 {
    text.len() as u64
}

fn commas(entries: usize) -> u64 {
    entries.saturating_sub(1) as u64
}
