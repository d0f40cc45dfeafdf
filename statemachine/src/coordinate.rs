//! One write over the shards that its request id needs (design §4): what to propose where, step by step. Holds no state
//! that matters: whoever makes the call again finds all of it in the shards.

use quorate_proto::shard::{ShardCommand, Write};
use quorate_proto::{Attempt, Code, Outcome, Refusal, Reply, RequestCommand, RequestReply, Reservation, Right};

/// How often a call begins anew because another one, or a twin that was refused, came between.
const ROUNDS_MAX: u32 = 16;

/// A write on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinator {
    home: u16,
    target: u16,
    write: Write,
    last: u64,
    rounds: u32,
    step: Step,
}

/// What is proposed now.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// At home: the id for this call.
    Reserve,
    /// At the target: the write itself.
    Write(Right),
    /// Where another call has it: whether it took effect, and if not, that it never will.
    Fence(Reservation),
    /// At home: the id back from an attempt that never takes effect; then the call is refused, or begins anew.
    Release(Attempt, Option<Refusal>),
    /// Nothing.
    Done(Outcome),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Propose a command to a shard, and tell what came of it.
    Propose(u16, ShardCommand),
    /// Nothing: this is what the call came to.
    Done(Outcome),
}

impl Coordinator {
    /// A write in the shard `target`, under an id whose home is `home`. `last` is the last number of that home that is
    /// known here; 0 will do.
    pub fn new(write: Write, home: u16, target: u16, last: u64) -> Self {
        let mut call = Self { home, target, write, last, rounds: 0, step: Step::Reserve };
        call.step = call.begin();
        call
    }

    /// What to do next. The same until it was [`told`](Self::told) what came of it.
    pub fn next(&self) -> Next {
        let (shard, command) = match &self.step {
            Step::Reserve => {
                let (home, target, fingerprint) = (self.home, self.target, self.write.fingerprint);
                (home, self.request(RequestCommand::Reserve { home, target, fingerprint }))
            }
            Step::Write(right) => {
                (self.target, ShardCommand::Write { right: *right, write: Box::new(self.write.clone()) })
            }
            Step::Fence(held) => (held.target, self.request(RequestCommand::Fence(held.attempt))),
            Step::Release(attempt, _) => (self.home, self.request(RequestCommand::Release(*attempt))),
            Step::Done(outcome) => return Next::Done(outcome.clone()),
        };
        Next::Propose(shard, command)
    }

    /// The refusal that stands whatever comes of what is proposed now.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.step {
            Step::Release(_, refusal) => refusal.as_ref(),
            Step::Reserve | Step::Write(_) | Step::Fence(_) | Step::Done(_) => None,
        }
    }

    /// The last number of the home that is known now.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Goes on with what came of the proposal.
    pub fn told(&mut self, outcome: Outcome) {
        use RequestReply::{Fenced, Held, Reserved, Stale, Used};
        let step = std::mem::replace(&mut self.step, Step::Reserve);
        self.step = match (step, outcome) {
            (Step::Release(_, Some(refusal)), _) => Step::Done(Err(refusal)),
            (Step::Release(_, None), Ok(_)) => self.again(),
            (Step::Reserve, Ok(Reply::Request(Reserved(attempt)))) => Step::Write(Right::Reserved(attempt)),
            (Step::Reserve | Step::Write(_), Ok(Reply::Request(Held(reservation)))) => Step::Fence(reservation),
            // Not a conflict yet: what comes before it in ERR-ORDER is for the run's shard to say.
            (Step::Reserve | Step::Fence(_), Ok(Reply::Request(Used))) => Step::Write(Right::Taken),
            (Step::Fence(held), Ok(Reply::Request(Fenced))) => Step::Release(held.attempt, None),
            (Step::Write(Right::Reserved(attempt)), Ok(Reply::Request(Stale { .. }))) => Step::Release(attempt, None),
            (Step::Write(Right::Home(_)), Ok(Reply::Request(Stale { last }))) => {
                self.last = last;
                self.again()
            }
            (Step::Write(Right::Reserved(attempt)), Err(refusal)) => Step::Release(attempt, Some(refusal)),
            (_, Ok(Reply::Request(_))) => Step::Done(Err(busy("two shards do not agree about it"))),
            (_, outcome) => Step::Done(outcome),
        };
    }

    fn begin(&self) -> Step {
        let attempt = Attempt { home: self.home, number: self.last.saturating_add(1) };
        if self.home == self.target { Step::Write(Right::Home(attempt)) } else { Step::Reserve }
    }

    fn again(&mut self) -> Step {
        self.rounds += 1;
        if self.rounds > ROUNDS_MAX {
            return Step::Done(Err(busy("other calls with it keep coming between")));
        }
        self.begin()
    }

    fn request(&self, command: RequestCommand) -> ShardCommand {
        ShardCommand::Request { org: self.write.caller.org.clone(), request: self.write.request.clone(), command }
    }
}

fn busy(why: &str) -> Refusal {
    Refusal::new(Code::Retry, format!("The requestId is busy: {why}. Send the same call again."))
}
