//! OAuth 2.1 resource server: a bearer token in, exactly one identity out (AUTH-401, design §8).

mod cache;
mod check;
pub mod config;
pub mod dev;
mod keys;
mod rules;
mod seen;
mod source;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, Validation};
use quorate_proto::Caller;
use serde_json::Value;

use cache::Verified;
use config::{AuthConfig, IssuerConfig, RuleConfig};
use keys::KeySet;
use source::{KeySource, NoKey, Remote};

/// The longest token looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// How long one fetch of an issuer's keys may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a caller is not let in. What the caller may know is in the variant; details are logged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The token is missing, malformed, expired, of another audience or issuer, or not signed by a known key: 401.
    #[error("the access token is not valid: {0}")]
    Invalid(&'static str),
    /// The token is sound, but its bearer is no member here: 403.
    #[error("the bearer of this token is not a member here")]
    NoIdentity,
    /// The issuer's keys cannot be fetched now: 503.
    #[error("the issuer's keys cannot be reached")]
    Unavailable,
}

/// Verifies tokens and maps them to identities.
pub struct Authenticator {
    issuers: Vec<Issuer>,
    leeway_s: u64,
    verified: Verified,
    seen: seen::Seen,
}

struct Issuer {
    name: String,
    audience: Vec<String>,
    algorithms: Vec<Algorithm>,
    keys: KeySource,
    rules: Vec<RuleConfig>,
}

impl Authenticator {
    /// Builds it from settings; every fault at once. Reads the key files that the settings name.
    pub fn new(config: &AuthConfig) -> Result<Self, Vec<String>> {
        let mut faults = config.faults();
        let mut issuers = Vec::new();
        for (index, issuer) in config.issuers.iter().enumerate() {
            match Issuer::new(issuer) {
                Ok(issuer) => issuers.push(issuer),
                Err(fault) => faults.push(format!("auth.issuers[{index}]: {fault}")),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self { issuers, leeway_s: config.leeway_s, verified: Verified::default(), seen: seen::Seen::default() })
    }

    /// The identity behind a bearer token (without the word `Bearer`).
    pub async fn authenticate(&self, token: &str) -> Result<Caller, AuthError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if let Some(caller) = self.verified.get(token, now) {
            return Ok(caller);
        }
        let (issuer, claims) = self.verify(token).await?;
        let caller = rules::identity(&issuer.rules, &claims).map_err(|fault| {
            tracing::warn!(issuer = issuer.name, subject = ?claims.get("sub"), fault, "refused a token's bearer");
            AuthError::NoIdentity
        })?;
        let expires_s = claims.get("exp").and_then(Value::as_f64).unwrap_or_default();
        let end = Duration::try_from_secs_f64(expires_s).unwrap_or_default() + Duration::from_secs(self.leeway_s);
        self.verified.put(token, &caller, now, end);
        self.seen.note(&caller);
        Ok(caller)
    }

    /// Whether an identity of a group has been seen at this node since it started.
    pub fn has_seen(&self, org: &str, group: &str) -> bool {
        self.seen.has(org, group)
    }

    async fn verify(&self, token: &str) -> Result<(&Issuer, Value), AuthError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(AuthError::Invalid("too long"));
        }
        // Header and issuer are read unverified only to choose the key; nothing else is taken from them.
        let header = jsonwebtoken::decode_header(token).map_err(|_| AuthError::Invalid("malformed"))?;
        let unverified: Value =
            jsonwebtoken::dangerous::insecure_decode_claims(token).map_err(|_| AuthError::Invalid("malformed"))?;
        let named = unverified.get("iss").and_then(Value::as_str);
        let issuer = self.issuers.iter().find(|issuer| Some(issuer.name.as_str()) == named);
        let issuer = issuer.ok_or(AuthError::Invalid("unknown issuer"))?;
        if !issuer.algorithms.contains(&header.alg) || header.crit.is_some() {
            return Err(AuthError::Invalid("algorithm not allowed"));
        }
        let key = issuer.keys.find(header.kid.as_deref(), header.alg).await.map_err(|none| match none {
            NoKey::Unknown => AuthError::Invalid("unknown key"),
            NoKey::Unavailable(fault) => {
                tracing::error!(issuer = issuer.name, fault, "no keys of an issuer");
                AuthError::Unavailable
            }
        })?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = self.leeway_s;
        validation.validate_nbf = true;
        validation.set_issuer(&[&issuer.name]);
        validation.set_audience(&issuer.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        let data = jsonwebtoken::decode::<Value>(token, &key, &validation).map_err(|fault| {
            tracing::debug!(issuer = issuer.name, %fault, "refused a token");
            AuthError::Invalid(reason(fault.kind()))
        })?;
        Ok((issuer, data.claims))
    }
}

/// What a refused caller is told: enough to fix an honest mistake.
fn reason(kind: &jsonwebtoken::errors::ErrorKind) -> &'static str {
    use jsonwebtoken::errors::ErrorKind;
    if matches!(kind, ErrorKind::ExpiredSignature) {
        "expired"
    } else if matches!(kind, ErrorKind::ImmatureSignature) {
        "not valid yet"
    } else if matches!(kind, ErrorKind::InvalidAudience) {
        "wrong audience"
    } else if matches!(kind, ErrorKind::InvalidSignature) {
        "bad signature"
    } else {
        "malformed"
    }
}

impl Issuer {
    fn new(config: &IssuerConfig) -> Result<Self, String> {
        let keys = if let Some(url) = &config.jwks_url {
            let client = crate::http::client::client(FETCH_TIMEOUT).map_err(|e| e.to_string())?;
            KeySource::Remote(Remote::new(url.clone(), client))
        } else if let Some(file) = &config.jwks_file {
            let text = std::fs::read(file).map_err(|e| format!("jwks_file {}: {e}", file.display()))?;
            let set: Value = serde_json::from_slice(&text).map_err(|e| format!("jwks_file {}: {e}", file.display()))?;
            KeySource::Fixed(KeySet::parse(&set)?)
        } else {
            // The settings check has already said so when there is none at all.
            KeySource::Fixed(config.jwks.as_ref().map_or_else(|| Ok(KeySet::default()), KeySet::parse)?)
        };
        Ok(Self {
            name: config.issuer.clone(),
            audience: config.audience.clone(),
            algorithms: config.algorithms.iter().map(|named| (*named).into()).collect(),
            keys,
            rules: config.identities.clone(),
        })
    }
}
