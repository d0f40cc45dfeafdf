//! `start_run`.

use std::collections::BTreeMap;

use quorate_proto::shard::{Action, InstallVersion, ShardCommand};
use quorate_proto::{Caller, Command, GroupId, Refusal, RunId};
use quorate_statemachine::shard::read::{self, InstalledVersion};

use crate::api::arguments::Arguments;
use crate::api::catalog::{self, VersionRow};
use crate::api::entropy::unique;
use crate::api::envelope::{Answer, failed, not_found};
use crate::api::{Api, route};
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn start_run(&self, caller: &Caller, a: &Arguments) -> Answer {
        let (process, request) = (a.need("process")?, a.need("requestId")?);
        let shard = route::home(&caller.org, &request, self.groups.shards());
        let group = GroupId::Shard(shard);
        let version = match self.published(&caller.org, &process, a.number("version")).await? {
            Some(row) => {
                self.install(group, &caller.org, &row).await?;
                row.number
            }
            // No version has the number 0: not found. But what a process started before it was retired stays started, and
            // an earlier try of this very call may be on its way, so the shard decides.
            None => 0,
        };
        let action = Action::StartRun {
            run: RunId(unique(&*self.entropy, shard)?),
            process,
            version,
            // Nothing starts with the version 0, so its inputs need no room in the log.
            inputs: a.object("inputs").filter(|_| version > 0).unwrap_or_default(),
            test: a.text("mode").as_deref() == Some("test"),
        };
        self.write(caller, "start_run", a, group, action).await
    }

    /// The version to start: the given one, or the latest. A retired process has none (VERSIONS).
    async fn published(&self, org: &str, process: &str, version: Option<u64>) -> Result<Option<VersionRow>, Refusal> {
        let (org, process) = (org.to_owned(), process.to_owned());
        let read = self.groups.read(GroupId::Catalog, move |state, _| match version {
            None => catalog::latest(state, &org, &process),
            Some(number) => match u32::try_from(number) {
                Ok(number) => Ok(catalog::version(state, &org, &process, number)?.filter(|row| !row.retired)),
                Err(_) => Ok(None),
            },
        });
        read.await?.map_err(|e| failed(&e))
    }

    /// Sees to it that the shard has the version as the catalog has it, roles included: a shard never reads the
    /// catalog while it applies (design §1).
    async fn install(&self, group: GroupId, org: &str, row: &VersionRow) -> Result<(), Refusal> {
        let wanted = self.as_installed(org, row);
        let (org, process, number) = (org.to_owned(), row.process.name.clone(), row.number);
        // No barrier: a shard that once had a map never goes back to an older one, and installing twice changes nothing.
        let read = self.read_answered(group, move |state, _| read::version(state, &org, &process, number)).await?;
        if read.0.is_some_and(|has| same(&has, &wanted)) {
            return Ok(());
        }
        self.groups.propose(group, Command::Shard(ShardCommand::InstallVersion(Box::new(wanted)))).await??;
        Ok(())
    }

    /// Gives a version's present role map to every shard that has the version: items created from now on use the new
    /// groups (ROLE-VERSIONS). Call it after the catalog recorded a re-map.
    pub async fn spread_roles(&self, org: &str, process: &str, version: u32) -> Result<(), Refusal> {
        let (o, p) = (org.to_owned(), process.to_owned());
        let row = self.groups.read(GroupId::Catalog, move |state, _| catalog::version(state, &o, &p, version)).await?;
        let row = row.map_err(|e| failed(&e))?.ok_or_else(|| not_found("process or version"))?;
        for group in route::all(self.groups.shards()) {
            let (o, p) = (org.to_owned(), process.to_owned());
            let has = self.read(group, move |state, _, _| read::version(state, &o, &p, version));
            if has.await?.is_some() {
                self.install(group, org, &row).await?;
            }
        }
        Ok(())
    }

    fn as_installed(&self, org: &str, row: &VersionRow) -> InstallVersion {
        let operators = self.settings.operators.clone();
        let roles: BTreeMap<String, String> = row.roles.clone();
        InstallVersion {
            org: org.to_owned(),
            version: row.number,
            hash: row.hash.clone(),
            roles,
            mapping: row.mapping,
            escalations: row.escalations.clone().unwrap_or_else(|| operators.clone()),
            operators,
            process: row.process.clone(),
            body: row.body.clone(),
        }
    }
}

/// Whether the shard has the version with this role map, or a later one, and the groups it is to have now. Equal roles do not
/// suffice: under an older number they would give way to a map between the two that comes late (ROLE-VERSIONS).
fn same(has: &InstalledVersion, wanted: &InstallVersion) -> bool {
    has.hash == wanted.hash
        && has.mapping >= wanted.mapping
        && has.escalations == wanted.escalations
        && has.operators == wanted.operators
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn equal_roles_of_an_older_map_are_not_the_same() {
        let source = "---\nname: p\ndescription: d\nsteps: [{ id: z, finish: ok }]\n---\n";
        let document = agentprocess::Document::read(source.as_bytes()).unwrap();
        let roles = BTreeMap::from([("reviewer".to_owned(), "g_a".to_owned())]);
        let wanted = |mapping| InstallVersion {
            org: "o".to_owned(),
            version: 1,
            hash: document.hash.clone(),
            roles: roles.clone(),
            mapping,
            escalations: "g_ops".to_owned(),
            operators: "g_ops".to_owned(),
            process: document.process.clone(),
            body: document.body.clone(),
        };
        let has = |mapping| {
            let InstallVersion { hash, roles, mapping, escalations, operators, .. } = wanted(mapping);
            InstalledVersion { hash, roles, mapping, escalations, operators }
        };
        // A at 1, B at 2, A again at 3: 3 must be installed, or B would take its place when it comes late.
        assert!(!same(&has(1), &wanted(3)));
        assert!(same(&has(3), &wanted(3)) && same(&has(3), &wanted(2)));
    }
}
