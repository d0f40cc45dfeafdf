//! Bounds of the links between nodes.

use std::time::Duration;

/// The largest request or response, in bytes. Above the largest command that `raft` takes.
pub(super) const BODY_BYTES_MAX: usize = 18 << 20;
/// Bodies that wait go into one message until it has this many bytes; a larger body goes alone.
pub(super) const BATCH_BYTES_MAX: usize = 1 << 20;
/// Bodies in one message, in bodies.
pub(super) const BATCH_BODIES_MAX: usize = 4096;
/// The largest message, in bytes: bodies, and what is around them.
pub(super) const MESSAGE_BYTES_MAX: usize = BODY_BYTES_MAX + (1 << 20);

/// Bodies that wait to be sent on one stream, in bodies.
pub(super) const QUEUE_BODIES_MAX: usize = 16384;
/// Bodies that wait to be sent on one stream, in bytes.
pub(super) const QUEUE_BYTES_MAX: usize = 64 << 20;
/// Requests to one peer that are not answered, in requests.
pub(super) const OPEN_REQUESTS_MAX: usize = 16384;
/// Of these, to one group: a group that does not answer leaves room for the others.
pub(super) const GROUP_REQUESTS_MAX: usize = 4096;
/// Requests of one peer that are being answered, in requests.
pub(super) const SERVED_REQUESTS_MAX: usize = 16384;
/// Requests of one peer that are being answered, in bytes.
pub(super) const SERVED_BYTES_MAX: usize = 128 << 20;
/// Connections from peers, in connections.
pub(super) const CONNECTIONS_MAX: usize = 256;

/// How long a connection may take until both sides have said hello.
pub(super) const SETUP_LIMIT: Duration = Duration::from_secs(3);
/// How long a node may take to take in another: it asks the catalog's leader.
pub(super) const JOIN_LIMIT: Duration = Duration::from_secs(15);
/// How long a link may be silent before it is asked for a sign of life.
pub(super) const KEEP_ALIVE_EVERY: Duration = Duration::from_millis(500);
/// How long that sign may take: a link that is cut is noticed within the sum of both.
pub(super) const KEEP_ALIVE_LIMIT: Duration = Duration::from_secs(1);
/// The shortest and the longest wait before connecting again.
pub(super) const BACKOFF_MIN: Duration = Duration::from_millis(50);
pub(super) const BACKOFF_MAX: Duration = Duration::from_secs(2);
/// How often an idle link compares the clocks of its ends.
pub(super) const CLOCK_EVERY: Duration = Duration::from_secs(1);

/// How much HTTP/2 lets the other side send ahead, in bytes.
pub(super) const STREAM_WINDOW_BYTES: u32 = 4 << 20;
pub(super) const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;
/// The largest frame of HTTP/2, in bytes.
pub(super) const FRAME_BYTES_MAX: u32 = 256 << 10;
