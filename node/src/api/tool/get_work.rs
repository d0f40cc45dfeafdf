//! `get_work`: the oldest work of all shards, merged (WORK-ORDER, PAGE-CURSOR).

use agentprocess::json::Value;
use quorate_proto::Caller;
use quorate_statemachine::shard::read::{self, WorkKey};

use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::api::{Api, route};
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn get_work(&self, caller: &Caller, a: &Arguments) -> Answer {
        let after: Option<WorkKey> = self.cursor(caller, "get_work", a).await?;
        let (limit, process) = (a.limit(), a.text("process"));
        let key = self.signing_key().await?;
        let shards = route::all(self.groups.shards()).map(|group| {
            let (caller, process, after) = (caller.clone(), process.clone(), after);
            self.read_settled(group, None, move |state, definitions, at| {
                let process = process.as_deref();
                // One more than the page, to know whether there is another.
                let rows = read::work_page(state, definitions, &caller, process, after.as_ref(), limit + 1, at)?;
                Ok((rows, at))
            })
        });
        let mut rows = Vec::new();
        for (page, at) in futures_util::future::try_join_all(shards).await? {
            let signer = self.signer(&key, &caller.org, at);
            rows.extend(page.into_iter().map(|(key, mut item)| {
                if let Value::Object(item) = &mut item
                    && let Some(work_item) = item.get_mut("workItem")
                {
                    signer.work_item(work_item);
                }
                (key, item)
            }));
        }
        rows.sort_by_key(|(key, _)| *key);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| more).map(|(key, _)| *key);
        let items = rows.into_iter().map(|(_, item)| item).collect();
        self.page(caller, "get_work", a, items, last).await
    }
}
