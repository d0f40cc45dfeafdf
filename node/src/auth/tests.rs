//! Tokens let in and refused, and claims made identities (AUTH-401, IDENT-KINDS, OPERATOR, HUMAN-CRED).
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use quorate_proto::CallerKind;
use serde_json::{Value, json};

use super::config::AuthConfig;
use super::dev::{DevIdentity, DevIssuer, DevToken};
use super::{AuthError, Authenticator};

const ISSUER: &str = "https://login.example.com/";
const AUDIENCE: &str = "https://quorate.example.com/mcp";

/// An Ed25519 key made from one number.
fn key(number: u8) -> EncodingKey {
    let prefix = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    EncodingKey::from_ed_der(&[&prefix[..], &[number; 32]].concat())
}

fn jwk(number: u8, kid: &str) -> Value {
    let mut jwk = Jwk::from_encoding_key(&key(number), Algorithm::EdDSA).unwrap();
    jwk.common.key_id = Some(kid.to_owned());
    serde_json::to_value(jwk).unwrap()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn claims() -> Value {
    json!({ "iss": ISSUER, "aud": [AUDIENCE, "other"], "sub": "a1", "exp": now() + 600, "org": "acme", "kind": "agent" })
}

fn sign(claims: &Value, number: u8, kid: Option<&str>) -> String {
    let header = Header { kid: kid.map(str::to_owned), ..Header::new(Algorithm::EdDSA) };
    jsonwebtoken::encode(&header, claims, &key(number)).unwrap()
}

/// A token with this exact header and payload, and any signature.
fn raw(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(header), part(claims))
}

fn config(extra: &Value) -> AuthConfig {
    let mut issuer = json!({
        "issuer": ISSUER, "audience": [AUDIENCE], "algorithms": ["EdDSA", "ES256", "RS256"],
        "jwks": { "keys": [jwk(1, "k1")] },
        "identities": [
            { "name": "agents", "when": [{ "pointer": "/kind", "equals": "agent" }], "kind": "agent",
              "organization": { "pointer": "/org" }, "id": { "pointer": "/sub" }, "groups": { "pointer": "/groups" } },
            { "name": "people", "when": [{ "pointer": "/kind", "equals": "human" }], "kind": "human",
              "clients": { "pointer": "/azp", "one_of": ["web"] }, "organization": { "pointer": "/org" },
              "id": { "pointer": "/sub", "prefix": "u_" }, "email": { "pointer": "/email" },
              "groups": { "pointer": "/groups" }, "operator_group": "g_ops" },
        ],
    });
    for (name, value) in extra.as_object().unwrap() {
        issuer[name] = value.clone();
    }
    issuer.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    serde_json::from_value(json!({ "issuers": [issuer] })).unwrap()
}

fn authenticator() -> Authenticator {
    Authenticator::new(&config(&json!({}))).unwrap()
}

fn with(changes: &Value) -> Value {
    let mut all = claims();
    for (name, value) in changes.as_object().unwrap() {
        all[name] = value.clone();
    }
    all.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    all
}

