//! `list_processes` (PROC-PAGE).

use agentprocess::json::{Object, Value};
use quorate_proto::{Caller, GroupId};

use crate::api::Api;
use crate::api::arguments::Arguments;
use crate::api::catalog::{self, VersionRow};
use crate::api::envelope::{Answer, failed};
use crate::groups::Groups;

/// Processes on a page.
const PAGE: usize = 100;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn list_processes(&self, caller: &Caller, a: &Arguments) -> Answer {
        let after: Option<String> = self.cursor(caller, "list_processes", a).await?;
        let org = caller.org.clone();
        let read =
            self.groups.read(GroupId::Catalog, move |state, _| catalog::list(state, &org, after.as_deref(), PAGE + 1));
        let mut rows = read.await?.map_err(|e| failed(&e))?;
        let more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let last = rows.last().filter(|_| more).map(|row| row.process.name.clone());
        let items = rows.into_iter().map(item).collect();
        self.page(caller, "list_processes", a, items, last).await
    }
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
