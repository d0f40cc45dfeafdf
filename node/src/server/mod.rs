//! A node from its settings to its listeners, and back down in order.

mod listen;
mod options;
mod stats;

use std::collections::BTreeMap;
use std::sync::Arc;

use agentprocess::time::{Span, Timestamp};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use listen::ListenError;
pub use options::{AdminListen, Options};

use crate::admin::{Admin, Fault, Reach, admin};
use crate::api::{Api, Attended, tools};
use crate::auth::Authenticator;
use crate::clock::Clock;
use crate::config::Organization;
use crate::http::health::Readiness;
use crate::http::observe::Metrics;
use crate::http::{Public, public, serve};
use crate::outbox;
use crate::raft::{OpenError, RaftGroups};
use crate::timers::Timers;

/// Profiles that this server offers, as `describe` lists them.
pub(crate) const PROFILES: [&str; 1] = [agentprocess::PARALLEL];

/// The store's folder in the data folder.
const STORE: &str = "store";

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
    #[error("data folder {0}: {1}")]
    Groups(std::path::PathBuf, OpenError),
}

/// A node that serves.
pub struct Running {
    /// The address of MCP, such as `http://127.0.0.1:8080/mcp`.
    pub mcp_url: String,
    /// The base address of administration, without a slash at the end.
    pub admin_url: String,
    /// The groups, for work inside of this process.
    pub reach: Arc<dyn Reach>,
    groups: Arc<NodeGroups>,
    timers: Timers,
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

/// Starts nodes.
pub struct Server;

impl Server {
    /// Starts a node: groups first, then listeners, then what works in the background.
    pub async fn start(options: Options) -> Result<Running, StartError> {
        let listeners = listen::bind(options.listen, options.admin_listen).await?;
        let public_url = options.settings_url(&listeners);
        let authenticator = Arc::new(Authenticator::new(&options.auth).map_err(StartError::Auth)?);
        std::fs::create_dir_all(&options.data).map_err(|e| StartError::Data(options.data.clone(), e))?;
        let groups = RaftGroups::open(&options.data.join(STORE), options.shards, Arc::clone(&options.clock)).await;
        let groups = groups.map_err(|e| StartError::Groups(options.data.clone(), e))?;

        let mut settings = options.settings.clone();
        settings.public_url.clone_from(&public_url);
        let api = Api::new(Arc::clone(&groups), settings, Arc::clone(&options.clock));
        let api = Arc::new(api.with_attended(attended(&options.organizations, &authenticator)));
        let reach: Arc<dyn Reach> = Arc::clone(&api) as Arc<dyn Reach>;
        let (metrics, tracker, admin_tracker) = (Arc::new(Metrics::default()), TaskTracker::new(), TaskTracker::new());
        metrics.register(Box::new(stats::Stats(Arc::clone(&groups))));
        let stop = CancellationToken::new();
        let public = public(Public {
            tools: Arc::clone(&api),
            authenticator: Arc::clone(&authenticator),
            authorization_servers: options.auth.authorization_servers(),
            public_url: public_url.clone(),
            guard: options.guard.clone(),
            upload_bytes_max: options.settings.upload_bytes_max,
            metrics: Arc::clone(&metrics),
            tracker: tracker.clone(),
        });
        let admin = admin(Admin {
            reach: Arc::clone(&reach),
            authenticator,
            organizations: options.organizations,
            profiles: PROFILES.to_vec(),
            tools: tools().iter().map(|tool| tool.name).collect(),
            metrics: Arc::clone(&metrics),
            readiness: readiness(&groups),
            guard: options.guard.for_admin(listeners.admin_ip()),
            public_url,
            tracker: admin_tracker.clone(),
        });
        let (mcp_url, admin_url) = (listeners.mcp_url(), listeners.admin_url());
        let limits = serve::Limits::default();
        let mut tasks = Vec::new();
        for (listener, router, tracker) in
            [(listeners.public, public, tracker), (listeners.admin, admin, admin_tracker)]
        {
            let (metrics, stop) = (Arc::clone(&metrics), stop.clone().cancelled_owned());
            tasks.push(tokio::spawn(serve::serve(listener, router, limits, metrics, tracker, stop)));
        }
        let leader = Arc::clone(&groups);
        let leads = move |group| leader.leads(group);
        let figures = outbox::Figures::default();
        metrics.register(Box::new(figures.clone()));
        tasks.push(tokio::spawn(outbox::run(Arc::clone(&groups), options.destination, figures, leads, stop.clone())));
        let timers = Timers::start(&groups, &options.clock);
        Ok(Running { mcp_url, admin_url, reach, groups, timers, stop, tasks })
    }
}

/// A declared list of groups says which there are; without one, those count whose people have been seen here.
fn attended(organizations: &BTreeMap<String, Organization>, authenticator: &Arc<Authenticator>) -> Attended {
    let declared: BTreeMap<_, _> =
        organizations.iter().filter_map(|(name, o)| Some((name.clone(), o.groups.clone()?))).collect();
    let authenticator = Arc::clone(authenticator);
    Box::new(move |org, group| match declared.get(org) {
        Some(groups) => groups.contains(group),
        None => authenticator.has_seen(org, group),
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

    /// Stops: no new connections, calls in flight finish, then the groups close.
    pub async fn stop(self) {
        self.stop.cancel();
        for task in self.tasks {
            if let Err(fault) = task.await {
                tracing::error!(%fault, "a task of the node failed");
            }
        }
        self.timers.stop();
        self.groups.shutdown().await;
    }
}
