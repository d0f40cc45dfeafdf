//! Random calls: numbers that are read against whatever the shard holds at that moment.

use std::collections::BTreeSet;

use agentprocess::json::Value;
use agentprocess::time::Span;
use agentprocess::{DataPath, EvidenceKind, FieldType, Process, StepKind, Target};
use proptest::prelude::*;
use quorate_proto::shard::{Action, Decide, Decision, Evidence, FileFact, ShardCommand, Submission};
use quorate_proto::{Caller, Claim, Outcome, Reply, RunId, Seen, WorkItemId};

use super::onward::Onward;
use super::process::{
    agent, approve, approve_to, choice, finish, join, minutes, object, one, parallel, process, role, step, task, wait,
    wait_for, with_due, with_evidence, with_output,
};
use super::{World, at, person, text, token};

/// How many runs are live at most, so that calls meet each other.
const RUNS_MAX: usize = 3;

/// One call of a random caller, or time passing.
#[derive(Clone, Debug)]
pub enum Op {
    Start { process: usize, caller: usize, test: bool },
    Claim { run: usize, step: usize, caller: usize },
    Renew { token: usize, note: bool, caller: Option<usize> },
    Submit { token: usize, work: Work, caller: Option<usize> },
    Escalate { token: usize },
    Decide { run: usize, item: usize, old: bool, caller: usize, kind: usize, work: Work, stale: bool },
    Event { run: usize, name: usize, caller: usize, size: usize },
    Cancel { run: usize, caller: usize },
    Advance { minutes: u64 },
    Repeat { which: usize },
    Reuse { which: usize, run: usize },
    Onward { run: usize, way: Onward },
    Tick { run: Option<usize> },
    Reinstall { process: usize, changed: bool },
}

/// How good a submission is.
#[derive(Clone, Debug)]
pub struct Work {
    pub bad: bool,
    pub route: usize,
    pub size: usize,
}

pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let n = || 0..64usize;
    let work =
        || (proptest::bool::weighted(0.15), n(), 0..300usize).prop_map(|(bad, route, size)| Work { bad, route, size });
    let onward =
        (n(), n(), proptest::bool::weighted(0.3)).prop_map(|(which, route, back)| Onward { which, route, back });
    let op = prop_oneof![
        // Most runs are to get far: to the join of their branches and beyond.
        24 => (n(), onward).prop_map(|(run, way)| Op::Onward { run, way }),
        3 => (n(), n(), any::<bool>()).prop_map(|(process, caller, test)| Op::Start { process, caller, test }),
        6 => (n(), n(), n()).prop_map(|(run, step, caller)| Op::Claim { run, step, caller }),
        2 => (n(), any::<bool>(), proptest::option::weighted(0.1, n()))
            .prop_map(|(token, note, caller)| Op::Renew { token, note, caller }),
        8 => (n(), work(), proptest::option::weighted(0.1, n()))
            .prop_map(|(token, work, caller)| Op::Submit { token, work, caller }),
        1 => n().prop_map(|token| Op::Escalate { token }),
        9 => (n(), n(), proptest::bool::weighted(0.1), n(), n(), work(), proptest::bool::weighted(0.1)).prop_map(
            |(run, item, old, caller, kind, work, stale)| Op::Decide { run, item, old, caller, kind, work, stale }
        ),
        3 => (n(), n(), n(), 0..200usize).prop_map(|(run, name, caller, size)| Op::Event { run, name, caller, size }),
        1 => (n(), n()).prop_map(|(run, caller)| Op::Cancel { run, caller }),
        3 => (0..4u64).prop_map(|minutes| Op::Advance { minutes }),
        1 => (4..45u64).prop_map(|minutes| Op::Advance { minutes }),
        2 => n().prop_map(|which| Op::Repeat { which }),
        1 => (n(), n()).prop_map(|(which, run)| Op::Reuse { which, run }),
        1 => proptest::option::of(n()).prop_map(|run| Op::Tick { run }),
        1 => (n(), any::<bool>()).prop_map(|(process, changed)| Op::Reinstall { process, changed }),
    ];
    proptest::collection::vec(op, 1..160)
}