#[tokio::test]
async fn tokens_let_in_and_refused() {
    let server = authenticator();
    let good = sign(&claims(), 1, Some("k1"));
    let caller = server.authenticate(&good).await.unwrap();
    assert_eq!((caller.org.as_str(), caller.id.as_str(), caller.kind), ("acme", "a1", CallerKind::Agent));
    assert_eq!(server.authenticate(&good).await.unwrap(), caller, "again, from the cache");
    server.authenticate(&sign(&claims(), 1, None)).await.unwrap();

    let signature = good.rsplit('.').next().unwrap();
    let header = json!({ "alg": "EdDSA", "kid": "k1" });
    let public = jwk(1, "k1")["x"].as_str().unwrap().to_owned();
    let confused = jsonwebtoken::encode(
        &Header { kid: Some("k1".into()), ..Header::new(Algorithm::HS256) },
        &claims(),
        &EncodingKey::from_secret(&URL_SAFE_NO_PAD.decode(&public).unwrap()).unwrap(),
    );
    let changed = |changes: Value| sign(&with(&changes), 1, Some("k1"));
    for (what, token, reason) in [
        ("no token", String::new(), "malformed"),
        ("not a token", "abc".into(), "malformed"),
        ("two parts", good.rsplit_once('.').unwrap().0.into(), "malformed"),
        ("too long", format!("{good}{}", "x".repeat(20_000)), "too long"),
        ("expired", changed(json!({ "exp": now() - 31 })), "expired"),
        ("no exp", changed(json!({ "exp": null })), "malformed"),
        ("exp as text", changed(json!({ "exp": "never" })), "malformed"),
        ("not yet", changed(json!({ "nbf": now() + 120 })), "not valid yet"),
        ("wrong audience", changed(json!({ "aud": "other" })), "wrong audience"),
        ("no audience", changed(json!({ "aud": null })), "malformed"),
        ("wrong issuer", changed(json!({ "iss": "https://login.example.com" })), "unknown issuer"),
        ("list of issuers", changed(json!({ "iss": [ISSUER] })), "unknown issuer"),
        ("no issuer", changed(json!({ "iss": null })), "unknown issuer"),
        ("another's key", sign(&claims(), 2, Some("k1")), "bad signature"),
        ("no signature", raw(&header, &claims(), ""), "bad signature"),
        ("changed claims", raw(&header, &with(&json!({ "org": "other" })), signature), "bad signature"),
        ("alg none", raw(&json!({ "alg": "none" }), &claims(), ""), "malformed"),
        ("alg None", raw(&json!({ "alg": "None" }), &claims(), ""), "malformed"),
        ("HS256 with the public key", confused.unwrap(), "algorithm not allowed"),
        (
            "algorithm not in the list",
            raw(&json!({ "alg": "ES384", "kid": "k1" }), &claims(), signature),
            "algorithm not allowed",
        ),
        (
            "algorithm of another key kind",
            raw(&json!({ "alg": "ES256", "kid": "k1" }), &claims(), signature),
            "unknown key",
        ),
        ("unknown kid", sign(&claims(), 1, Some("k2")), "unknown key"),
        ("kid as a path", sign(&claims(), 1, Some("../../../../etc/passwd")), "unknown key"),
        ("kid as a query", sign(&claims(), 1, Some("' OR '1'='1")), "unknown key"),
        ("key in the header", raw(&json!({ "alg": "EdDSA", "jwk": jwk(2, "k2") }), &claims(), "AAAA"), "bad signature"),
        (
            "unknown critical header",
            raw(&json!({ "alg": "EdDSA", "kid": "k1", "crit": ["x"], "x": 1 }), &claims(), signature),
            "algorithm not allowed",
        ),
    ] {
        let refused = server.authenticate(&token).await.unwrap_err();
        match refused {
            AuthError::Invalid(said) => assert!(said == reason || what.contains("critical"), "{what}: {said}"),
            AuthError::NoIdentity | AuthError::Unavailable => panic!("{what}: {refused:?}"),
        }
    }
    server.authenticate(&changed(json!({ "exp": now() - 10 }))).await.expect("within the leeway");
}

#[tokio::test]
async fn a_token_is_trusted_from_the_cache_no_longer_than_it_lives() {
    let config = AuthConfig { leeway_s: 0, ..config(&json!({})) };
    let server = Authenticator::new(&config).unwrap();
    let token = sign(&with(&json!({ "exp": now() + 1 })), 1, Some("k1"));
    server.authenticate(&token).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(server.authenticate(&token).await, Err(AuthError::Invalid("expired")));
}

