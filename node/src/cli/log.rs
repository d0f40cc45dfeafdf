//! Log lines, on standard error.

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Begins logging.
pub(super) fn begin(format: LogFormat, filter: &str) -> anyhow::Result<()> {
    // The Raft library tells each vote; only who asks for it hears that.
    let quiet = if filter.contains("openraft") { "" } else { ",openraft=warn" };
    let filter = EnvFilter::try_new(format!("{filter}{quiet}")).context("log.filter")?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let begun = match format {
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
    };
    begun.map_err(|e| anyhow::anyhow!("logging: {e}"))
}
