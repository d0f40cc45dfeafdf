//! The key ring: secrets that sign tokens, cursors and file urls. It lives in the catalog, so every node verifies what
//! any node signed, and nothing secret is in a shard.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use quorate_proto::catalog::CatalogCommand;
use quorate_proto::{Command, GroupId, Refusal};
use sha2::Sha256;

use super::envelope::{failed, retry};
use super::{Api, catalog};
use crate::groups::Groups;

/// What a key signs. Each use has its own word in the MAC, so that nothing signed for one serves another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Claim tokens.
    Token,
    /// Page cursors.
    Cursor,
    /// File urls.
    Url,
    /// Ids of uploads.
    Upload,
    /// Tokens that let a new node into the cluster.
    Join,
}

impl Use {
    fn word(self) -> &'static str {
        match self {
            Self::Token => "quorate token 1",
            Self::Cursor => "quorate cursor 1",
            Self::Url => "quorate url 1",
            Self::Upload => "quorate upload 1",
            Self::Join => "quorate join 1",
        }
    }
}

/// A signing key with its number in the ring.
#[derive(Clone)]
pub(crate) struct Key {
    /// Its number.
    pub(crate) id: u32,
    secret: [u8; 32],
}

impl Key {
    #[cfg(test)]
    pub(crate) fn new(id: u32, secret: [u8; 32]) -> Self {
        Self { id, secret }
    }

    fn mac(&self, usage: Use, parts: &[&[u8]]) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("any length");
        for part in [usage.word().as_bytes()].iter().chain(parts) {
            // Lengths keep ("a", "bc") and ("ab", "c") apart.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }

    /// The MAC over `parts`.
    pub(crate) fn sign(&self, usage: Use, parts: &[&[u8]]) -> [u8; 32] {
        self.mac(usage, parts).finalize().into_bytes().into()
    }

    /// Whether `mac` is the MAC over `parts`; takes equal time whatever differs.
    pub(crate) fn verify(&self, usage: Use, parts: &[&[u8]], mac: &[u8]) -> bool {
        self.mac(usage, parts).verify_slice(mac).is_ok()
    }
}

/// What this node knows of the ring. Keys are only ever added, so what it knows stays true.
#[derive(Default)]
pub(crate) struct Ring(Mutex<BTreeMap<u32, [u8; 32]>>);

impl Ring {
    fn get(&self, id: u32) -> Option<Key> {
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(&id).map(|secret| Key { id, secret: *secret })
    }

    fn newest(&self) -> Option<Key> {
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.last_key_value().map(|(id, secret)| Key { id: *id, secret: *secret })
    }

    fn learn(&self, keys: Vec<(u32, [u8; 32])>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(keys);
    }
}

impl<G: Groups> Api<G> {
    /// The key that signs. Makes the first one of a new cluster; of two nodes that do so at once, both read what stands.
    pub(crate) async fn signing_key(&self) -> Result<Key, Refusal> {
        if let Some(key) = self.ring.newest() {
            return Ok(key);
        }
        self.read_ring().await?;
        if let Some(key) = self.ring.newest() {
            return Ok(key);
        }
        let mut secret = [0; 32];
        self.entropy.fill(&mut secret)?;
        let add = Command::Catalog(CatalogCommand::AddKey { secret });
        self.groups.propose(GroupId::Catalog, add).await??;
        self.read_ring().await?;
        self.ring.newest().ok_or_else(|| retry("no signing key"))
    }

    /// The key of a number: a newer one than this node knows is looked up, since another node may have added it.
    pub(crate) async fn key(&self, id: u32) -> Result<Option<Key>, Refusal> {
        if let Some(key) = self.ring.get(id) {
            return Ok(Some(key));
        }
        if self.ring.newest().is_none_or(|newest| id > newest.id) {
            self.read_ring().await?;
        }
        Ok(self.ring.get(id))
    }

    async fn read_ring(&self) -> Result<(), Refusal> {
        let keys = self.groups.read(GroupId::Catalog, |state, _| catalog::keys(state)).await?;
        self.ring.learn(keys.map_err(|e| failed(&e))?);
        Ok(())
    }
}
