//! `get_work`: what an agent may claim, or what a person may decide. The cost follows the page (design §6).

use std::collections::BTreeSet;
use std::ops::Range;

use agentprocess::json::{Object, Value};
use agentprocess::time::Timestamp;
use quorate_proto::{Caller, CallerKind};

use super::definitions::Definitions;
use super::head::{Assigned, Head};
use super::item::{self, mode, overdue};
use super::journal::Journal;
use super::keys::{Key, WorkKey};
use super::ranges::{item_range, ready_range};
use super::{data, index, read};
use crate::store::{Fatal, Read};

/// How many bytes of run data may be read for one byte of the page: the snapshot of a person's item is a hash over all of
/// its run's data.
const HASHED_PER_BYTE: u64 = 8;

/// What a page may have. The first item is given however large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize {
    /// Items.
    pub items: usize,
    /// Bytes of them together.
    pub bytes: u64,
}

/// A page of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPage {
    /// Items with their places, oldest first (WORK-ORDER).
    pub items: Vec<(WorkKey, WorkItem)>,
    /// Where the next page goes on; `None` when there is nothing more.
    pub more: Option<WorkKey>,
}

/// An item of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkItem {
    /// As it is shown.
    pub item: Value,
    /// What it counts in a page, in bytes.
    pub bytes: u64,
}

/// The oldest work after `after`, as much as `size` allows.
pub fn work_page(
    store: &dyn Read,
    definitions: &Definitions,
    caller: &Caller,
    process: Option<&str>,
    after: Option<&WorkKey>,
    size: PageSize,
    at: Timestamp,
) -> Result<WorkPage, Fatal> {
    let mut places = BTreeSet::new();
    for range in ranges(caller, process, after) {
        for (key, _) in store.scan(range, false, size.items + 1)? {
            match Key::decode(&key) {
                Some(Key::Ready { place, .. } | Key::Item { place, .. }) => places.insert(place),
                Some(_) | None => return Err(Fatal("a work row without a work key".to_owned())),
            };
        }
    }
    let (mut page, mut bytes) = (WorkPage { items: Vec::new(), more: None }, 0);
    for place in places {
        if page.items.len() == size.items || bytes >= size.bytes {
            return Ok(page);
        }
        let found = entry(store, definitions, caller.kind, place, at)?;
        bytes += found.bytes;
        page.items.push((place, found));
        page.more = Some(place);
    }
    page.more = None;
    Ok(page)
}

/// The index ranges that hold the caller's work: an agent's processes (WORK-MAY), a person's groups and own name.
fn ranges(caller: &Caller, process: Option<&str>, after: Option<&WorkKey>) -> Vec<Range<Vec<u8>>> {
    match caller.kind {
        CallerKind::Agent => match (&caller.processes, process) {
            (None, process) => vec![ready_range(&caller.org, process, after)],
            (Some(allowed), Some(one)) if !allowed.contains(one) => Vec::new(),
            (Some(_), Some(one)) => vec![ready_range(&caller.org, Some(one), after)],
            (Some(allowed), None) => allowed.iter().map(|p| ready_range(&caller.org, Some(p), after)).collect(),
        },
        CallerKind::Human => {
            let groups = caller.groups.iter().map(|group| Assigned::Group(group.clone()));
            let own = Assigned::Person(read::person_value(caller).to_owned());
            let mine = groups.chain([index::index_form(&own)]);
            mine.map(|assigned| item_range(&caller.org, &assigned, process, after)).collect()
        }
    }
}

fn entry(
    store: &dyn Read,
    definitions: &Definitions,
    kind: CallerKind,
    place: WorkKey,
    at: Timestamp,
) -> Result<WorkItem, Fatal> {
    let lost = || Fatal(format!("run {}: a work row without its work", place.run));
    let head = read::any_head(store, place.run)?.ok_or_else(lost)?;
    let definition = definitions.of(store, &head)?;
    let process = &definition.process;
    let journal = Journal::new(store, place.run);
    let position = place.position as usize;
    let (step, state) = process.steps.get(position).zip(head.steps.get(position)).ok_or_else(lost)?;
    let (mut fields, mut hashed) = (Object::new(), 0);
    fields.set("runId", head.run.to_string());
    match kind {
        CallerKind::Agent => {
            fields.set("stepId", step.id.as_str());
            run_fields(&mut fields, &head);
            fields.set("readySince", state.ready_since.to_string()).set("due", state.due.map(|d| d.to_string()));
            fields.set("overdue", overdue(state.due, at)).set("handoff", item::handoff(&state.handoff, &journal)?);
            fields.set("claim", item::claim_call(&head, &step.id));
        }
        CallerKind::Human => {
            run_fields(&mut fields, &head);
            let open = state.item.as_ref().ok_or_else(lost)?;
            hashed = data::bytes(&head, process);
            let snapshot = data::snapshot(&data::run_data(&head, process, &journal)?);
            fields.set("workItem", item::work_item(&head, process, (position, open), &journal, &snapshot)?);
        }
    }
    let item = Value::from(fields);
    let bytes = data::value_bytes(&item) + hashed / HASHED_PER_BYTE;
    Ok(WorkItem { item, bytes })
}

fn run_fields(fields: &mut Object, head: &Head) {
    fields.set("process", head.process.as_str()).set("version", u64::from(head.version)).set("mode", mode(head));
}
