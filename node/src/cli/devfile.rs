//! `dev.json`: addresses and tokens of `quorate dev`, for tools and tests. Only its owner may read it.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::dev::ORGANIZATION;
use crate::auth::dev::{DevIdentity, DevIssuer, DevToken};
use crate::server::Running;

const FILE: &str = "dev.json";
/// Tokens in the file last so long.
const TTL: Duration = Duration::from_hours(30 * 24);
/// The operator among the identities of the file.
pub(super) const OPERATOR: &str = "ops@example.com";

/// What the file holds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DevFile {
    pub(super) mcp: Vec<String>,
    pub(super) admin: Vec<String>,
    pub(super) organization: String,
    pub(super) tokens: BTreeMap<String, String>,
}

/// Keeps a folder to one `quorate dev` for as long as the lock is held: a second one must not touch the first one's file.
pub(super) fn lock(data: &Path) -> anyhow::Result<File> {
    let place = data.join("dev.lock");
    let place = || place.display().to_string();
    let lock = File::options().create(true).append(true).mode(0o600).open(place()).with_context(place)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            bail!(
                "data folder {}: in use by another quorate dev; stop that one, or give another folder with --data",
                data.display()
            )
        }
        Err(TryLockError::Error(fault)) => Err(fault).with_context(place),
    }
}

/// Takes the file of an earlier start away: while it is there, the server was up.
pub(super) fn remove(data: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(data.join(FILE)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e).context(data.join(FILE).display().to_string()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes the file whole or not at all; returns its place.
pub(super) fn write(data: &Path, issuer: &DevIssuer, nodes: &[Running]) -> anyhow::Result<PathBuf> {
    let token = |who, groups: &[&str], operator| {
        let groups = groups.iter().map(|g| (*g).to_owned()).collect();
        issuer.token(&DevToken { who, organization: ORGANIZATION.to_owned(), groups, operator, ttl: TTL })
    };
    let agent = |id: &str| token(DevIdentity::Agent(id.to_owned()), &[], false);
    let human = |email: &str, group, operator| token(DevIdentity::Human(email.to_owned()), group, operator);
    let tokens = [
        ("agent-1", agent("agent-1")?),
        ("agent-2", agent("agent-2")?),
        ("mira@example.com", human("mira@example.com", &["g_requesters"], false)?),
        ("fin@example.com", human("fin@example.com", &["g_finance"], false)?),
        (OPERATOR, human(OPERATOR, &[], true)?),
    ];
    let file = DevFile {
        mcp: nodes.iter().map(|node| node.mcp_url.clone()).collect(),
        admin: nodes.iter().map(|node| node.admin_url.clone()).collect(),
        organization: ORGANIZATION.to_owned(),
        tokens: tokens.map(|(name, token)| (name.to_owned(), token)).into(),
    };
    let place = data.join(FILE);
    put(&place, &(serde_json::to_string_pretty(&file)? + "\n")).with_context(|| place.display().to_string())?;
    Ok(place)
}

/// Reads the file of a server that was started on `data`.
pub(super) fn read(data: &Path) -> anyhow::Result<DevFile> {
    let place = data.join(FILE);
    let hint = || format!("{}: is quorate dev running there? Else give --server and --token-file", place.display());
    let text = std::fs::read(&place).with_context(hint)?;
    serde_json::from_slice(&text).with_context(|| place.display().to_string())
}

/// The key that signs notifications of a data folder; made on first use.
pub(super) fn notify_key(data: &Path) -> anyhow::Result<String> {
    let place = data.join("notify-key");
    if let Ok(key) = std::fs::read_to_string(&place) {
        return Ok(key.trim().to_owned());
    }
    let key = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
    put(&place, &(key.clone() + "\n")).with_context(|| place.display().to_string())?;
    Ok(key)
}

/// Writes beside the place and moves it there, readable by its owner only.
fn put(place: &Path, text: &str) -> std::io::Result<()> {
    let fresh = place.with_extension(uuid::Uuid::new_v4().simple().to_string());
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, place)
}
