//! Opening a file by its signed url (FILE-URL, FILE-VERIFY).

use quorate_proto::{FileId, Refusal};
use quorate_statemachine::shard::read;
use quorate_statemachine::store::{Fatal, Read};
use sha2::{Digest, Sha256};

use super::url::Query;
use super::{Api, route};
use crate::groups::Groups;

/// A file's bytes with what it was uploaded as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBody {
    /// The label it was uploaded with; never a path.
    pub file_name: String,
    /// The MIME type it was uploaded with.
    pub content_type: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why a file is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileError {
    /// The url was not made by this cluster, or was changed.
    NotSigned,
    /// The url's time is over; a new read of the run gives a new one.
    Expired,
    /// No such file.
    Missing,
    /// The stored bytes no longer match the recorded hash.
    Damaged,
    /// The file's shard could not be read now.
    Unavailable(String),
}

impl From<Refusal> for FileError {
    fn from(e: Refusal) -> Self {
        Self::Unavailable(e.message)
    }
}

impl<G: Groups> Api<G> {
    /// The file that the url `{public_url}/files/{id}?{query}` opens.
    pub async fn file(&self, id: &str, query: &str) -> Result<FileBody, FileError> {
        let query = Query::parse(query).ok_or(FileError::NotSigned)?;
        let key = self.key(query.key).await?.ok_or(FileError::NotSigned)?;
        if !query.is_signed(&key, id) {
            return Err(FileError::NotSigned);
        }
        let file: FileId = id.parse().map_err(|_| FileError::Missing)?;
        let group = route::file(file, self.groups.shards()).ok_or(FileError::Missing)?;
        let _turn = self.turn().await?;
        self.read_long(group, move |state, _, at| {
            if at >= query.expires { Ok(Err(FileError::Expired)) } else { body(state, &query.org, file) }
        })
        .await?
    }
}

fn body(state: &dyn Read, org: &str, file: FileId) -> Result<Result<FileBody, FileError>, Fatal> {
    let Some(row) = read::file(state, org, file)? else { return Ok(Err(FileError::Missing)) };
    let mut bytes = Vec::new();
    for index in 0..row.chunks {
        bytes.extend(read::file_chunk(state, file, index)?.unwrap_or_default());
    }
    if <[u8; 32]>::from(Sha256::digest(&bytes)) != row.sha256 {
        return Ok(Err(FileError::Damaged));
    }
    Ok(Ok(FileBody { file_name: row.file_name, content_type: row.content_type, bytes }))
}
