//! HTTP: MCP, files, metadata, metrics, and serving them.

pub mod client;
