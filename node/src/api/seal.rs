//! Opaque texts that only this cluster can make: `v1.<payload>.<mac>`, both parts base64url without padding.
//! The payload starts with the number of the key that sealed it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use quorate_proto::codec;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::keys::{Key, Use};

/// Seals `payload`; `bound` must be the same to open it, and is not in the text.
pub(crate) fn seal<T: Serialize>(key: &Key, usage: Use, bound: &[u8], payload: &T) -> String {
    let mut bytes = key.id.to_be_bytes().to_vec();
    bytes.extend(codec::encode(payload));
    let mac = key.sign(usage, &[bound, &bytes]);
    format!("v1.{}.{}", URL_SAFE_NO_PAD.encode(bytes), URL_SAFE_NO_PAD.encode(mac))
}

/// A text taken apart, not yet trusted.
#[derive(Debug)]
pub(crate) struct Sealed {
    bytes: Vec<u8>,
    mac: Vec<u8>,
    /// The number of the key that is said to have sealed it.
    pub(crate) key: u32,
}

/// Takes a text apart; `None` when it cannot be one of ours. A text has one spelling: base64 with stray bits, padding
/// or white space is refused.
pub(crate) fn split(text: &str) -> Option<Sealed> {
    let (bytes, mac) = text.strip_prefix("v1.")?.split_once('.')?;
    let (bytes, mac) = (URL_SAFE_NO_PAD.decode(bytes).ok()?, URL_SAFE_NO_PAD.decode(mac).ok()?);
    let key = u32::from_be_bytes(*bytes.first_chunk()?);
    Some(Sealed { bytes, mac, key })
}

impl Sealed {
    /// The payload, if `key` sealed it with the same `bound`.
    pub(crate) fn open<T: DeserializeOwned>(&self, key: &Key, usage: Use, bound: &[u8]) -> Option<T> {
        if !key.verify(usage, &[bound, &self.bytes], &self.mac) {
            return None;
        }
        codec::decode(self.bytes.get(4..)?).ok()
    }
}