/// A shard with a few small processes that between them use every kind of step.
pub fn processes() -> Vec<Process> {
    let owner = DataPath::Output { step: 0, field: "owner".to_owned() };
    let linear = process(
        "linear",
        &[("boss", FieldType::Person)],
        vec![
            with_due(agent("a", choice(&[Target::Step(1), Target::Step(2)])), minutes(20)),
            with_evidence(task("c", role("finance"), one(2)), &[EvidenceKind::File]),
            approve("r", role("reviewer"), 3, Some(0)),
            approve("q", agentprocess::Assignee::Path(DataPath::Input("boss".to_owned())), 4, Some(2)),
            finish("done", "ok"),
        ],
    );
    let branches = process(
        "branches",
        &[],
        vec![
            agent("p", one(1)),
            parallel("f", &[2, 4, 6], 8),
            agent("l", choice(&[Target::Step(3), Target::Join])),
            agent("fix", join()),
            with_due(task("r", role("reviewer"), Target::Step(5).into_next()), minutes(30)),
            approve_to("rk", role("finance"), Target::Join, Some(4)),
            wait_for("w", "go", Some(minutes(30)), Target::Step(7), Target::Join),
            wait("w2", minutes(10), Target::Join),
            approve("z", role("finance"), 10, Some(1)),
            finish("stop", "stopped"),
            approve("y", role("reviewer"), 11, Some(0)),
            approve("x", role("reviewer"), 12, Some(9)),
            finish("done", "ok"),
        ],
    );
    let until = StepKind::WaitUntil { at: DataPath::Input("when".to_owned()), next: Target::Step(2) };
    let waits = process(
        "waits",
        &[("when", FieldType::Datetime)],
        vec![
            with_output(agent("a", one(1)), &[("owner", FieldType::Person)]),
            step("u", until),
            wait_for("g1", "go", None, Target::Step(3), Target::Step(3)),
            wait_for("g2", "go", Some(minutes(15)), Target::Step(4), Target::Step(6)),
            task("t", agentprocess::Assignee::Path(owner), one(5)),
            approve("v", agentprocess::Assignee::Initiator, 7, Some(2)),
            agent("late", one(4)),
            finish("done", "ok"),
        ],
    );
    vec![linear, branches, waits]
}

trait IntoNext {
    fn into_next(self) -> agentprocess::Next;
}
impl IntoNext for Target {
    fn into_next(self) -> agentprocess::Next {
        agentprocess::Next::One(self)
    }
}

pub fn callers() -> Vec<Caller> {
    vec![
        super::agent("a1"),
        person("rita", &["g_rev"]),
        person("fay", &["g_fin", "g_rev"]),
        // An agent identity stays one even inside a mapped group (HUMAN-CRED).
        Caller { groups: BTreeSet::from(["g_rev".to_owned()]), ..super::agent("a2") },
        person("olga", &["g_ops"]),
        person("sam", &[]),
    ]
}

/// A shard under random calls, with what the calls gave.
pub struct Driver {
    pub world: World,
    pub runs: Vec<RunId>,
    pub claims: Vec<Claim>,
    pub writes: Vec<(ShardCommand, Outcome)>,
    pub seen: Vec<(Seen, Value)>,
}

impl Driver {
    pub fn new() -> Self {
        let mut world = World::new(&processes());
        world.limits.run_data_bytes_max = 1500;
        Self { world, runs: Vec::new(), claims: Vec::new(), writes: Vec::new(), seen: Vec::new() }
    }

