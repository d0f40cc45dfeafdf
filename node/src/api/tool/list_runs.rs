//! `list_runs`: the newest runs of all shards, merged (RUNS-LIST, RUNS-MATCH).

use agentprocess::json::Value;
use quorate_proto::{Caller, Refusal};
use quorate_statemachine::shard::read::{self, RunFilter, RunState, RunsKey};

use crate::api::arguments::Arguments;
use crate::api::envelope::Answer;
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
        let (limit, mut items) = (a.limit(), Vec::new());
        for _ in 0..ROUNDS_MAX {
            let (rows, more) = self.runs_round(caller, &filter, after.as_ref(), limit - items.len()).await?;
            items.extend(rows);
            after = more;
            if after.is_none() || items.len() >= limit {
                break;
            }
        }
        self.page(caller, "list_runs", a, items, after).await
    }

    /// At most `limit` rows of all shards in order, and after which row to go on when there may be more.
    async fn runs_round(
        &self,
        caller: &Caller,
        filter: &RunFilter,
        after: Option<&RunsKey>,
        limit: usize,
    ) -> Result<(Vec<Value>, Option<RunsKey>), Refusal> {
        let shards = route::all(self.groups.shards()).map(|group| {
            let (org, filter, after) = (caller.org.clone(), filter.clone(), after.copied());
            self.read_settled(group, None, move |state, _, _| {
                read::runs_page(state, &org, &filter, after.as_ref(), limit)
            })
        });
        let pages = futures_util::future::try_join_all(shards).await?;
        // Beyond the row where a shard's scan stopped, that shard may hold rows that come first.
        let horizon = pages.iter().filter_map(|page| page.more).min();
        let mut rows: Vec<_> = pages.into_iter().flat_map(|page| page.items).collect();
        rows.sort_by_key(|(key, _)| *key);
        if let Some(horizon) = &horizon {
            rows.retain(|(key, _)| key <= horizon);
        }
        let cut = rows.len() > limit;
        rows.truncate(limit);
        let more = if cut { rows.last().map(|(key, _)| *key) } else { horizon };
        Ok((rows.into_iter().map(|(_, item)| item).collect(), more))
    }
}
