//! `get_work`: the oldest work of all shards, merged (WORK-ORDER, PAGE-CURSOR).

use agentprocess::json::Value;
use quorate_proto::{Caller, CallerKind};
use quorate_statemachine::shard::Definitions;
use quorate_statemachine::shard::read::{self, PageSize, WorkItem, WorkKey};
use quorate_statemachine::store::Read;

use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::api::merge::{Merged, PAGE_BYTES_MAX};
use crate::api::{Api, route};
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn get_work(&self, caller: &Caller, a: &Arguments) -> Answer {
        let after: Option<WorkKey> = self.cursor(caller, "get_work", a).await?;
        let key = self.signing_key().await?;
        let size = PageSize { items: a.limit(), bytes: PAGE_BYTES_MAX };
        let process = a.text("process");
        let page = |caller: &Caller| {
            let (caller, process) = (caller.clone(), process.clone());
            move |state: &dyn Read, definitions: &Definitions, at| {
                let page = read::work_page(state, definitions, &caller, process.as_deref(), after.as_ref(), size, at)?;
                Ok((page, at))
            }
        };
        let shards = route::all(self.groups.shards());
        let (mut pages, mut turn) = (Vec::new(), None);
        match caller.kind {
            CallerKind::Agent => {
                let reads = shards.map(|group| self.read_settled(group, None, page(caller)));
                pages = futures_util::future::try_join_all(reads).await?;
            }
            // All data of each item's run are read for its snapshot.
            CallerKind::Human => {
                turn = Some(self.turn().await?);
                for group in shards {
                    pages.push(self.read_settled_long(group, page(caller)).await?);
                }
            }
        }
        let pages = pages.into_iter().map(|(page, at)| {
            let signer = self.signer(&key, &caller.org, at);
            let sign = |(place, mut row): (WorkKey, WorkItem)| {
                if let Value::Object(item) = &mut row.item
                    && let Some(work_item) = item.get_mut("workItem")
                {
                    signer.work_item(work_item);
                }
                (place, row)
            };
            (page.items.into_iter().map(sign).collect(), page.more)
        });
        let mut found = Merged::new(pages, size.items);
        drop(turn);
        found.fit(|row| row.bytes);
        let items = found.rows.into_iter().map(|(_, row)| row.item).collect();
        self.page(caller, "get_work", a, items, found.more).await
    }
}
