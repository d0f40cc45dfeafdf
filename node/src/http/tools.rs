//! What the HTTP layer asks of the tools behind it.

use std::future::Future;
use std::time::Duration;

use agentprocess::json::Value;
use axum::body::Bytes;
use quorate_proto::Caller;

use crate::api::{self, Api, Tool};
use crate::groups::Groups;

pub use crate::api::{FileBody, FileError};

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

    /// The whole envelope `{ok, …}` for arguments as they were sent; `None` when there is no such tool.
    fn call(&self, caller: &Caller, tool: &str, arguments: Bytes) -> impl Future<Output = Option<Value>> + Send;

    /// The envelope for a call that is larger than a request may be.
    fn too_large(&self, tool: &str) -> Value;

    /// The envelope for a call that there was no room for.
    fn busy(&self) -> Value;

    /// How long a client waits for a tool's answer at most. The call goes on behind it.
    fn limit(&self, tool: &str) -> Duration;

    /// The envelope for a call that is not answered in time.
    fn late(&self, tool: &str) -> Value;

    /// The file that `/files/{id}?{query}` opens.
    fn file(&self, id: &str, query: &str) -> impl Future<Output = Result<FileBody, FileError>> + Send;
}

impl<G: Groups> Tools for Api<G> {
    fn tools(&self) -> Vec<ToolInfo> {
        let info = |tool: &Tool| ToolInfo {
            name: tool.name,
            description: tool.description,
            input_schema: tool.input_schema,
            output_schema: tool.output_schema,
            writes: tool.writes,
        };
        api::tools().iter().map(info).collect()
    }

    fn call(&self, caller: &Caller, tool: &str, arguments: Bytes) -> impl Future<Output = Option<Value>> + Send {
        Self::call(self, caller, tool, arguments)
    }

    fn too_large(&self, tool: &str) -> Value {
        Self::too_large(self, tool)
    }

    fn busy(&self) -> Value {
        Self::busy(self)
    }

    fn limit(&self, tool: &str) -> Duration {
        Self::limit(self, tool)
    }

    fn late(&self, tool: &str) -> Value {
        Self::late(self, tool)
    }

    fn file(&self, id: &str, query: &str) -> impl Future<Output = Result<FileBody, FileError>> + Send {
        Self::file(self, id, query)
    }
}
