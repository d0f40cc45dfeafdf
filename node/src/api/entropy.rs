//! Randomness: only here, so that a simulation can seed it. State and apply have none.

use quorate_proto::Unique;

use crate::groups::Unavailable;

/// A source of random bytes.
pub trait Entropy: Send + Sync + 'static {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Unavailable>;
}

/// The operating system's source.
#[derive(Clone, Copy, Debug, Default)]
pub struct Os;

impl Entropy for Os {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Unavailable> {
        getrandom::fill(bytes).map_err(|e| Unavailable(format!("no random bytes: {e}")))
    }
}

/// A new id in `shard`.
pub(crate) fn unique(entropy: &dyn Entropy, shard: u16) -> Result<Unique, Unavailable> {
    let mut random = [0; 10];
    entropy.fill(&mut random)?;
    Ok(Unique { shard, random })
}
