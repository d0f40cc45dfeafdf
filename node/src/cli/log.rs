//! Log lines, on standard error.

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Begins logging.
pub(super) fn begin(format: LogFormat, filter: &str) -> anyhow::Result<()> {
    // The Raft library tells each vote and warns of the usual, the MCP library tells each call; only who asks hears that.
    let mut filter = filter.to_owned();
    for (library, level) in [("openraft", "error"), ("rmcp", "warn")] {
        if !filter.contains(library) {
            filter.extend([",", library, "=", level]);
        }
    }
    let filter = EnvFilter::try_new(filter).context("log.filter")?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let begun = match format {
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
    };
    begun.map_err(|e| anyhow::anyhow!("logging: {e}"))
}
