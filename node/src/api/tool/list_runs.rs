//! `list_runs`: the newest runs of all shards, merged (RUNS-LIST, RUNS-MATCH).

use std::collections::BTreeMap;

use agentprocess::json::Object;
use quorate_proto::{Caller, GroupId, Refusal, RunId};
use quorate_statemachine::shard::read::{self, RunFilter, RunItem, RunState, RunsKey};
use quorate_statemachine::store::Fatal;

use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
use crate::api::merge::Merged;
use crate::api::{Api, route};
use crate::groups::Groups;

/// How often a call goes on when a scan was cut short before the page was full: a filter that matches almost nothing
/// must not read a whole shard in one call. The cursor says where to go on.
const ROUNDS_MAX: usize = 10;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn list_runs(&self, caller: &Caller, a: &Arguments) -> Answer {
        let mut after: Option<RunsKey> = self.cursor(caller, "list_runs", a).await?;
        let filter = RunFilter {
            process: a.text("process"),
            state: a.text("state").as_deref().and_then(RunState::parse),
            inputs: a.object("inputs"),
        };
        let limit = a.limit();
        let mut found = Merged { rows: Vec::new(), more: None };
        for _ in 0..ROUNDS_MAX {
            let round = self.runs_round(caller, &filter, after.as_ref(), limit - found.rows.len()).await?;
            found.rows.extend(round.rows);
            found.more = round.more;
            after = found.more;
            if after.is_none() || found.rows.len() >= limit {
                break;
            }
        }
        found.fit(|row| row.input_bytes);
        let large = found.rows.iter().any(|(_, row)| row.lacks_inputs());
        let _turn = if large { Some(self.turn().await?) } else { None };
        let mut inputs = self.large_inputs(&found.rows).await?;
        let items = found.rows.into_iter().map(|(key, row)| {
            let mut item = row.item;
            if let Some(inputs) = inputs.remove(&key.run) {
                item.set("inputs", inputs);
            }
            item.into()
        });
        self.page(caller, "list_runs", a, items.collect(), found.more).await
    }

    /// At most `limit` rows of all shards in order, and after which row to go on when there may be more.
    async fn runs_round(
        &self,
        caller: &Caller,
        filter: &RunFilter,
        after: Option<&RunsKey>,
        limit: usize,
    ) -> Result<Merged<RunsKey, RunItem>, Refusal> {
        let shards = route::all(self.groups.shards()).map(|group| {
            let (org, filter, after) = (caller.org.clone(), filter.clone(), after.copied());
            self.read_settled(group, None, move |state, _, _| {
                read::runs_page(state, &org, &filter, after.as_ref(), limit)
            })
        });
        let pages = futures_util::future::try_join_all(shards).await?;
        Ok(Merged::new(pages.into_iter().map(|page| (page.items, page.more)), limit))
    }

    /// The inputs that are too large to be read with every row that is looked at.
    async fn large_inputs(&self, rows: &[(RunsKey, RunItem)]) -> Result<BTreeMap<RunId, Object>, Refusal> {
        let mut groups: BTreeMap<GroupId, Vec<RunId>> = BTreeMap::new();
        for (key, _) in rows.iter().filter(|(_, row)| row.lacks_inputs()) {
            if let Some(group) = route::run(key.run, self.groups.shards()) {
                groups.entry(group).or_default().push(key.run);
            }
        }
        let mut inputs = BTreeMap::new();
        for (group, runs) in groups {
            let read = self.read_long(group, move |state, _, _| {
                runs.iter().map(|run| Ok((*run, read::run_inputs(state, *run)?))).collect::<Result<Vec<_>, Fatal>>()
            });
            inputs.extend(read.await?);
        }
        Ok(inputs)
    }
}
