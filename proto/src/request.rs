//! Request ids over all shards (design §4): what a write brings to show that it may use its id, and what the id's home
//! shard and the run's shard say to each other through whoever coordinates the call.

use serde::{Deserialize, Serialize};

/// By what right a write uses its request id in the shard that carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Right {
    /// This shard is the id's home, and its own row decides. The number is one more than the last of this shard that
    /// the proposer knows of: every refusal takes a number, and makes what was proposed before it stale.
    Home(Attempt),
    /// The home reserved the id for this call.
    Reserved(Attempt),
    /// Another call took effect with the id: this one is replayed, or refused at its place in ERR-ORDER.
    Taken,
}

/// One attempt to use a request id. The home shard never gives the same number twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Attempt {
    /// The id's home shard.
    pub home: u16,
    /// The number the home gave it.
    pub number: u64,
}

/// A request id that its home gave away: where it may have taken effect, and in which attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// The shard of the run.
    pub target: u16,
    /// The attempt.
    pub attempt: Attempt,
}

/// What coordinates a request id between shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestCommand {
    /// At home: gives the id to a call whose run lives in `target`, unless another call has it.
    Reserve {
        /// This shard's number.
        home: u16,
        /// The shard of the run.
        target: u16,
        /// Of the call.
        fingerprint: [u8; 32],
    },
    /// At the target: says whether the id took effect there; if not, `attempt` never will.
    Fence(Attempt),
    /// At home: takes the id back from an attempt that never takes effect, and from no other.
    Release(Attempt),
}

/// What a shard answers about a request id, to whoever coordinates the call and never to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestReply {
    /// To `Reserve`: the id is this call's.
    Reserved(Attempt),
    /// To `Reserve` and a write at home: another call has the id.
    Held(Reservation),
    /// To `Reserve` and `Fence`: a call took effect here with the id.
    Used,
    /// To `Fence`: the attempt never takes effect.
    Fenced,
    /// To a write: a refusal or a fence came between, and this copy never takes effect.
    Stale {
        /// The shard's last number.
        last: u64,
    },
}
