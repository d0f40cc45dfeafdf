//! `upload` (UPLOAD-LIMIT): chunks first, then the file that makes them count.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_proto::shard::{Action, ShardCommand};
use quorate_proto::{Caller, Command, FileId, GroupId, Refusal, Unique};
use quorate_statemachine::shard::read::{self, RequestRow};
use sha2::{Digest, Sha256};

use crate::api::arguments::Arguments;
use crate::api::envelope::{Answer, invalid};
use crate::api::keys::Use;
use crate::api::{Api, route};
use crate::groups::Groups;

/// Bytes in a chunk: one log entry each.
const CHUNK_BYTES: usize = 256 * 1024;

impl<G: Groups> Api<G> {
    pub(in crate::api) async fn upload(&self, caller: &Caller, a: &Arguments) -> Answer {
        let content = a.borrowed("contentBase64").unwrap_or_default();
        let bytes = decode(content, self.settings.upload_bytes_max).map_err(|issue| invalid(vec![issue]))?;
        let request = a.need("requestId")?;
        let shard = route::home(&caller.org, &request, self.groups.shards());
        let group = GroupId::Shard(shard);
        let file = self.file_id(caller, a, shard).await?;
        // What is recorded is replayed, or conflicts; its chunks are stored already.
        if !self.is_recorded(group, &caller.org, &request).await? {
            self.store(group, file, &bytes).await?;
        }
        let action = Action::Upload {
            file,
            file_name: a.need("fileName")?,
            content_type: a.need("contentType")?,
            sha256: Sha256::digest(&bytes).into(),
            bytes: bytes.len() as u64,
            chunks: u32::try_from(bytes.chunks(CHUNK_BYTES).len()).unwrap_or(u32::MAX),
        };
        self.write(caller, "upload", a, group, action).await
    }

    /// Whether a call with this request id took effect in its home. Such records never go away.
    async fn is_recorded(&self, group: GroupId, org: &str, request: &str) -> Result<bool, Refusal> {
        let (org, request) = (org.to_owned(), request.to_owned());
        self.read(group, move |state, _, _| {
            Ok(matches!(read::request(state, &org, &request)?, Some(RequestRow::Recorded { .. })))
        })
        .await
    }

    async fn store(&self, group: GroupId, file: FileId, bytes: &[u8]) -> Result<(), Refusal> {
        for (index, chunk) in (0..).zip(bytes.chunks(CHUNK_BYTES)) {
            let chunk = ShardCommand::StoreChunk { file, index, bytes: chunk.to_vec() };
            self.groups.propose(group, Command::Shard(chunk)).await??;
        }
        Ok(())
    }

    /// An id that nobody can guess and that the same call always gets, so that a retry, or a twin at the same moment,
    /// writes the same chunks again instead of leaving orphans.
    async fn file_id(&self, caller: &Caller, a: &Arguments, shard: u16) -> Result<FileId, Refusal> {
        let (org, call) = (caller.org.as_bytes(), a.fingerprint("upload", caller));
        let mac = self.signing_key().await?.sign(Use::Upload, &[org, &call]);
        let mut random = [0; 10];
        random.copy_from_slice(&mac[..10]);
        Ok(FileId(Unique { shard, random }))
    }
}

/// The issue of an upload over the limit (UPLOAD-LIMIT).
pub(in crate::api) fn over(max: u64) -> String {
    format!("contentBase64: over {max} bytes")
}

/// Strict base64 of at most `max` bytes, or the issue.
fn decode(text: &str, max: u64) -> Result<Vec<u8>, String> {
    // Padding included, four characters hold three bytes: refuse before a large text is decoded.
    if (text.len() as u64 / 4).saturating_mul(3).saturating_sub(2) > max {
        return Err(over(max));
    }
    let bytes = STANDARD
        .decode(text)
        .map_err(|_| "contentBase64: expected standard base64 with padding and without white space".to_owned())?;
    if bytes.is_empty() {
        return Err("contentBase64: must not be empty".to_owned());
    }
    if bytes.len() as u64 > max { Err(over(max)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::decode;

    /// R/F-01
    #[test]
    fn only_strict_base64_within_the_limit() {
        assert_eq!(decode("AAEC", 3), Ok(vec![0, 1, 2]));
        assert_eq!(decode("AA==", 1), Ok(vec![0]));
        for bad in ["", "A", "AAE", "AA", "AB==", "AAEC\n", " AAEC", "AA E", "-_-_", "AA==AA==", "====", "é==="] {
            assert!(decode(bad, 100).is_err(), "{bad:?}");
        }
        assert_eq!(decode("AAECAw==", 3), Err("contentBase64: over 3 bytes".to_owned()));
        assert_eq!(decode(&"A".repeat(4000), 3), Err("contentBase64: over 3 bytes".to_owned()));
    }
}
