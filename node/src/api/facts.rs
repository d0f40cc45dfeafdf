//! Facts about cited files, gathered before a command is proposed and judged inside (FILE-VERIFY).

use std::collections::{BTreeMap, BTreeSet};

use agentprocess::EvidenceKind;
use quorate_proto::shard::{Evidence, FileFact, Submission};
use quorate_proto::{Caller, FileId, GroupId, Refusal};
use quorate_statemachine::shard::{Definitions, read};
use quorate_statemachine::store::{Fatal, Read};
use sha2::{Digest, Sha256};

use super::arguments::Arguments;
use super::envelope::invalid;
use super::{Api, route};
use crate::groups::Groups;

/// What is known of the files of one call.
type Facts = BTreeMap<FileId, FileFact>;

/// Most that the files of one call may have together, in bytes: they are read whole while it waits.
const FILES_BYTES_MAX: u64 = 256 << 20;

impl<G: Groups> Api<G> {
    /// The submitted work of `submit` or of a `completed` decision on a run of `group`, with the facts about its files. They
    /// are gathered only for a caller who `may` submit as far as a read can tell: the files are read whole, and whoever
    /// else asks is refused before anybody looks at them, or gets the recorded answer of the same call.
    pub(crate) async fn submission<F>(
        &self,
        caller: &Caller,
        arguments: &Arguments,
        group: GroupId,
        may: Option<F>,
    ) -> Result<Submission, Refusal>
    where
        F: Fn(&dyn Read, &Definitions) -> Result<bool, Fatal> + Send + 'static,
    {
        let items = arguments.evidence();
        let cited = items.iter().flatten().filter(|(kind, _)| *kind == EvidenceKind::File);
        let files: BTreeSet<FileId> = cited.filter_map(|(_, reference)| reference.parse().ok()).collect();
        let facts = match may.filter(|_| !files.is_empty()) {
            Some(may) => {
                let _turn = self.turn().await?;
                let may = self.read_long(group, move |state, definitions, _| may(state, definitions)).await?;
                if may { self.facts(&caller.org, files).await? } else { Facts::new() }
            }
            None => Facts::new(),
        };
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
        let (mut facts, mut left) = (Facts::new(), FILES_BYTES_MAX);
        for (group, files) in groups {
            let org = org.to_owned();
            let read = self.read_long(group, move |state, _, _| {
                let Some(left) = after_reading(state, &org, &files, left)? else { return Ok(None) };
                let facts = files.iter().map(|file| Ok((*file, fact(state, &org, *file)?)));
                Ok(Some((facts.collect::<Result<Vec<_>, Fatal>>()?, left)))
            });
            let over = || invalid(vec![format!("evidence: files of over {FILES_BYTES_MAX} bytes together")]);
            let (found, rest) = read.await?.ok_or_else(over)?;
            facts.extend(found);
            left = rest;
        }
        Ok(facts)
    }
}

/// What is left of `left` bytes when the files are read, if it suffices.
fn after_reading(state: &dyn Read, org: &str, files: &[FileId], mut left: u64) -> Result<Option<u64>, Fatal> {
    for file in files {
        let bytes = read::file(state, org, *file)?.map_or(0, |row| row.bytes);
        let Some(rest) = left.checked_sub(bytes) else { return Ok(None) };
        left = rest;
    }
    Ok(Some(left))
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
