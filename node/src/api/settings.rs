//! What an operator sets for the tools.

use agentprocess::time::Span;
use quorate_proto::shard::Limits;

/// Settings of the tools. They are equal on every node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a claim lasts, in milliseconds; `describe.leaseSeconds`.
    pub lease: Span,
    /// `limits.runDataBytes` (CAP-MEASURE).
    pub run_data_bytes_max: u64,
    /// Largest upload in decoded bytes; `describe.maxUploadBytes` (UPLOAD-LIMIT).
    pub upload_bytes_max: u64,
    /// Base address of file urls, without a slash at the end (FILE-URL: never the request's Host).
    pub public_url: String,
    /// How long a file url opens, in milliseconds (FILE-URL).
    pub url_ttl: Span,
    /// Group of the operators, who also decide escalations of processes that name no group (OPERATOR, ESC-WHERE).
    pub operators: String,
}

impl Settings {
    /// The defaults, with file urls under `public_url`.
    pub fn new(public_url: impl Into<String>) -> Self {
        Self {
            lease: Span(600_000),
            run_data_bytes_max: 1024 * 1024,
            upload_bytes_max: 10 * 1024 * 1024,
            public_url: public_url.into().trim_end_matches('/').to_owned(),
            url_ttl: Span(15 * 60_000),
            operators: "operators".to_owned(),
        }
    }

    /// The settings that travel in an entry.
    pub(crate) fn limits(&self) -> Limits {
        Limits { lease: self.lease, run_data_bytes_max: self.run_data_bytes_max }
    }
}
