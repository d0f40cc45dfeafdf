//! Where an issuer's keys come from: fixed, or fetched and cached.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey};
use tokio::time::Instant;

use super::keys::KeySet;

/// Keys are fetched again when older than this.
const REFRESH: Duration = Duration::from_mins(10);
/// Keys older than this are not used even when the issuer cannot be reached: a withdrawn key must end some day.
const STALE_MAX: Duration = Duration::from_hours(24);
/// The least time between two fetches: tokens with made-up key ids must not turn into load on the issuer.
const COOL_DOWN: Duration = Duration::from_secs(10);
/// The longest a key set may be, in bytes.
const SET_BYTES_MAX: usize = 1 << 20;

/// Why there is no key for a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// The issuer has no such key.
    Unknown,
    /// The issuer cannot be reached and nothing usable is cached.
    Unavailable(String),
}

/// Keys of one issuer.
pub enum KeySource {
    /// Given by the settings.
    Fixed(KeySet),
    /// Fetched from the issuer.
    Remote(Remote),
}

/// A fetched key set with its cache.
pub struct Remote {
    url: String,
    client: reqwest::Client,
    cached: Mutex<Option<(Instant, Arc<KeySet>)>>,
    /// When a fetch was last begun; held while fetching, so that one fetch serves all who wait.
    fetching: tokio::sync::Mutex<Option<Instant>>,
}

impl KeySource {
    /// The key for a token's header.
    pub async fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<DecodingKey, NoKey> {
        match self {
            Self::Fixed(keys) => keys.find(kid, algorithm).cloned().ok_or(NoKey::Unknown),
            Self::Remote(remote) => remote.find(kid, algorithm).await,
        }
    }
}

impl Remote {
    /// Keys at `url`, fetched with `client` when first needed.
    pub fn new(url: String, client: reqwest::Client) -> Self {
        Self { url, client, cached: Mutex::new(None), fetching: tokio::sync::Mutex::new(None) }
    }

    async fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<DecodingKey, NoKey> {
        let cached = self.cached();
        let known = cached.as_ref().and_then(|(at, keys)| Some((*at, keys.find(kid, algorithm)?.clone())));
        match known {
            Some((at, key)) if at.elapsed() < REFRESH => return Ok(key),
            Some((at, key)) if at.elapsed() < STALE_MAX => {
                // Old keys still serve: only one caller refreshes, and its failure changes nothing. The fresh set
                // may have withdrawn the key, so it is asked again.
                let Ok(last) = self.fetching.try_lock() else { return Ok(key) };
                return match self.fetch(last).await {
                    Ok(()) => {
                        self.cached().and_then(|(_, keys)| keys.find(kid, algorithm).cloned()).ok_or(NoKey::Unknown)
                    }
                    Err(_) => Ok(key),
                };
            }
            Some(_) | None => {}
        }
        let last = self.fetching.lock().await;
        // Someone else may have fetched while this call waited.
        let now = self.cached();
        if now.as_ref().map(|(at, _)| *at) == cached.as_ref().map(|(at, _)| *at) {
            match self.fetch(last).await {
                Ok(()) => {}
                Err(fault) if self.usable().is_none() => return Err(NoKey::Unavailable(fault)),
                Err(_) => return Err(NoKey::Unknown),
            }
        }
        self.usable().and_then(|keys| keys.find(kid, algorithm).cloned()).ok_or(NoKey::Unknown)
    }

    fn cached(&self) -> Option<(Instant, Arc<KeySet>)> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn usable(&self) -> Option<Arc<KeySet>> {
        self.cached().filter(|(at, _)| at.elapsed() < STALE_MAX).map(|(_, keys)| keys)
    }

    async fn fetch(&self, mut last: tokio::sync::MutexGuard<'_, Option<Instant>>) -> Result<(), String> {
        if last.is_some_and(|last| last.elapsed() < COOL_DOWN) {
            return Err("asked too recently".to_owned());
        }
        *last = Some(Instant::now());
        let keys = self.download().await.inspect_err(|fault| {
            tracing::warn!(url = %self.url, fault, "cannot fetch an issuer's keys");
        })?;
        let fetched = Some((Instant::now(), Arc::new(keys)));
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = fetched;
        Ok(())
    }

    async fn download(&self) -> Result<KeySet, String> {
        let mut response = self.client.get(&self.url).send().await.map_err(|e| e.to_string())?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| e.to_string())? {
            body.extend_from_slice(&chunk);
            if body.len() > SET_BYTES_MAX {
                return Err("the key set is too long".to_owned());
            }
        }
        KeySet::parse(&serde_json::from_slice(&body).map_err(|e| e.to_string())?)
    }
}
