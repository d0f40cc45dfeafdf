//! The built-in issuer of `quorate dev`: one Ed25519 key in the data folder, tokens for any name.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::config::{
    AuthConfig, ClientsConfig, ConditionConfig, IssuerConfig, KindConfig, RuleConfig, SignatureAlgorithm, SourceConfig,
};

/// The issuer's name. It is no address: there is nothing to sign in to.
pub const ISSUER: &str = "urn:quorate:dev";
/// The audience of development tokens.
pub const AUDIENCE: &str = "urn:quorate:dev:server";
/// The client that stands for an interactive login.
const LOGIN: &str = "quorate-dev-login";
/// The operator group of every development organization.
pub const OPERATOR_GROUP: &str = "g_ops";
/// The key's file in the data folder.
const FILE: &str = "dev-issuer-key";
/// PKCS #8 for an Ed25519 seed is this prefix and the 32 bytes (RFC 8410 §7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// What a development token says.
#[derive(Clone, Debug)]
pub struct DevToken {
    /// Whose it is.
    pub who: DevIdentity,
    /// The organization.
    pub organization: String,
    /// Groups.
    pub groups: Vec<String>,
    /// A human operator: adds [`OPERATOR_GROUP`].
    pub operator: bool,
    /// How long it is valid.
    pub ttl: Duration,
}

/// Whose a development token is.
#[derive(Clone, Debug)]
pub enum DevIdentity {
    /// An agent with this id.
    Agent(String),
    /// A human with this e-mail address, which is the id too.
    Human(String),
}

/// Signs development tokens.
pub struct DevIssuer {
    key: EncodingKey,
    jwks: Value,
}

/// The development issuer cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("development issuer: {0}")]
pub struct DevError(String);

impl DevIssuer {
    /// Opens the issuer of a data folder, and makes its key (mode 0600) on first use.
    pub fn open(dir: &Path) -> Result<Self, DevError> {
        if let Some(issuer) = Self::find(dir)? {
            return Ok(issuer);
        }
        let path = dir.join(FILE);
        Self::from_text(&path, &create(dir, &path).map_err(|e| fault(&path, &e))?)
    }

    /// The issuer of a data folder that has one.
    pub fn find(dir: &Path) -> Result<Option<Self>, DevError> {
        let path = dir.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::from_text(&path, &text).map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(fault(&path, &e)),
        }
    }

    fn from_text(path: &Path, text: &str) -> Result<Self, DevError> {
        let seed = URL_SAFE_NO_PAD.decode(text.trim()).ok().filter(|seed| seed.len() == 32);
        Self::from_seed(&seed.ok_or_else(|| fault(path, &"not a key"))?)
    }

    fn from_seed(seed: &[u8]) -> Result<Self, DevError> {
        let key = EncodingKey::from_ed_der(&[&PKCS8, seed].concat());
        let mut jwk = Jwk::from_encoding_key(&key, Algorithm::EdDSA).map_err(|e| DevError(e.to_string()))?;
        jwk.common.key_id = Some("dev".to_owned());
        let jwks = json!({ "keys": [serde_json::to_value(jwk).map_err(|e| DevError(e.to_string()))?] });
        Ok(Self { key, jwks })
    }

    /// A signed token.
    pub fn token(&self, token: &DevToken) -> Result<String, DevError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut claims = json!({
            "iss": ISSUER, "aud": AUDIENCE, "iat": now.as_secs(), "exp": (now + token.ttl).as_secs(),
            "jti": uuid::Uuid::new_v4().to_string(), "org": token.organization,
        });
        let mut groups = token.groups.clone();
        match &token.who {
            DevIdentity::Agent(_) if token.operator => {
                return Err(DevError("an agent is never an operator".to_owned()));
            }
            DevIdentity::Agent(id) => {
                claims["sub"] = json!(id);
                claims["kind"] = json!("agent");
            }
            DevIdentity::Human(email) => {
                claims["sub"] = json!(email);
                claims["email"] = json!(email);
                claims["kind"] = json!("human");
                claims["azp"] = json!(LOGIN);
                if token.operator && !groups.iter().any(|group| group == OPERATOR_GROUP) {
                    groups.push(OPERATOR_GROUP.to_owned());
                }
            }
        }
        claims["groups"] = json!(groups);
        let header = Header { kid: Some("dev".to_owned()), ..Header::new(Algorithm::EdDSA) };
        jsonwebtoken::encode(&header, &claims, &self.key).map_err(|e| DevError(e.to_string()))
    }

    /// The settings of a server that takes these tokens and no others.
    pub fn config(&self) -> AuthConfig {
        let pointer = |pointer: &str| SourceConfig { pointer: Some(pointer.to_owned()), ..SourceConfig::default() };
        let kind = |kind: &str| {
            vec![ConditionConfig { pointer: "/kind".into(), equals: Some(json!(kind)), ..ConditionConfig::default() }]
        };
        let agent = RuleConfig {
            name: "development agents".to_owned(),
            when: kind("agent"),
            kind: KindConfig::Agent,
            clients: None,
            organization: pointer("/org"),
            id: pointer("/sub"),
            email: None,
            groups: Some(pointer("/groups")),
            operator_group: None,
            processes: None,
        };
        let human = RuleConfig {
            name: "development humans".to_owned(),
            when: kind("human"),
            kind: KindConfig::Human,
            clients: Some(ClientsConfig { pointer: "/azp".to_owned(), one_of: [LOGIN.to_owned()].into() }),
            email: Some(pointer("/email")),
            operator_group: Some(OPERATOR_GROUP.to_owned()),
            ..agent.clone()
        };
        let issuer = IssuerConfig {
            issuer: ISSUER.to_owned(),
            audience: vec![AUDIENCE.to_owned()],
            jwks_url: None,
            jwks_file: None,
            jwks: Some(self.jwks.clone()),
            algorithms: vec![SignatureAlgorithm::EdDSA],
            identities: vec![agent, human],
        };
        AuthConfig { issuers: vec![issuer], leeway_s: 30 }
    }
}

fn fault(path: &Path, what: &dyn std::fmt::Display) -> DevError {
    DevError(format!("{}: {what}", path.display()))
}

/// Writes a new key beside its place and moves it there, so that a crash leaves no half of one.
fn create(dir: &Path, path: &Path) -> std::io::Result<String> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
    let text = URL_SAFE_NO_PAD.encode(seed);
    let fresh = dir.join(format!("{FILE}.{}", uuid::Uuid::new_v4()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // A hard link never replaces: of two processes that start at once, the second takes the first one's key.
    let linked = std::fs::hard_link(&fresh, path);
    std::fs::remove_file(&fresh)?;
    match linked {
        Ok(()) => Ok(text),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => std::fs::read_to_string(path),
        Err(e) => Err(e),
    }
}