#[tokio::test]
async fn claims_make_exactly_one_identity() {
    let server = authenticator();
    let of = async |changes: Value| server.authenticate(&sign(&with(&changes), 1, Some("k1"))).await;
    let human = json!({ "kind": "human", "azp": "web", "sub": "mira", "email": "mira@example.com", "groups": ["g_ops", "g_a"] });

    let mira = of(human.clone()).await.unwrap();
    assert_eq!((mira.kind, mira.id.as_str(), mira.operator), (CallerKind::Human, "u_mira", true));
    assert_eq!(mira.person.as_deref(), Some("mira@example.com"));
    assert_eq!(mira.groups, BTreeSet::from(["g_a".to_owned(), "g_ops".to_owned()]));

    let but = |changes: Value| {
        let mut all = human.clone();
        changes.as_object().unwrap().iter().for_each(|(k, v)| all[k] = v.clone());
        all
    };
    assert!(!of(but(json!({ "groups": "g_a" }))).await.unwrap().operator, "one group as a text");
    assert_eq!(of(but(json!({ "email_verified": false }))).await.unwrap().person, None);
    assert!(of(but(json!({ "email_verified": true }))).await.unwrap().person.is_some());

    // An agent in the operator group is no operator (OPERATOR), and a matching client id does not make one kind of
    // the other (IDENT-KINDS).
    let agent = of(json!({ "groups": ["g_ops"], "azp": "a1", "client_id": "a1" })).await.unwrap();
    assert_eq!((agent.kind, agent.operator), (CallerKind::Agent, false));

    for (what, claims) in [
        ("a human from a client without a login", but(json!({ "azp": "robot" }))),
        ("a human from no client", but(json!({ "azp": null }))),
        ("neither kind", json!({ "kind": "robot" })),
        ("no kind", json!({ "kind": null })),
        ("no organization", json!({ "org": null })),
        ("empty organization", json!({ "org": "" })),
        ("organization of another type", json!({ "org": 7 })),
        ("two organizations", json!({ "org": ["acme", "other"] })),
        ("no subject", json!({ "sub": null })),
        ("the server's own name", json!({ "sub": "server" })),
        ("control characters", json!({ "sub": "a\n1" })),
        ("groups that are no texts", json!({ "groups": [1] })),
    ] {
        assert_eq!(of(claims).await, Err(AuthError::NoIdentity), "{what}");
    }
}

#[tokio::test]
async fn two_matching_rules_are_refused() {
    let both = json!([
        { "name": "all", "kind": "agent", "organization": { "value": "acme" }, "id": { "pointer": "/sub" } },
        { "name": "some", "when": [{ "pointer": "/scope", "contains": "work" }], "kind": "agent",
          "organization": { "value": "acme" }, "id": { "pointer": "/sub" }, "processes": { "pointer": "/processes" } },
    ]);
    let server = Authenticator::new(&config(&json!({ "identities": both }))).unwrap();
    let of = async |changes: Value| server.authenticate(&sign(&with(&changes), 1, Some("k1"))).await;
    assert_eq!(of(json!({ "scope": "read work" })).await, Err(AuthError::NoIdentity));
    assert_eq!(of(json!({ "scope": "read workers" })).await.unwrap().processes, None);
}

#[test]
fn every_operator() {
    let claims = json!({ "a": { "b": "text" }, "n": 1, "l": ["x", "y"], "w": "one two", "z": null, "s/t": true });
    for (condition, expected) in [
        (json!({ "pointer": "/a/b", "equals": "text" }), true),
        (json!({ "pointer": "/a/b", "equals": "tex" }), false),
        (json!({ "pointer": "/n", "equals": 1 }), true),
        (json!({ "pointer": "/n", "equals": "1" }), false),
        (json!({ "pointer": "/s~1t", "equals": true }), true),
        (json!({ "pointer": "/a/b", "one_of": ["no", "text"] }), true),
        (json!({ "pointer": "/a/b", "one_of": [] }), false),
        (json!({ "pointer": "/l/1", "equals": "y" }), true),
        (json!({ "pointer": "/z", "exists": true }), false),
        (json!({ "pointer": "/z", "absent": true }), true),
        (json!({ "pointer": "/n", "exists": true }), true),
        (json!({ "pointer": "/n", "absent": true }), false),
        (json!({ "pointer": "/a/b", "prefix": "te" }), true),
        (json!({ "pointer": "/n", "prefix": "1" }), false),
        (json!({ "pointer": "/l", "contains": "y" }), true),
        (json!({ "pointer": "/l", "contains": "z" }), false),
        (json!({ "pointer": "/w", "contains": "two" }), true),
        (json!({ "pointer": "/w", "contains": "tw" }), false),
        (json!({ "pointer": "/a", "contains": "b" }), false),
    ] {
        let rule = json!({ "name": "r", "when": [condition], "kind": "agent",
            "organization": { "value": "o" }, "id": { "value": "i" } });
        let rule = serde_json::from_value(rule).unwrap();
        assert_eq!(super::rules::identity(&[rule], &claims).is_ok(), expected, "{condition}");
    }
}

