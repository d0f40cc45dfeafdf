//! A shard group: runs, work, files, request ids, timers, outbox (design §3).
//!
//! A run is its journal of [`event::Event`]s. A command ([`command`]) judges a copy of the run and yields events or a
//! refusal; [`fold::fold`] is the only thing that changes a run; [`index::rows`] derives its index rows.

pub mod accept;
pub mod advance;
pub mod ahead;
pub mod apply;
mod bytes;
pub mod change;
mod command;
pub mod data;
pub mod definitions;
pub mod event;
pub mod fold;
pub mod head;
pub mod index;
pub mod item;
pub mod journal;
pub mod keys;
pub mod list;
pub mod ranges;
pub mod read;
pub mod record;
pub mod refuse;
pub mod request;
pub mod rework;
pub mod rows;
pub mod settle;
pub mod standing;
pub mod step;
pub mod tick;
pub mod timer;
pub mod view;
pub mod work;

pub use apply::apply;
pub use definitions::Definitions;
