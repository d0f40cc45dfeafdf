//! Bodies of the administration interface, for the server and for the command line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A refused call.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// Why.
    pub error: ErrorDetails,
}

/// Why a call was refused.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetails {
    /// `invalid`, `conflict`, `forbidden`, `not_found`, `retry` or `internal`.
    pub code: String,
    /// What is wrong and what to do next.
    pub message: String,
    /// Each thing wrong, with its place.
    #[serde(default)]
    pub issues: Vec<String>,
}

/// A call refused for its token, before it was looked at. A caller who is no member gets 403 in this form.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DoorBody {
    /// `invalid_token` or `access_denied`.
    pub error: String,
    /// Why.
    pub error_description: String,
}

/// Parameters of an import.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// Name of the folder that the file came in; it must be the process's name. Absent for a lone file.
    #[serde(default)]
    pub folder: Option<String>,
}

/// Parameters of a list.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// The `next` of the page before.
    #[serde(default)]
    pub after: Option<String>,
    /// At most so many items: 1 to 100, 50 by default.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// A draft: what an import gives and a publication takes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// The process's name.
    pub process: String,
    /// Its description.
    pub description: String,
    /// The content hash the version would have.
    pub hash: String,
    /// Every role to bind to a group, with the group it has in the latest version.
    pub roles: Vec<RoleToBind>,
    /// External systems that the work needs (`requires.systems`).
    pub systems: Vec<String>,
    /// Profiles that the process needs.
    pub profiles: Vec<String>,
    /// What it needs and this server does not offer: with any, it cannot be published here.
    pub not_offered: Vec<String>,
    /// Doubtful things that publish all the same.
    pub warnings: Vec<String>,
    /// The latest version, if the process was published before.
    pub latest_version: Option<u32>,
    /// Whether the draft has the latest version's content: publishing returns that version then.
    pub identical: bool,
    /// Lines that differ from the latest version's file, as a unified difference.
    pub difference: Option<String>,
    /// When it was imported (RFC 3339).
    pub imported_at: String,
    /// Who imported it.
    pub imported_by: String,
}

/// A role of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleToBind {
    /// Its name in the file.
    pub role: String,
    /// The group it is bound to in the latest version; nothing when it is new.
    pub group: Option<String>,
}

/// A page of drafts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DraftPage {
    /// The drafts by process name.
    pub items: Vec<Draft>,
    /// Pass it as `after` for the next page; nothing on the last.
    pub next: Option<String>,
}

/// How to publish.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishRequest {
    /// A group for every role. Roles that are left out keep the group of the latest version.
    #[serde(default)]
    pub roles: BTreeMap<String, String>,
    /// The group that decides escalations; the operators when nothing is given here or in the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalations: Option<String>,
    /// The hash of the draft you saw: refused when another was imported since. Without it, the draft of the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// What a publication came to.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Published {
    /// Whether this call created the version. Publishing the latest content again creates nothing and maps nothing.
    pub created: bool,
    /// The version that stands.
    pub version: Version,
    /// Doubtful things, such as groups that nobody of has been seen.
    pub warnings: Vec<String>,
}

/// A published version. Its content never changes; its roles can be mapped anew.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The process's name.
    pub process: String,
    /// 1, 2, 3…
    pub version: u32,
    /// Its description.
    pub description: String,
    /// Content hash: SHA-256, lower-case hex.
    pub hash: String,
    /// Role name to group id.
    pub roles: BTreeMap<String, String>,
    /// The group that decides escalations; nothing for the operators.
    pub escalations: Option<String>,
    /// External systems that the work needs.
    pub systems: Vec<String>,
    /// When it was published (RFC 3339).
    pub published_at: String,
    /// Who published it.
    pub published_by: String,
    /// Whether the process is retired.
    pub retired: bool,
}

/// A process and where it stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessItem {
    /// Its name.
    pub process: String,
    /// Number of its latest version.
    pub latest_version: u32,
    /// Whether it is retired: not listed, not started; its runs go on.
    pub retired: bool,
}

/// A page of processes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProcessPage {
    /// The processes by name.
    pub items: Vec<ProcessItem>,
    /// Pass it as `after` for the next page; nothing on the last.
    pub next: Option<String>,
}

/// A page of a process's versions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionPage {
    /// The process's name.
    pub process: String,
    /// Number of its latest version.
    pub latest_version: u32,
    /// Whether it is retired.
    pub retired: bool,
    /// Versions, the newest first.
    pub items: Vec<Version>,
    /// Pass it as `after` for the next page; nothing on the last.
    pub next: Option<String>,
}

/// New groups for roles.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MapRequest {
    /// Role name to group id. Roles that are left out keep theirs. Open work items keep the group they have.
    pub roles: BTreeMap<String, String>,
}

/// Something that an operator did.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordItem {
    /// When (RFC 3339).
    pub at: String,
    /// Who.
    pub by: String,
    /// `imported`, `published`, `mapped`, `retired` or `restored`.
    pub what: String,
    /// The process.
    pub process: String,
    /// The version, where there is one.
    pub version: Option<u32>,
    /// The content hash, where there is one.
    pub hash: Option<String>,
    /// The whole role map after it, where there is one.
    pub roles: Option<BTreeMap<String, String>>,
}