    /// The command of an op, if it makes sense now.
    pub fn command(&mut self, op: &Op) -> Option<ShardCommand> {
        let callers = callers();
        let caller = |index: usize| &callers[index % callers.len()];
        let action = match op {
            Op::Advance { minutes } => {
                self.world.advance(Span(minutes * 60_000));
                return None;
            }
            Op::Onward { run, way } => {
                let run = *pick(&self.live(), *run)?;
                return self.onward(run, way);
            }
            Op::Tick { run: Some(run) } => return Some(ShardCommand::Tick { run: Some(*pick(&self.runs, *run)?) }),
            Op::Tick { run: None } => return Some(ShardCommand::Tick { run: None }),
            Op::Repeat { which } => return Some(pick(&self.writes, *which)?.0.clone()),
            Op::Reinstall { process, changed } => return Some(self.reinstall(*process, *changed)),
            Op::Reuse { which, run } => {
                let ShardCommand::Write { write: old, .. } = &pick(&self.writes, *which)?.0 else { return None };
                let action = Action::Cancel { run: *pick(&self.runs, *run)?, reason: "Reused.".to_owned() };
                return Some(self.world.make(&old.caller.clone(), &old.request.clone(), action));
            }
            Op::Start { .. } if self.live().len() >= RUNS_MAX => return None,
            Op::Start { process, caller: by, test } => {
                let (process, inputs) = [
                    ("linear", r#"{"boss":"SAM@example.com"}"#),
                    ("branches", "{}"),
                    ("waits", r#"{"when":"2027-01-15T08:30:00Z"}"#),
                    ("linear", "{}"),
                    ("waits", "{}"),
                ][*process % 5];
                let action = Action::StartRun {
                    run: self.world.new_run(),
                    process: process.to_owned(),
                    version: 1,
                    inputs: object(inputs),
                    test: *test,
                };
                (caller(*by), action)
            }
            Op::Claim { run, step, caller: by } => {
                let run = *pick(&self.live(), *run)?;
                let ready = self.world.work_of(&callers[0], None);
                // Mostly an agent.
                let by = if by.is_multiple_of(7) { &(by / 7) } else { &(by % 2 * 3) };
                let step = match pick(&ready, *step) {
                    Some(item) if step % 8 != 0 => {
                        let run = text(item, "runId").parse().unwrap();
                        let action = Action::Claim { run, step: text(item, "stepId"), key: 1 };
                        return Some(self.make(caller(*by), action));
                    }
                    Some(_) | None => ["a", "r", "l", "none"][step % 4].to_owned(),
                };
                (caller(*by), Action::Claim { run, step, key: 1 })
            }
            Op::Renew { token: which, note, caller: by } => {
                let claim = self.claim(*which)?;
                let progress = note.then(|| "Half done.".to_owned());
                return Some(self.by(&claim, *by, Action::Renew { token: token(&claim), progress, key: 1 }));
            }
            Op::Submit { token: which, work, caller: by } => {
                let claim = self.claim(*which)?;
                let step = claim.step as usize;
                let submission = self.submission(claim.run, step, work)?;
                return Some(self.by(&claim, *by, Action::Submit { token: token(&claim), submission }));
            }
            Op::Escalate { token: which } => {
                let claim = self.claim(*which)?;
                let action = Action::Escalate { token: token(&claim), note: "Stuck.".to_owned(), attended: true };
                return Some(self.by(&claim, None, action));
            }
            Op::Decide { run, item, old, caller: by, kind, work, stale } => {
                return self.decide(*run, *item, *old, (caller(*by), *kind, work, *stale));
            }
            Op::Event { run, name, caller: by, size } => {
                let data = (size % 5 != 0).then(|| object(&format!(r#"{{"d":"{}"}}"#, "x".repeat(*size))));
                let name = ["go", "go", "go", "go", "go", "stray", "Bad"][name % 7].to_owned();
                (caller(*by), Action::SendEvent { run: *pick(&self.live(), *run)?, name, data })
            }
            Op::Cancel { run, caller: by } => {
                (caller(*by), Action::Cancel { run: *pick(&self.runs, *run)?, reason: "Not needed.".to_owned() })
            }
        };
        Some(self.make(action.0, action.1))
    }

    /// Applies a command and keeps what it gave.
    pub fn apply(&mut self, command: ShardCommand) -> Outcome {
        let outcome = self.world.apply(command.clone());
        if let ShardCommand::Write { write, .. } = &command {
            match &outcome {
                Ok(Reply::Run(seen)) => {
                    if matches!(write.action, Action::StartRun { .. }) && !self.runs.contains(&seen.run) {
                        self.runs.push(seen.run);
                    }
                    let view = self.world.run_at(seen);
                    self.seen.push((*seen, view));
                }
                Ok(Reply::Claimed { claim, .. } | Reply::Renewed { claim }) if !self.claims.contains(claim) => {
                    self.claims.push(claim.clone());
                }
                Ok(_) | Err(_) => {}
            }
            self.writes.push((command, outcome.clone()));
        }
        outcome
    }

    pub(super) fn make(&mut self, caller: &Caller, action: Action) -> ShardCommand {
        let request = format!("request {}", self.world.number());
        self.world.make(caller, &request, action)
    }

    /// Runs that have not ended; all of them now and then have.
    fn live(&self) -> Vec<RunId> {
        let ended = |run: &RunId| at(at(&self.world.peek(*run).unwrap(), "run"), "ended").is_null();
        self.runs.iter().copied().filter(ended).collect()
    }

    /// Mostly a claim that may still be live.
    fn claim(&self, index: usize) -> Option<Claim> {
        let newest =
            |c: &&Claim| !self.claims.iter().any(|o| o.run == c.run && o.step == c.step && o.number > c.number);
        let live = |c: &&Claim| c.expires > self.world.at && self.world.step_state(c.run, c.step as usize) == "claimed";
        let live: Vec<&Claim> = self.claims.iter().filter(newest).filter(live).collect();
        if index.is_multiple_of(6) { pick(&self.claims, index).cloned() } else { pick(&live, index).copied().cloned() }
    }

    /// By the token's holder, or by someone else.
    pub(super) fn by(&mut self, claim: &Claim, other: Option<usize>, action: Action) -> ShardCommand {
        let callers = callers();
        let holder = callers.iter().find(|c| c.id == claim.holder).unwrap();
        self.make(other.map_or(holder, |o| &callers[o % callers.len()]), action)
    }

    fn decide(
        &mut self,
        run: usize,
        item: usize,
        old: bool,
        (caller, kind, work, stale): (&Caller, usize, &Work, bool),
    ) -> Option<ShardCommand> {
        let has_items = |run: &RunId| !at(&self.world.peek(*run).unwrap(), "workItems").as_array().unwrap().is_empty();
        let with_items: Vec<RunId> = self.runs.iter().copied().filter(has_items).collect();
        let run = *pick(if old { &self.runs } else { &with_items }, run)?;
        let view = self.world.peek(run)?;
        let items = at(&view, "workItems").as_array().unwrap();
        let (id, step) = match pick(items, item) {
            Some(open) if !old => (text(open, "id"), Some(text(open, "stepId"))),
            Some(_) | None => (WorkItemId { run, number: u32::try_from(item % 6).unwrap() }.to_string(), None),
        };
        let snapshot = match items.first() {
            Some(item) if !stale => text(item, "snapshot"),
            Some(_) | None => "old".to_owned(),
        };
        let note = || "A note.".to_owned();
        let offered = items.iter().find(|i| text(i, "id") == id).map(|i| at(at(i, "decide"), "decisions").clone());
        let chosen = match offered.as_ref().and_then(Value::as_array) {
            // Mostly the way on, now and then another way.
            Some(words) if kind % 9 < 7 => {
                words[[0, 1, 0, 1, 0, 0, 1][kind % 9] % words.len()].as_str().unwrap().to_owned()
            }
            Some(_) | None => ["completed", "approved", "rejected", "returned", "failed"][kind % 5].to_owned(),
        };
        let decision = match chosen.as_str() {
            "completed" => {
                let process = self.process_of(run)?;
                let index = step.as_deref().and_then(|id| process.step_index(id)).unwrap_or(0);
                Decision::Completed(self.submission(run, index, work)?)
            }
            "approved" => Decision::Approved { note: None },
            "rejected" => Decision::Rejected { note: note() },
            "returned" => Decision::Returned { note: note() },
            _ => Decision::Failed { note: note() },
        };
        // Half of the time by someone who may.
        let callers = callers();
        let may = items.iter().find(|i| text(i, "id") == id).and_then(|i| allowed(&callers, i));
        let caller = if kind.is_multiple_of(4) { caller } else { may.unwrap_or(caller) };
        let action = Action::Decide(Box::new(Decide { run, work_item: id, snapshot, decision }));
        Some(self.make(&caller.clone(), action))
    }

    pub fn process_of(&self, run: RunId) -> Option<Process> {
        let view = self.world.peek(run)?;
        let name = text(at(&view, "run"), "process");
        processes().into_iter().find(|p| p.name == name)
    }

    pub(super) fn submission(&self, run: RunId, step: usize, work: &Work) -> Option<Submission> {
        let process = self.process_of(run)?;
        let step = &process.steps[step];
        let asks_owner = step.work().is_some_and(|w| w.output.declared.iter().any(|f| f.name == "owner"));
        // What is bad: the output, the file, or the route.
        let fault = if work.bad { work.size % 3 } else { 3 };
        let output = match (fault == 0, asks_owner) {
            (true, _) => r#"{"n":"one","extra":null}"#,
            (false, true) => r#"{"owner":"rita@example.com"}"#,
            (false, false) => r#"{"n":1.50}"#,
        };
        let routes = step.work().map(|w| w.next.routes()).unwrap_or_default();
        let next = pick(routes, work.route).map(|r| process.target_name(r.to).to_owned());
        let next = if fault == 2 { Some("done".to_owned()) } else { next };
        let fact = if fault == 1 { FileFact::Missing } else { FileFact::Verified([7; 32]) };
        let file = Evidence { kind: EvidenceKind::File, reference: "f_1".to_owned(), file: fact };
        Some(Submission {
            output: Some(object(output)),
            evidence: Some(vec![file]),
            summary: Some(format!("Done. {}", "y".repeat(work.size))),
            reason: next.is_some().then(|| "Because.".to_owned()),
            next,
        })
    }

    fn reinstall(&self, process: usize, changed: bool) -> ShardCommand {
        let installed = self.world.log.iter().filter_map(|entry| match &entry.command {
            quorate_proto::Command::Shard(ShardCommand::InstallVersion(install)) => Some(install),
            quorate_proto::Command::Shard(_) | quorate_proto::Command::Catalog(_) | quorate_proto::Command::Check => {
                None
            }
        });
        let mut install = installed.take(3).nth(process % 3).unwrap().clone();
        if changed {
            install.hash.push_str(", changed");
            install.process.steps.truncate(1);
        } else {
            install.roles.insert("reviewer".to_owned(), "g_fin".to_owned());
        }
        ShardCommand::InstallVersion(install)
    }
}

/// Who may decide an item.
pub(super) fn allowed<'a>(callers: &'a [Caller], item: &Value) -> Option<&'a Caller> {
    let assigned = at(item, "assignedTo").as_object().unwrap();
    let group = assigned.get("group").and_then(Value::as_str);
    let person = assigned.get("person").and_then(Value::as_str).map(str::to_lowercase);
    callers.iter().find(|c| match group {
        Some(group) => c.groups.contains(group),
        None => c.person == person,
    })
}

pub(super) fn pick<T>(of: &[T], index: usize) -> Option<&T> {
    if of.is_empty() { None } else { of.get(index % of.len()) }
}
