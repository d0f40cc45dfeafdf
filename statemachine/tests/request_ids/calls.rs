//! The calls that meet on one request id.

use std::sync::LazyLock;

use quorate_proto::shard::{Action, Write};
use quorate_statemachine::Coordinator;

use crate::shards::{HOME, run, start, write};
use crate::support::{agent, person, submission};

/// A call of one caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Claims in shard 1.
    Claim,
    /// Cancels the same run.
    Cancel,
    /// Claims in shard 2.
    Elsewhere,
    /// Starts a run at home.
    Start,
    /// Cancels a run at home.
    CancelHome,
    /// Claims in shard 1 what is not ready until another agent has done its work.
    Early,
    /// The same at home.
    EarlyHome,
    /// Claims a step that does not exist.
    NoStep,
    /// Claims in a run that does not exist.
    NoRun,
    /// Starts a process that does not exist.
    NoProcess,
    /// Submits what is not accepted.
    Unaccepted,
    /// Claims in shard 2 as somebody else: what only the checks call.
    Probe,
}

pub const CALLS: [Call; 11] = {
    use Call::*;
    [Claim, Cancel, Elsewhere, Start, CancelHome, Early, EarlyHome, NoStep, NoRun, NoProcess, Unaccepted]
};

impl Call {
    /// Whether its answer depends on what the other agent does.
    pub fn waits(self) -> bool {
        matches!(self, Self::Early | Self::EarlyHome)
    }

    pub fn write(self) -> Write {
        self.write_of(1)
    }

    pub fn fingerprint(self) -> [u8; 32] {
        static ALL: LazyLock<Vec<[u8; 32]>> =
            LazyLock::new(|| CALLS.iter().chain(&[Call::Probe]).map(|call| call.write().fingerprint).collect());
        ALL[self as usize]
    }

    /// The call as its `number`th try makes it: the proposer chooses a run's id anew.
    fn write_of(self, number: u8) -> Write {
        let claim =
            |shard, number, step: &str| Action::Claim { run: run(shard, number), step: step.to_owned(), key: 1 };
        let cancel = |shard| Action::Cancel { run: run(shard, 1), reason: "No.".to_owned() };
        let a1 = agent("a1");
        match self {
            Self::Claim => write(&a1, claim(1, 1, "a")),
            Self::Cancel => write(&person("olga", &["g_ops"]), cancel(1)),
            Self::Elsewhere => write(&a1, claim(2, 1, "a")),
            Self::Start => write(&a1, start(run(HOME, 100 + number), "p")),
            Self::CancelHome => write(&person("olga", &["g_ops"]), cancel(HOME)),
            Self::Early => write(&a1, claim(1, 2, "b")),
            Self::EarlyHome => write(&a1, claim(HOME, 2, "b")),
            Self::NoStep => write(&a1, claim(1, 1, "none")),
            Self::NoRun => write(&a1, claim(2, 77, "a")),
            Self::NoProcess => write(&a1, start(run(HOME, 150 + number), "none")),
            Self::Unaccepted => {
                let token = quorate_proto::shard::Token { run: run(1, 2), step: 0, number: 1, holder: "a9".to_owned() };
                write(&agent("a9"), Action::Submit { token, submission: submission("{}", "Bad.", None) })
            }
            Self::Probe => write(&agent("a2"), claim(2, 1, "a")),
        }
    }

    pub fn target(self) -> u16 {
        match self {
            Self::Start | Self::CancelHome | Self::EarlyHome | Self::NoProcess => HOME,
            Self::Claim | Self::Cancel | Self::Early | Self::NoStep | Self::Unaccepted => 1,
            Self::Elsewhere | Self::NoRun | Self::Probe => 2,
        }
    }

    /// A try of the call on a node that knows no numbers.
    pub fn begin(self, number: u8) -> Coordinator {
        Coordinator::new(self.write_of(number), HOME, self.target(), 0)
    }
}
