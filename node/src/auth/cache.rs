//! Tokens verified a moment ago: a signature check costs more than most calls.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use quorate_proto::Caller;
use sha2::{Digest, Sha256};

/// How long a verified token is taken for good without another look, at most: a withdrawn key ends within this.
const TRUST: Duration = Duration::from_mins(1);
/// How many tokens are remembered.
const TOKENS_MAX: usize = 10_000;

/// Hash of a token → its identity and until when (time since the epoch).
#[derive(Default)]
pub struct Verified(Mutex<HashMap<[u8; 32], (Caller, Duration)>>);

impl Verified {
    /// The identity of a token that was verified lately and has not expired.
    pub fn get(&self, token: &str, now: Duration) -> Option<Caller> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&digest(token)).filter(|(_, end)| now < *end).map(|(caller, _)| caller.clone())
    }

    /// Remembers a verified token that ends at `end`.
    pub fn put(&self, token: &str, caller: &Caller, now: Duration, end: Duration) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= TOKENS_MAX {
            all.retain(|_, (_, end)| now < *end);
        }
        if all.len() < TOKENS_MAX {
            all.insert(digest(token), (caller.clone(), end.min(now + TRUST)));
        }
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
