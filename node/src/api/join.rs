//! Tokens that let a new node into the cluster. They are MACs of the key ring and stand in no state; they end by time.

use agentprocess::time::{Span, Timestamp};
use quorate_proto::{Code, Refusal};

use super::keys::Use;
use super::{Api, seal};
use crate::groups::Groups;

impl<G: Groups> Api<G> {
    /// A token that is good for so long, and when it ends.
    pub async fn join_token(&self, ttl: Span) -> Result<(String, Timestamp), Refusal> {
        let key = self.signing_key().await?;
        let ends = Timestamp(self.clock().now().0.saturating_add(i64::try_from(ttl.0).unwrap_or(i64::MAX)));
        Ok((seal::seal(&key, Use::Join, &[], &ends), ends))
    }

    /// Whether a token lets a node in.
    pub async fn open_join_token(&self, text: &str) -> Result<(), Refusal> {
        let refused =
            |why: &str| Refusal::new(Code::Forbidden, format!("{why}; make one with quorate cluster join-token"));
        let sealed = seal::split(text.trim()).ok_or_else(|| refused("the join token is none of this cluster"))?;
        let key = self.key(sealed.key).await?.ok_or_else(|| refused("the join token is none of this cluster"))?;
        let ends = sealed.open::<Timestamp>(&key, Use::Join, &[]);
        let ends = ends.ok_or_else(|| refused("the join token is none of this cluster"))?;
        if self.clock().now() > ends { Err(refused("the join token has ended")) } else { Ok(()) }
    }
}