/// A page of the record.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordPage {
    /// The newest first.
    pub items: Vec<RecordItem>,
    /// Pass it as `after` for the next page; nothing on the last.
    pub next: Option<String>,
}

/// How far to advance the test clock.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Advance {
    /// A duration: digits and `s`, `m`, `h` or `d`, such as `10m`.
    pub advance: String,
    /// `false`: nothing is fired; what is due by then is found by the next call.
    #[serde(default = "yes")]
    pub settle: bool,
}

fn yes() -> bool {
    true
}

/// Where the test clock stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Standing {
    /// The agreed time (RFC 3339), with everything due at it done if that was asked for.
    pub now: String,
}

/// The cluster, as the node that was asked sees it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The number of the node that was asked.
    pub asked: u64,
    /// Each node.
    pub nodes: Vec<NodeStatus>,
    /// Each group.
    pub groups: Vec<GroupStatus>,
}

/// A node.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its number.
    pub node: u64,
    /// Where its peers reach it; absent for the node that was asked.
    pub address: Option<String>,
    /// The zone it is in, if it is in one.
    pub zone: Option<String>,
    /// `ready`, `not_ready` or `unreachable`; a drained node that answers is `draining` until it leads nothing, then `drained`.
    pub state: String,
    /// Why, when it is not ready.
    pub reason: Option<String>,
    /// Since when it is drained (RFC 3339), if it is.
    pub drained_since: Option<String>,
    /// Who drained it.
    pub drained_by: Option<String>,
    /// How many groups it leads.
    pub leads: usize,
    /// How far its clock is ahead of that of the node that was asked, in milliseconds, where that is known.
    pub clock_ahead_ms: Option<i64>,
    /// Space left on its disk, in bytes, where that is known.
    pub disk_free_bytes: Option<u64>,
    /// How long a flush to its disk takes lately, in microseconds.
    pub flush_us: Option<u64>,
}

/// A group.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupStatus {
    /// `catalog`, or the shard's number.
    pub group: String,
    /// The node that leads it, when one does.
    pub leader: Option<u64>,
    /// The leader's term.
    pub term: u64,
    /// The nodes that vote.
    pub voters: Vec<u64>,
    /// The nodes that follow without a vote.
    pub learners: Vec<u64>,
    /// The nodes that are to vote; empty for a node alone.
    pub wanted: Vec<u64>,
    /// Index of the last entry of the leader's log, or of the longest that is known.
    pub last: u64,
    /// Each replica that could be asked.
    pub replicas: Vec<ReplicaStatus>,
}

/// A replica of a group.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaStatus {
    /// Its node.
    pub node: u64,
    /// Index of its last applied entry.
    pub applied: u64,
    /// How many entries it is behind.
    pub behind: u64,
    /// Index of the last entry as of which it was found equal to a majority; 0 when it was not compared since its node started.
    pub checked: u64,
    /// Whether replicas were found to differ, and this one may be the one that is wrong.
    pub differs: bool,
    /// Why it does not run, when it does not.
    pub stopped: Option<String>,
}

/// Where the replicas of the shards are wanted, and what is done next.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPlan {
    /// How many replicas each shard is to have; 0 for a node alone.
    pub replication_factor: u16,
    /// What the planner does next.
    pub next: NextStep,
    /// Each node.
    pub nodes: Vec<NodePlan>,
    /// Each shard.
    pub shards: Vec<ShardPlan>,
}

/// What the planner does next.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextStep {
    /// `nothing`, `wait`, or `move`: it wants a replica elsewhere.
    pub kind: String,
    /// Why.
    pub why: String,
    /// The shard, for a move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<u16>,
    /// The node that gets a replica, for a move that adds one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<u64>,
    /// The node that has it no more, for a move that takes one away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<u64>,
}

/// A node, as the planner sees it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePlan {
    /// Its number.
    pub node: u64,
    /// The zone it is in, if it is in one.
    pub zone: Option<String>,
    /// Whether it answers now.
    pub reached: bool,
    /// Whether it is drained: it gets a replica only where no other node could have it.
    pub drained: bool,
    /// How many replicas of shards are wanted there.
    pub replicas: usize,
}

/// A shard, as the planner sees it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShardPlan {
    /// Its number.
    pub shard: u16,
    /// The nodes on which its replicas are wanted.
    pub wanted: Vec<u64>,
    /// The nodes that vote now; absent when it has no leader.
    pub voters: Option<Vec<u64>>,
}

/// What a join token shall be.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinTokenRequest {
    /// How long it is good for: digits and m, h or d. 1h by default, 30d at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

/// A token that lets new nodes into the cluster.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinToken {
    /// The token.
    pub token: String,
    /// When it ends.
    pub expires_at: String,
}

/// A node that was taken out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Removed {
    /// Its number.
    pub node: u64,
}

/// Whether a node may lead.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Drained {
    /// Its number.
    pub node: u64,
    /// Whether it is to lead nothing.
    pub drained: bool,
}