#[test]
fn settings_are_explained_all_at_once() {
    let bad = json!({ "leeway_s": 900, "issuers": [
        { "issuer": "", "audience": [], "algorithms": [], "identities": [] },
        { "issuer": "x", "audience": ["a"], "algorithms": ["RS256"], "jwks_url": "http://keys.example.com/",
          "identities": [
            { "name": "h", "kind": "human", "organization": {}, "id": { "pointer": "sub" }, "processes": { "value": "p" } },
            { "name": "a", "kind": "agent", "organization": { "value": "o" }, "id": { "pointer": "/sub" }, "operator_group": "g",
              "when": [{ "pointer": "/x" }, { "pointer": "/x", "exists": false }, { "pointer": "/x", "prefix": "a", "equals": 1 }] } ] } ] });
    let faults = serde_json::from_value::<AuthConfig>(bad).unwrap().faults();
    for part in [
        "leeway_s: at most 300",
        "issuers[0].issuer: must not be empty",
        "issuers[0].audience",
        "issuers[0].algorithms",
        "issuers[0].identities",
        "issuers[0]: give exactly one of jwks_url",
        "issuers[1].jwks_url: must be an https URL",
        "identities[0].clients: a human rule names its interactive clients",
        "identities[0].processes: limits agents only",
        "identities[0].organization: give exactly one of pointer, value",
        "identities[0].id.pointer: \"sub\" is not a JSON Pointer",
        "identities[1].operator_group: an agent is never an operator",
        "when[0]: give exactly one of equals",
        "when[1]: exists and absent take only true",
        "when[2]: give exactly one of equals",
    ] {
        assert!(faults.iter().any(|fault| fault.contains(part)), "{part} not in {faults:#?}");
    }
    for algorithm in ["none", "HS256", "HS384", "HS512"] {
        let mut issuer = serde_json::to_value(config(&json!({}))).unwrap();
        issuer["issuers"][0]["algorithms"] = json!([algorithm]);
        assert!(serde_json::from_value::<AuthConfig>(issuer).is_err(), "{algorithm}");
    }
    let mut unknown = serde_json::to_value(config(&json!({}))).unwrap();
    unknown["issuers"][0]["audiance"] = json!("x");
    assert!(serde_json::from_value::<AuthConfig>(unknown).unwrap_err().to_string().contains("audiance"));
}

#[test]
fn unusable_keys_are_passed_over() {
    let set = |keys: Value| super::keys::KeySet::parse(&json!({ "keys": keys }));
    let mut encryption = jwk(1, "k");
    encryption["use"] = json!("enc");
    for (what, key) in [
        ("a shared secret", json!({ "kty": "oct", "k": "AAAA", "kid": "k" })),
        ("a short Ed25519 key", json!({ "kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": "k" })),
        ("a short EC key", json!({ "kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA", "kid": "k" })),
        ("a short RSA key", json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "k" })),
        ("a key for encryption", encryption),
        ("an unknown kind", json!({ "kty": "XYZ", "kid": "k" })),
        ("no key", json!(1)),
    ] {
        assert!(set(json!([key])).is_err(), "{what}");
        assert!(set(json!([key, jwk(2, "good")])).unwrap().find(Some("good"), Algorithm::EdDSA).is_some(), "{what}");
    }
    let two = set(json!([jwk(1, "a"), jwk(2, "b")])).unwrap();
    assert!(two.find(None, Algorithm::EdDSA).is_none(), "without kid any of two keys could be meant");
    assert!(set(json!([])).is_err());
}

/// An issuer's key endpoint on this machine, whose answer a test changes.
struct Endpoint {
    url: String,
    answer: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
}

impl Endpoint {
    async fn start(keys: Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new(Some(json!({ "keys": keys }))));
        let asked = Arc::new(AtomicUsize::new(0));
        let (set, count) = (Arc::clone(&answer), Arc::clone(&asked));
        let router = axum::Router::new().fallback(move || {
            count.fetch_add(1, Ordering::SeqCst);
            let set = set.lock().unwrap().clone();
            async move { set.map(axum::Json).ok_or(axum::http::StatusCode::INTERNAL_SERVER_ERROR) }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, answer, asked }
    }

