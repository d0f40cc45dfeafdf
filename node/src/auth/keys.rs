//! The public keys of an issuer.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

use super::config::SignatureAlgorithm;

/// How many keys of one issuer are kept.
const KEYS_MAX: usize = 100;

/// Usable signature keys. Keys of other kinds or uses in the same set are passed over.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<Key>);

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    decoding: DecodingKey,
}

impl KeySet {
    /// Reads a JWK set (RFC 7517 §5); an error when it is none or holds no usable key.
    pub fn parse(set: &Value) -> Result<Self, String> {
        let keys = set.get("keys").and_then(Value::as_array).ok_or("not a JWK set: no list \"keys\"")?;
        let usable: Vec<Key> = keys.iter().filter_map(usable).take(KEYS_MAX).collect();
        if usable.is_empty() { Err("the JWK set holds no usable signature key".to_owned()) } else { Ok(Self(usable)) }
    }

    /// The key a token's header names. A header without `kid` fits only when a single key could be meant.
    pub fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<&DecodingKey> {
        let mut fitting = self
            .0
            .iter()
            .filter(|key| key.algorithms.contains(&algorithm) && kid.is_none_or(|kid| key.id.as_deref() == Some(kid)));
        let first = fitting.next()?;
        (kid.is_some() || fitting.next().is_none()).then_some(&first.decoding)
    }
}

/// One key of a set, if it verifies signatures with an algorithm we know. Shapes are checked here, so that the
/// verifier never meets a key of a wrong length.
fn usable(key: &Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(key.clone()).ok()?;
    let for_signatures = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let verifies = jwk.common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
    let mut algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) if bytes(&rsa.n)? >= 256 => {
            use Algorithm::{PS256, PS384, PS512, RS256, RS384, RS512};
            vec![RS256, RS384, RS512, PS256, PS384, PS512]
        }
        AlgorithmParameters::EllipticCurve(ec) => match (&ec.curve, bytes(&ec.x)?, bytes(&ec.y)?) {
            (EllipticCurve::P256, 32, 32) => vec![Algorithm::ES256],
            (EllipticCurve::P384, 48, 48) => vec![Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(okp) if okp.curve == EllipticCurve::Ed25519 && bytes(&okp.x)? == 32 => {
            vec![Algorithm::EdDSA]
        }
        AlgorithmParameters::RSA(_)
        | AlgorithmParameters::OctetKeyPair(_)
        | AlgorithmParameters::OctetKey(_)
        | AlgorithmParameters::Other(_)
        | _ => return None,
    };
    if let Some(stated) = jwk.common.key_algorithm {
        algorithms.retain(|algorithm| KeyAlgorithm::from(*algorithm) == stated);
    }
    let decoding = DecodingKey::from_jwk(&jwk).ok()?;
    (for_signatures && verifies && !algorithms.is_empty()).then_some(Key {
        id: jwk.common.key_id,
        algorithms,
        decoding,
    })
}

/// How many bytes a base64url text holds; `None` when it is none.
fn bytes(text: &str) -> Option<usize> {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).ok().map(|bytes| bytes.len())
}

impl From<SignatureAlgorithm> for Algorithm {
    fn from(named: SignatureAlgorithm) -> Self {
        match named {
            SignatureAlgorithm::RS256 => Self::RS256,
            SignatureAlgorithm::RS384 => Self::RS384,
            SignatureAlgorithm::RS512 => Self::RS512,
            SignatureAlgorithm::PS256 => Self::PS256,
            SignatureAlgorithm::PS384 => Self::PS384,
            SignatureAlgorithm::PS512 => Self::PS512,
            SignatureAlgorithm::ES256 => Self::ES256,
            SignatureAlgorithm::ES384 => Self::ES384,
            SignatureAlgorithm::EdDSA => Self::EdDSA,
        }
    }
}
