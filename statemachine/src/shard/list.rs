//! `list_runs`: newest start first, by the index that fits the filter best.

use agentprocess::json::Object;
use quorate_proto::RunId;

use super::head::{Head, RunState};
use super::journal::Journal;
use super::keys::{Facet, Key, RunsKey};
use super::ranges::runs_range;
use super::{data, read};
use crate::store::{Fatal, Read};

/// How many index rows a page looks at: a rare match must not make one read scan everything.
const ROWS_PER_PAGE_MAX: usize = 1000;

/// Inputs up to this size, in bytes, are read with their row. Larger ones are read once it is known which rows are shown:
/// a page of each shard with all of its inputs would be far more than one page of the list.
const INPUTS_BYTES_MAX: u64 = 4096;

/// What runs to list; all given parts must match (RUNS-MATCH).
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Runs of this process.
    pub process: Option<String>,
    /// Runs in this state.
    pub state: Option<RunState>,
    /// Runs with these inputs, by JSON equality of each.
    pub inputs: Option<Object>,
}

/// A page of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsPage {
    /// Rows with their places, newest start first. May be fewer than asked for although `more` is set.
    pub items: Vec<(RunsKey, RunItem)>,
    /// Where the next page goes on; `None` when there is nothing more.
    pub more: Option<RunsKey>,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunItem {
    /// Its fields, without large inputs.
    pub item: Object,
    /// Compact bytes of the inputs.
    pub input_bytes: u64,
}

impl RunItem {
    /// Whether the inputs are to be read yet, with [`run_inputs`]. They never change.
    pub fn lacks_inputs(&self) -> bool {
        self.input_bytes > INPUTS_BYTES_MAX
    }
}

/// The inputs of a run that [`runs_page`] listed.
pub fn run_inputs(store: &dyn Read, run: RunId) -> Result<Object, Fatal> {
    data::inputs(&Journal::new(store, run))
}

/// At most `limit` runs after `after`.
pub fn runs_page(
    store: &dyn Read,
    org: &str,
    filter: &RunFilter,
    after: Option<&RunsKey>,
    limit: usize,
) -> Result<RunsPage, Fatal> {
    let digests: Vec<_> = filter.inputs.iter().flat_map(|i| i.iter().map(|(k, v)| data::input_digest(k, v))).collect();
    let range = runs_range(org, &facet(filter, digests.first()), after);
    let rows = store.scan(range, false, ROWS_PER_PAGE_MAX.max(limit) + 1)?;
    let exhausted = rows.len() <= ROWS_PER_PAGE_MAX.max(limit);
    let mut page = RunsPage { items: Vec::new(), more: None };
    for (key, _) in rows {
        let Some(Key::RunList { place, .. }) = Key::decode(&key) else {
            return Err(Fatal("a run list row without a run list key".to_owned()));
        };
        if page.items.len() == limit {
            return Ok(page);
        }
        page.more = Some(place);
        let head = read::any_head(store, place.run)?;
        let head = head.ok_or_else(|| Fatal(format!("run {} is listed but gone", place.run)))?;
        if matches(&head, filter, &digests) {
            page.items.push((place, item(store, &head)?));
        }
    }
    if exhausted {
        page.more = None;
    }
    Ok(page)
}

fn facet(filter: &RunFilter, digest: Option<&[u8; 16]>) -> Facet {
    match (digest, &filter.process, filter.state) {
        (Some(digest), _, _) => Facet::Input(*digest),
        (None, Some(process), Some(state)) => Facet::ProcessState(process.clone(), state),
        (None, Some(process), None) => Facet::Process(process.clone()),
        (None, None, Some(state)) => Facet::State(state),
        (None, None, None) => Facet::All,
    }
}

fn matches(head: &Head, filter: &RunFilter, digests: &[[u8; 16]]) -> bool {
    filter.process.as_ref().is_none_or(|process| *process == head.process)
        && filter.state.is_none_or(|state| state == head.state())
        && digests.iter().all(|digest| head.input_digests.contains(digest))
}

fn item(store: &dyn Read, head: &Head) -> Result<RunItem, Fatal> {
    let mut fields = Object::new();
    fields.set("id", head.run.to_string()).set("process", head.process.as_str());
    fields.set("version", u64::from(head.version)).set("state", head.state().as_str());
    fields.set("outcome", head.ended.as_ref().and_then(|e| e.outcome.clone()));
    fields.set("startedAt", head.started_at.to_string()).set("updatedAt", head.updated_at.to_string());
    let mut row = RunItem { item: fields, input_bytes: head.input_bytes };
    if !row.lacks_inputs() {
        row.item.set("inputs", run_inputs(store, head.run)?);
    }
    Ok(row)
}