    fn authenticator(&self) -> Authenticator {
        Authenticator::new(&config(&json!({ "jwks": null, "jwks_url": self.url }))).unwrap()
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Lets the cool-down pass without waiting for it. Time is stopped only meanwhile: with sockets open a stopped
/// clock would jump ahead to the next time-out.
async fn pass(span: Duration) {
    tokio::time::pause();
    tokio::time::advance(span).await;
    tokio::time::resume();
}

#[tokio::test]
async fn rotated_keys_are_found_and_made_up_ones_cost_nothing() {
    let endpoint = Endpoint::start(json!([jwk(1, "k1")])).await;
    let server = endpoint.authenticator();
    let token = |number: u8, kid: &str, sub: &str| sign(&with(&json!({ "sub": sub })), number, Some(kid));
    server.authenticate(&token(1, "k1", "a")).await.unwrap();
    server.authenticate(&token(1, "k1", "b")).await.unwrap();
    assert_eq!(endpoint.asked(), 1, "fetched once, then cached");

    *endpoint.answer.lock().unwrap() = Some(json!({ "keys": [jwk(2, "k2")] }));
    for number in 0..20 {
        let refused = server.authenticate(&token(1, &format!("made-up-{number}"), "a")).await;
        assert_eq!(refused, Err(AuthError::Invalid("unknown key")));
    }
    assert_eq!(endpoint.asked(), 1, "the cool-down holds");

    pass(Duration::from_secs(11)).await;
    server.authenticate(&token(2, "k2", "a")).await.expect("the new key");
    assert_eq!(endpoint.asked(), 2);
    assert_eq!(server.authenticate(&token(1, "k1", "c")).await, Err(AuthError::Invalid("unknown key")), "withdrawn");
}

#[tokio::test]
async fn old_keys_serve_while_the_issuer_is_down_but_not_for_ever() {
    let endpoint = Endpoint::start(json!([jwk(1, "k1")])).await;
    let server = endpoint.authenticator();
    let token = |sub: &str| sign(&with(&json!({ "sub": sub, "exp": now() + 7 * 86_400 })), 1, Some("k1"));
    server.authenticate(&token("a")).await.unwrap();
    *endpoint.answer.lock().unwrap() = None;
    pass(Duration::from_mins(11)).await;
    server.authenticate(&token("b")).await.expect("stale, but the issuer is down");
    assert_eq!(endpoint.asked(), 2, "and it was asked");
    pass(Duration::from_hours(25)).await;
    assert_eq!(server.authenticate(&token("c")).await, Err(AuthError::Unavailable));
}

#[tokio::test]
async fn an_issuer_that_never_answered_is_unavailable_not_a_bad_token() {
    let endpoint = Endpoint::start(json!([])).await;
    let server = endpoint.authenticator();
    assert_eq!(server.authenticate(&sign(&claims(), 1, Some("k1"))).await, Err(AuthError::Unavailable));
}

#[tokio::test]
async fn the_development_issuer_signs_for_its_own_server_only() {
    let dir = std::env::temp_dir().join(format!("quorate-dev-issuer-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir(&dir).unwrap();
    let issuer = DevIssuer::open(&dir).unwrap();
    let token = |who: DevIdentity, operator: bool| {
        let groups = vec!["g_finance".to_owned()];
        issuer.token(&DevToken { who, organization: "demo".into(), groups, operator, ttl: Duration::from_hours(12) })
    };
    let server = Authenticator::new(&DevIssuer::open(&dir).unwrap().config()).unwrap();
    let agent = server.authenticate(&token(DevIdentity::Agent("agent-1".into()), false).unwrap()).await.unwrap();
    assert_eq!((agent.org.as_str(), agent.id.as_str(), agent.kind), ("demo", "agent-1", CallerKind::Agent));
    let ops = token(DevIdentity::Human("ops@example.com".into()), true).unwrap();
    let ops = server.authenticate(&ops).await.unwrap();
    assert_eq!((ops.id.as_str(), ops.person.as_deref()), ("ops@example.com", Some("ops@example.com")));
    assert!(ops.operator && ops.groups.contains("g_ops") && ops.groups.contains("g_finance"));
    token(DevIdentity::Agent("agent-1".into()), true).unwrap_err();

    assert_eq!(std::fs::metadata(dir.join("dev-issuer-key")).unwrap().permissions().mode() & 0o777, 0o600);
    let foreign =
        sign(&json!({ "iss": super::dev::ISSUER, "aud": super::dev::AUDIENCE, "exp": now() + 9 }), 1, Some("dev"));
    assert_eq!(server.authenticate(&foreign).await, Err(AuthError::Invalid("bad signature")));
    std::fs::remove_dir_all(dir).unwrap();
}
