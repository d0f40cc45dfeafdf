//! Facts about cited files, gathered before a command is proposed and judged inside (FILE-VERIFY).

use std::collections::{BTreeMap, BTreeSet};

use agentprocess::EvidenceKind;
use quorate_proto::shard::{Evidence, FileFact, Submission};
use quorate_proto::{Caller, FileId, GroupId, Refusal};
use quorate_statemachine::shard::read;
use quorate_statemachine::store::{Fatal, Read};
use sha2::{Digest, Sha256};

use super::arguments::Arguments;
use super::{Api, route};
use crate::groups::Groups;

/// What is known of the files of one call.
type Facts = BTreeMap<FileId, FileFact>;

impl<G: Groups> Api<G> {
    /// The submitted work of `submit` or of a `completed` decision, with the facts about its files. They are gathered
    /// only for a caller who `may` submit as far as one can tell here: the files are read whole, and whoever else asks
    /// is refused before anybody looks at them.
    pub(crate) async fn submission(
        &self,
        caller: &Caller,
        arguments: &Arguments,
        may: bool,
    ) -> Result<Submission, Refusal> {
        let items = arguments.evidence();
        let cited = items.iter().flatten().filter(|(kind, _)| *kind == EvidenceKind::File);
        let files: BTreeSet<FileId> = cited.filter_map(|(_, reference)| reference.parse().ok()).collect();
        let facts = if may { self.facts(&caller.org, files).await? } else { Facts::new() };
        let evidence = |(kind, reference): (EvidenceKind, String)| {
            let known = || reference.parse().ok().and_then(|file: FileId| facts.get(&file).copied());
            let file = match kind {
                EvidenceKind::File => known().unwrap_or(FileFact::Missing),
                EvidenceKind::Link => FileFact::NotAFile,
            };
            Evidence { kind, reference, file }
        };
        Ok(Submission {
            output: arguments.object("output"),
            evidence: items.map(|items| items.into_iter().map(evidence).collect()),
            summary: arguments.text("summary"),
            next: arguments.text("next"),
            reason: arguments.text("reason"),
        })
    }

    /// The facts about each file, one read for all of a group. The bytes are hashed again at every acceptance, since
    /// the record vouches for them from then on (FILE-VERIFY).
    async fn facts(&self, org: &str, files: BTreeSet<FileId>) -> Result<Facts, Refusal> {
        let mut groups: BTreeMap<GroupId, Vec<FileId>> = BTreeMap::new();
        for file in files {
            if let Some(group) = route::file(file, self.groups.shards()) {
                groups.entry(group).or_default().push(file);
            }
        }
        let mut facts = Facts::new();
        for (group, files) in groups {
            let org = org.to_owned();
            let read = self.read_long(group, move |state, _| {
                files.into_iter().map(|file| Ok((file, fact(state, &org, file)?))).collect::<Result<Vec<_>, Fatal>>()
            });
            facts.extend(read.await?);
        }
        Ok(facts)
    }
}

fn fact(state: &dyn Read, org: &str, file: FileId) -> Result<FileFact, Fatal> {
    let Some(row) = read::file(state, org, file)? else { return Ok(FileFact::Missing) };
    let mut hash = Sha256::new();
    for index in 0..row.chunks {
        // A chunk that is gone makes the hash differ.
        hash.update(read::file_chunk(state, file, index)?.unwrap_or_default());
    }
    let hash: [u8; 32] = hash.finalize().into();
    Ok(if hash == row.sha256 { FileFact::Verified(hash) } else { FileFact::Mismatch })
}
