//! Settings of authentication: who issues tokens, and which claims make which identity (design §8).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All trusted issuers of bearer tokens.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthConfig {
    /// Issuers; each token belongs to exactly one, by its `iss` claim.
    pub issuers: Vec<IssuerConfig>,
    /// How far `exp` and `nbf` may be off, in seconds (default 30, at most 300).
    #[serde(default = "default_leeway_s")]
    pub leeway_s: u64,
}

fn default_leeway_s() -> u64 {
    30
}

/// One issuer. Exactly one of `jwks_url`, `jwks_file` and `jwks` is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerConfig {
    /// The exact `iss` claim.
    pub issuer: String,
    /// Accepted `aud` values; a token must carry at least one of them.
    pub audience: Vec<String>,
    /// Where the issuer publishes its keys; fetched, cached, and fetched again when a key id is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_url: Option<String>,
    /// A file that holds the key set; read at start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_file: Option<std::path::PathBuf>,
    /// The key set itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<Value>,
    /// Accepted signature algorithms. There is no `none` and no shared secret among them.
    pub algorithms: Vec<SignatureAlgorithm>,
    /// What claims mean here. Exactly one rule must match a token, else its caller is refused.
    pub identities: Vec<RuleConfig>,
}

/// The signature algorithms a setting can name: public key ones only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of RFC 7518 and RFC 8037")]
pub enum SignatureAlgorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}

/// One rule: when it matches, and the identity it makes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// For logs.
    pub name: String,
    /// Conditions that must all hold.
    #[serde(default)]
    pub when: Vec<ConditionConfig>,
    /// The kind of identity. It is stated here, never inferred from a token's shape (IDENT-KINDS).
    pub kind: KindConfig,
    /// The clients a token must have been issued to. A human rule needs it: it names the clients with an interactive
    /// login, since only those establish that the person is there (HUMAN-CRED).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientsConfig>,
    /// The organization.
    pub organization: SourceConfig,
    /// The stable identity id that `by` shows (BY-FORM).
    pub id: SourceConfig,
    /// A human's e-mail address. Ignored when the token says `email_verified: false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<SourceConfig>,
    /// Groups: a claim that is a list of strings, or one string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<SourceConfig>,
    /// Humans in this group are operators (OPERATOR).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_group: Option<String>,
    /// The only processes an agent may work on; all, when not given (WORK-MAY).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<SourceConfig>,
}

/// The two kinds of identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KindConfig {
    /// A program.
    Agent,
    /// A person.
    Human,
}

/// Which clients a rule takes tokens from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientsConfig {
    /// JSON Pointer to the client id, such as `/azp`.
    pub pointer: String,
    /// The client ids.
    pub one_of: BTreeSet<String>,
}

/// Where a value comes from: exactly one of a claim and a fixed text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    /// JSON Pointer into the claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// A fixed value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Put before what the claim holds: keeps the ids of two issuers apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// One condition on one claim, with exactly one operator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConditionConfig {
    /// JSON Pointer into the claims.
    pub pointer: String,
    /// The claim is this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The claim is one of these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<Value>>,
    /// `true`: the claim is there and not null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// `true`: the claim is not there, or null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<bool>,
    /// The claim is a text that begins so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The claim is a list that holds this value, or a text that holds it as a word (as `scope` does).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<Value>,
}
