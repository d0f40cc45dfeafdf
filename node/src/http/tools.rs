//! What the HTTP layer asks of the tools behind it.

use std::future::Future;

use agentprocess::json::Value;
use quorate_proto::Caller;

/// A tool as clients see it in `tools/list`.
#[derive(Clone, Copy, Debug)]
pub struct ToolInfo {
    /// Its name.
    pub name: &'static str,
    /// What it does and when to use it.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub input_schema: &'static str,
    /// JSON Schema of the envelope it answers with.
    pub output_schema: Option<&'static str>,
    /// Whether it changes anything.
    pub writes: bool,
}

/// The tools, and the files that signed addresses open.
pub trait Tools: Send + Sync + 'static {
    /// Every tool, in the order shown.
    fn tools(&self) -> Vec<ToolInfo>;

    /// The whole envelope `{ok, …}`; `None` when there is no such tool.
    fn call(&self, caller: &Caller, tool: &str, arguments: Value) -> impl Future<Output = Option<Value>> + Send;

    /// The file that `/files/{id}?{query}` opens.
    fn file(&self, id: &str, query: &str) -> impl Future<Output = Result<FileBody, FileError>> + Send;
}

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
    /// The address was not made by this cluster, or was changed.
    NotSigned,
    /// The address's time is over; a new read of the run gives a new one.
    Expired,
    /// No such file.
    Missing,
    /// The stored bytes no longer match the recorded hash.
    Damaged,
    /// It could not be read now.
    Unavailable(String),
}
