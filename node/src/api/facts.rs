//! Facts about cited files, gathered before a command is proposed and judged inside (FILE-VERIFY).

use quorate_proto::shard::{Evidence, FileFact, Submission};
use quorate_proto::{Caller, FileId, Refusal};
use quorate_statemachine::shard::read;
use quorate_statemachine::store::{Fatal, Read};
use sha2::{Digest, Sha256};

use agentprocess::EvidenceKind;

use super::arguments::Arguments;
use super::{Api, route};
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    /// The submitted work of `submit` or of a `completed` decision, with the facts about its files.
    pub(crate) async fn submission(&self, caller: &Caller, arguments: &Arguments) -> Result<Submission, Refusal> {
        let evidence = match arguments.evidence() {
            None => None,
            Some(items) => {
                let mut evidence = Vec::with_capacity(items.len());
                for (kind, reference) in items {
                    let file = match kind {
                        EvidenceKind::File => self.file_fact(&caller.org, &reference).await?,
                        EvidenceKind::Link => FileFact::NotAFile,
                    };
                    evidence.push(Evidence { kind, reference, file });
                }
                Some(evidence)
            }
        };
        Ok(Submission {
            output: arguments.object("output"),
            evidence,
            summary: arguments.text("summary"),
            next: arguments.text("next"),
            reason: arguments.text("reason"),
        })
    }

    async fn file_fact(&self, org: &str, reference: &str) -> Result<FileFact, Refusal> {
        let Ok(file) = reference.parse::<FileId>() else { return Ok(FileFact::Missing) };
        let Some(group) = route::file(file, self.groups.shards()) else { return Ok(FileFact::Missing) };
        let org = org.to_owned();
        self.read(group, move |state, _, _| fact(state, &org, file)).await
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
