//! `list_processes` (PROC-PAGE).

use agentprocess::json::{Object, Value};
use quorate_proto::{Caller, GroupId};
use quorate_statemachine::store::{Fatal, Read};

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::catalog::{self, VersionRow};
use crate::api::envelope::{Answer, failed};
use crate::api::merge::PAGE_BYTES_MAX;
use crate::groups::Groups;

/// Processes on a page.
const PAGE: usize = 100;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn list_processes(&self, caller: &Caller, a: &Arguments) -> Answer {
        let after: Option<String> = self.cursor(caller, "list_processes", a).await?;
        let org = caller.org.clone();
        let read = self.groups.read(GroupId::Catalog, move |state, _| page(state, &org, after.clone()));
        let (items, last) = read.await?.map_err(|e| failed(&e))?;
        self.page(caller, "list_processes", a, items, last).await
    }
}

/// Items after a name, and the last name when there are more. A version is far larger than its item, so one is read at a
/// time.
fn page(state: &dyn Read, org: &str, mut after: Option<String>) -> Result<(Vec<Value>, Option<String>), Fatal> {
    let (mut items, mut bytes) = (Vec::new(), 0);
    while let Some(row) = catalog::list(state, org, after.as_deref(), 1)?.pop() {
        if items.len() == PAGE || bytes >= PAGE_BYTES_MAX {
            return Ok((items, after));
        }
        after = Some(row.process.name.clone());
        let item = item(row);
        bytes += item.to_string().len() as u64;
        items.push(item);
    }
    Ok((items, None))
}

fn item(row: VersionRow) -> Value {
    let process = row.process;
    let mut item = Object::new();
    item.set("name", process.name).set("description", process.description).set("version", u64::from(row.number));
    item.set("inputs", process.inputs.written.unwrap_or_default());
    if !process.systems.is_empty() {
        let mut requires = Object::new();
        requires.set("systems", process.systems.into_iter().map(Value::from).collect::<Vec<_>>());
        item.set("requires", requires);
    }
    item.into()
}
