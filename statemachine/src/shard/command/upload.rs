//! `upload` (§5), after its chunks.

use quorate_proto::shard::Action;
use quorate_proto::{Code, Refusal, Reply, codec};

use super::Call;
use crate::shard::change::Writes;
use crate::shard::keys::Key;
use crate::shard::read;
use crate::shard::refuse::Stop;
use crate::shard::rows::FileRow;
use crate::store::Fatal;

/// Records a file whose chunks are all here.
pub(super) fn execute(call: &Call) -> Result<(Writes, Reply), Stop> {
    call.check_request()?;
    let Action::Upload { file, file_name, content_type, sha256, bytes, chunks } = &call.write.action else {
        return Err(Fatal("an upload that is none".to_owned()).into());
    };
    let missing =
        || Refusal::new(Code::Retry, "The file did not arrive whole. Upload it again with the same requestId.");
    for index in 0..*chunks {
        read::file_chunk(call.store, *file, index)?.ok_or_else(missing)?;
    }
    if read::any_file(call.store, *file)?.is_some() {
        return Err(Refusal::new(Code::Retry, "The file's id is taken. Call again with the same requestId.").into());
    }
    let row = FileRow {
        org: call.caller().org.clone(),
        file_name: file_name.clone(),
        content_type: content_type.clone(),
        sha256: *sha256,
        bytes: *bytes,
        chunks: *chunks,
        by: call.caller().id.clone(),
        at: call.at,
    };
    let mut writes = Writes::default();
    writes.put(&Key::File { file: *file }, codec::encode(&row));
    Ok((writes, Reply::Uploaded { file: *file, sha256: *sha256, bytes: *bytes }))
}
