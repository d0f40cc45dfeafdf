//! The server as the MCP SDK sees it.

use std::sync::{Arc, PoisonError};

use agentprocess::json::Value;
use axum::body::Bytes;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::mcp::{End, Pending, Sent};
use super::room::Taken;
use super::tools::{ToolInfo, Tools};

/// What an agent is told once, before any call.
const INSTRUCTIONS: &str = include_str!("instructions.txt");

/// Shared by all requests.
pub struct Shared<T> {
    tools: Arc<T>,
    infos: Vec<ToolInfo>,
    listed: Vec<Tool>,
    tracker: TaskTracker,
}

impl<T: Tools> Shared<T> {
    /// Over `tools`; calls run under `tracker`.
    pub fn new(tools: Arc<T>, tracker: TaskTracker) -> Self {
        let infos = tools.tools();
        let listed = infos.iter().map(listed).collect();
        Self { tools, infos, listed, tracker }
    }
}

/// The handler of one request.
pub struct Handler<T>(pub Arc<Shared<T>>);

impl<T: Tools> ServerHandler for Handler<T> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut implementation = Implementation::new("quorate", env!("CARGO_PKG_VERSION"));
        implementation.title = Some("Quorate process server".to_owned());
        let mut info = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        info.server_info = implementation;
        info
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.listed.clone()))
    }

    /// Runs a call to its end even when the client goes away: what a write did must not hang on a connection.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.0.infos.iter().find(|tool| tool.name == request.name).map(|tool| tool.name) else {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None));
        };
        let pending = context.extensions.get::<axum::http::request::Parts>();
        let pending = pending.and_then(|parts| parts.extensions.get::<Arc<Pending>>()).cloned();
        let pending = pending.ok_or_else(|| ErrorData::internal_error("the call lost its arguments", None))?;
        let sent = pending.sent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let answered = match sent {
            Some(Sent::Arguments(arguments, taken)) => self.run(tool, &pending, arguments, taken).await,
            Some(Sent::TooLarge) => Some((self.0.tools.too_large(tool), [None, None])),
            Some(Sent::Busy) => Some((self.0.tools.busy(), [None, None])),
            None => None,
        };
        let (end, answer) = if let Some((envelope, taken)) = answered {
            (End::Envelope { tool, envelope, taken }, Ok(CallToolResult::success(Vec::new()).into()))
        } else {
            let message = format!("internal error; request {}", pending.request_id);
            (End::Broken { tool }, Err(ErrorData::internal_error(message, None)))
        };
        *pending.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
        answer
    }
}

impl<T: Tools> Handler<T> {
    async fn run(
        &self,
        tool: &'static str,
        pending: &Arc<Pending>,
        arguments: Bytes,
        taken: [Taken; 2],
    ) -> Option<(Value, [Taken; 2])> {
        let (tools, caller) = (Arc::clone(&self.0.tools), Arc::clone(&pending.caller));
        // The call keeps its room even when the client goes away.
        let call = async move { Some((tools.call(&caller, tool, arguments).await?, taken)) };
        let call = self.0.tracker.spawn(call.in_current_span());
        match tokio::time::timeout(self.0.tools.limit(tool), call).await {
            Ok(Ok(answered)) => answered,
            Err(_) => {
                tracing::warn!(tool, request = &*pending.request_id, "a tool call is not answered in time and goes on");
                Some((self.0.tools.late(tool), [None, None]))
            }
            Ok(Err(fault)) => {
                tracing::error!(tool, request = &*pending.request_id, %fault, "a tool call broke");
                None
            }
        }
    }
}

fn listed(info: &ToolInfo) -> Tool {
    let mut tool = Tool::new(info.name, info.description, schema(info.input_schema));
    tool.output_schema = info.output_schema.map(schema);
    // Every write is idempotent on its request id (§6). Nothing here reaches beyond the server.
    let hints = ToolAnnotations::new().read_only(!info.writes).idempotent(true).open_world(false);
    tool.annotations = Some(if info.writes { hints.destructive(info.name == "cancel") } else { hints });
    tool
}

/// A schema as clients get it. Its `$id` is left out, since clients that compile every tool's schema in one registry
/// refuse the second of an id; and `$schema`, since 2020-12 is the protocol's default.
fn schema(text: &str) -> Arc<JsonObject> {
    #[expect(clippy::expect_used, reason = "embedded text; `tools/list` is tested")]
    let mut schema: JsonObject = serde_json::from_str(text).expect("our own schemas are JSON objects");
    schema.remove("$id");
    schema.remove("$schema");
    Arc::new(schema)
}
