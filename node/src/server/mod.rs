//! A node from its settings to its listeners, and back down in order.

mod care;
mod disk;
mod late;
mod listen;
mod member;
mod options;
mod planner;
mod stats;
mod status;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentprocess::time::{Span, Timestamp};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use late::Late;
pub use listen::ListenError;
pub use member::Member;
pub use options::{AdminListen, Options};

use crate::admin::{Admin, Fault, Reach, admin};
use crate::api::{Api, Attended, tools};
use crate::auth::Authenticator;
use crate::clock::Clock;
use crate::cluster::found::FoundError;
use crate::config::{Organization, Watch};
use crate::engine::rocks::Rocks;
use crate::engine::{Engine, EngineError};
use crate::http::health::Readiness;
use crate::http::observe::Metrics;
use crate::http::{Public, public, serve};
use crate::outbox;
use crate::peers::TlsError;
use crate::raft::{OpenError, RaftGroups};
use crate::timers::Timers;

/// Profiles that this server offers, as `describe` lists them.
pub(crate) const PROFILES: [&str; 1] = [agentprocess::PARALLEL];

/// The store's folder in the data folder.
pub(crate) const STORE: &str = "store";

/// The groups that stand behind a node.
type NodeGroups = RaftGroups;

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The authentication settings do not work.
    #[error("authentication: {}", .0.join("; "))]
    Auth(Vec<String>),
    /// The data folder cannot be made.
    #[error("data folder {0}: {1}")]
    Data(std::path::PathBuf, std::io::Error),
    /// The groups in the data folder cannot be opened.
    #[error("the data folder: {0}")]
    Groups(OpenError),
    /// Another node has the data folder open.
    #[error("{0}; stop that one, or use another folder")]
    InUse(EngineError),
    /// The data folder is of a cluster with another number of shards.
    #[error("the data folder has {stored} shards, and {asked} were asked for: say shards {stored}, it cannot change")]
    Shards {
        /// How many it has.
        stored: u64,
        /// How many were asked for.
        asked: u64,
    },
    /// The node finds no place in its cluster.
    #[error("the cluster: {0}")]
    Place(#[from] FoundError),
    /// It holds a member of a cluster.
    #[error("the data folder holds a member of a cluster: start it with the cluster settings it had")]
    Member,
    /// The certificate's files do not work.
    #[error("cluster.tls: {0}")]
    Tls(#[from] TlsError),
    /// The system gives no random bytes.
    #[error("no random bytes: {0}")]
    Random(String),
}

impl From<OpenError> for StartError {
    fn from(fault: OpenError) -> Self {
        match fault {
            OpenError::Engine(fault @ EngineError::InUse(_)) => Self::InUse(fault),
            OpenError::Other { what: "shards", stored, asked } => Self::Shards { stored, asked },
            other @ (OpenError::Engine(_) | OpenError::Other { .. } | OpenError::Shards(_) | OpenError::Damaged(_)) => {
                Self::Groups(other)
            }
        }
    }
}

/// A node that serves.
pub struct Running {
    /// The address of MCP, such as `http://127.0.0.1:8080/mcp`.
    pub mcp_url: String,
    /// The base address of administration, without a slash at the end.
    pub admin_url: String,
    /// The groups, for work inside of this process.
    pub reach: Arc<dyn Reach>,
    groups: member::Groups,
    timers: Timers,
    stop: CancellationToken,
    tasks: Vec<AbortOnDropHandle<()>>,
}

/// Starts nodes.
pub struct Server;

impl Server {
    /// Starts a node: listeners that say what it waits for, then its groups, then what serves and works in the background.
    pub async fn start(options: Options) -> Result<Running, StartError> {
        let listeners = listen::bind(options.listen, options.admin_listen).await?;
        let public_url = options.settings_url(&listeners);
        let authenticator = Arc::new(Authenticator::new(&options.auth).map_err(StartError::Auth)?);
        let (mcp_url, admin_url) = (listeners.mcp_url(), listeners.admin_url());
        let guard = options.guard.clone().for_admin(listeners.admin_ip());
        let (waits_for, waiting) = watch::channel("it opens its data folder".to_owned());
        let metrics = Arc::new(Metrics::default());
        let stop = CancellationToken::new();
        let mut tasks = Vec::new();
        let mut listen = |listener, operators| {
            let (late, tracker) = (Late::default(), TaskTracker::new());
            let router = late.router(late::starting(waiting.clone(), operators));
            let (metrics, stop) = (Arc::clone(&metrics), stop.clone().cancelled_owned());
            let serving = serve::serve(listener, router, serve::Limits::default(), metrics, tracker.clone(), stop);
            tasks.push(AbortOnDropHandle::new(tokio::spawn(serving)));
            (late, tracker)
        };
        let (public_late, tracker) = listen(listeners.public, false);
        let (admin_late, admin_tracker) = listen(listeners.admin, true);

        let engine = open(&options.data, &options.watch, &waits_for).await?;
        let node = match options.member {
            None => member::alone(engine, options.shards, Arc::clone(&options.clock)).await?,
            Some(member) => member::join(engine, member, Arc::clone(&options.clock), waits_for).await?,
        };
        let groups = Arc::clone(&node.groups);
        let care = care::Care {
            groups: Arc::clone(&groups),
            peers: node.links.as_ref().map(|links| Arc::clone(&links.peers)),
            clock: Arc::clone(&options.clock),
            folder: options.data,
            watch: options.watch,
        };
        tasks.push(AbortOnDropHandle::new(tokio::spawn(care.run(stop.clone()))));
        let mut settings = options.settings.clone();
        settings.public_url.clone_from(&public_url);
        let api = Api::new(Arc::clone(&groups), settings, Arc::clone(&options.clock));
        let api = Arc::new(api.with_attended(attended(&options.organizations, &authenticator)));
        let reach: Arc<dyn Reach> = Arc::clone(&api) as Arc<dyn Reach>;
        if let Some(links) = &node.links {
            links.door.take_in(member::joiner(&api, links.place.clone()));
        }
        metrics.register(Box::new(stats::Stats(Arc::clone(&groups))));
        if let Some(links) = &node.links {
            metrics.register(Box::new(stats::Links(Arc::clone(&links.peers))));
        }
        public_late.set(public(Public {
            tools: Arc::clone(&api),
            authenticator: Arc::clone(&authenticator),
            authorization_servers: options.auth.authorization_servers(),
            public_url: public_url.clone(),
            guard: options.guard,
            upload_bytes_max: options.settings.upload_bytes_max,
            metrics: Arc::clone(&metrics),
            tracker,
        }));
        admin_late.set(admin(Admin {
            reach: Arc::clone(&reach),
            authenticator,
            organizations: options.organizations,
            operated_by: options.operated_by,
            profiles: PROFILES.to_vec(),
            tools: tools().iter().map(|tool| tool.name).collect(),
            metrics: Arc::clone(&metrics),
            readiness: readiness(&groups),
            plan: planner::plan(&groups),
            cluster: status::cluster(&groups, node.links.as_ref().map(|links| &links.peers)),
            guard,
            public_url,
            tracker: admin_tracker,
        }));
        let leader = Arc::clone(&groups);
        let leads = move |group| leader.leads(group);
        let figures = outbox::Figures::default();
        metrics.register(Box::new(figures.clone()));
        let outbox = outbox::run(Arc::clone(&groups), options.destination, figures, leads, stop.clone());
        tasks.push(AbortOnDropHandle::new(tokio::spawn(outbox)));
        let timers = Timers::start(&groups, &options.clock);
        Ok(Running { mcp_url, admin_url, reach, groups: node, timers, stop, tasks })
    }
}

/// Opens the store in the data folder, or makes it there. It may have much to read again: listeners answer meanwhile.
async fn open(data: &Path, watch: &Watch, waits_for: &watch::Sender<String>) -> Result<Arc<dyn Engine>, StartError> {
    std::fs::create_dir_all(data).map_err(|e| StartError::Data(data.to_owned(), e))?;
    disk::room(data, watch, waits_for).await;
    let store = data.join(STORE);
    let opened = tokio::task::spawn_blocking(move || Rocks::open(&store)).await;
    let opened = opened.map_err(|e| OpenError::Damaged(format!("opening broke: {e}")))?;
    Ok(Arc::new(opened.map_err(OpenError::from)?))
}

/// How often to look whether the store has failed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long a node must have seen who signs in before it says that nobody of a group does.
const SEEN_LONG_ENOUGH: Duration = Duration::from_hours(24);

/// A declared list of groups says which there are; without one, those whose people have been seen here for some time.
fn attended(organizations: &BTreeMap<String, Organization>, authenticator: &Arc<Authenticator>) -> Attended {
    let declared: BTreeMap<_, _> =
        organizations.iter().filter_map(|(name, o)| Some((name.clone(), o.groups.clone()?))).collect();
    let (authenticator, started) = (Arc::clone(authenticator), Instant::now());
    Box::new(move |org, group| match declared.get(org) {
        Some(groups) => groups.contains(group),
        None => started.elapsed() < SEEN_LONG_ENOUGH || authenticator.has_seen(org, group),
    })
}

fn readiness(groups: &Arc<NodeGroups>) -> Readiness {
    let groups = Arc::clone(groups);
    Arc::new(move || Box::pin(std::future::ready(groups.ready().err().into_iter().collect())))
}

impl Running {
    /// Puts a test clock where the groups have agreed that it stands, or to the time of day on a first start.
    pub async fn resume_test_clock(&self) -> Result<(), Fault> {
        let clock = self.reach.clock();
        let agreed = match self.reach.agreed().await? {
            Timestamp(0) => Clock::system().now(),
            agreed => agreed,
        };
        clock.advance(Span(u64::try_from(agreed.0 - clock.now().0).unwrap_or(0)));
        Ok(())
    }

    /// Waits until the node's store has failed: why. It must be started again.
    pub async fn failed(&self) -> String {
        loop {
            if let Some(why) = self.groups.groups.store().failed {
                return why;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Stops: others lead, no new connections, calls in flight finish, then the groups close.
    pub async fn stop(self) {
        self.groups.groups.leave_leaders().await;
        self.stop.cancel();
        for task in self.tasks {
            if let Err(fault) = task.await {
                tracing::error!(%fault, "a task of the node failed");
            }
        }
        self.timers.stop();
        self.groups.groups.shutdown().await;
    }
}
