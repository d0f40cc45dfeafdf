//! The language of the scenario files: commands in the words of a process author.
//!
//! `a1: claim a` is agent a1 claiming step `a` of the run at hand; `!` before the command expects a refusal. Every
//! call takes `set='{…}'` and `unset=key` to bend its arguments, `rid=x` for a request id, `as=x` to remember it for
//! `replay x`, `run=r2` for another run, `times=5` to be made five times, `keep='name=path'` to name a part of the
//! result, and `show='path path'` to print parts of it. `scenarios/README.md` lists the commands.

mod call;
mod commands;
mod learn;

use std::collections::BTreeMap;
use std::error::Error;

use agentprocess::json::{Object, Value};
use goldenscript::{Command, Context};

use crate::args::Args;
use crate::json::{at, object, text};
use crate::names::{Names, span};
use crate::show;
use crate::world::World;

type Said = Result<String, Box<dyn Error>>;

/// A call as it was made, with the envelope that came back.
#[derive(Clone)]
struct Made {
    actor: String,
    tool: String,
    arguments: Object,
    envelope: Value,
}

/// One file being run against one world.
pub struct Script<'w> {
    world: &'w dyn World,
    names: Names,
    /// How many scenarios the file has begun; ends process names and request ids, so that none meets another's.
    scenario: u32,
    requests: u32,
    /// The run that commands are about when they name none.
    run: String,
    /// Runs begun, each with the actor who may cancel it.
    begun: Vec<(&'static str, String)>,
    /// Last token by run and step.
    tokens: BTreeMap<(String, String), String>,
    /// Last work item by run and step.
    items: BTreeMap<(String, String), String>,
    /// Last snapshot by run.
    snapshots: BTreeMap<String, String>,
    /// Last url by file.
    urls: BTreeMap<String, String>,
    made: BTreeMap<String, Made>,
}

impl<'w> Script<'w> {
    /// A script at its beginning.
    pub fn new(world: &'w dyn World) -> Self {
        let mut names = Names::default();
        for (actor, ..) in crate::world::ACTORS {
            names.identities.insert(world.identity(actor), (*actor).to_owned());
        }
        let described = world.call("a1", "describe", &Value::Object(Object::new())).unwrap_or(Value::Null);
        names.cap = at(&described, "data.limits.runDataBytes").and_then(Value::as_u64).unwrap_or(0);
        let mut script = Self {
            world,
            names,
            scenario: 0,
            requests: 0,
            run: String::new(),
            begun: Vec::new(),
            tokens: BTreeMap::new(),
            items: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            urls: BTreeMap::new(),
            made: BTreeMap::new(),
        };
        script.renew();
        script
    }

    /// Begins the next scenario: the runs of the last one are cancelled and its names forgotten.
    fn renew(&mut self) {
        for (operator, run) in std::mem::take(&mut self.begun) {
            let mut arguments = Object::new();
            arguments.set("runId", run).set("reason", "The scenario is over.").set("requestId", self.request());
            // Most have ended by themselves; that refusal is of no interest.
            let _ = self.world.call(operator, "cancel", &Value::Object(arguments));
        }
        self.scenario += 1;
        self.names.renew(self.world.now(), format!("-s{}", self.scenario));
        self.run.clear();
        self.tokens.clear();
        self.items.clear();
        self.snapshots.clear();
        self.made.clear();
    }

    fn request(&mut self) -> String {
        self.requests += 1;
        format!("q{}", self.requests)
    }

    fn dispatch(&mut self, command: &Command, prefix: Option<&str>) -> Said {
        let args = Args::of(command);
        let actor = prefix.unwrap_or("sam");
        let mut arguments = Object::new();
        match command.name.as_str() {
            "new" => {
                self.renew();
                Ok(String::new())
            }
            "publish" => self.publish(actor, &args),
            "draft" => self.draft(actor, &args),
            "start" => {
                arguments.set("process", format!("{}{}", args.word(0)?, self.names.suffix));
                arguments.set("inputs", Object::new());
                for (key, value) in self.given(&args, &["mode"], &["inputs", "version"])?.iter() {
                    arguments.set(key, value.clone());
                }
                self.call(actor, "start_run", arguments, &args)
            }
            "get" => {
                arguments.set("runId", self.run_id(&args));
                self.call(actor, "get_run", arguments, &args)
            }
            "claim" => {
                arguments.set("runId", self.run_id(&args)).set("stepId", args.word(0)?);
                self.call(actor, "claim", arguments, &args)
            }
            tool @ ("renew" | "submit" | "escalate") => self.with_token(actor, tool, &args),
            "decide" => self.decide(actor, &args),
            "cancel" => {
                arguments.set("runId", self.run_id(&args));
                arguments.set("reason", args.get("reason").unwrap_or("No longer needed."));
                self.call(actor, "cancel", arguments, &args)
            }
            "event" => {
                arguments.set("runId", self.run_id(&args)).set("name", args.word(0)?);
                for (key, value) in self.given(&args, &[], &["data"])?.iter() {
                    arguments.set(key, value.clone());
                }
                self.call(actor, "send_event", arguments, &args)
            }
            "upload" => self.upload(actor, &args),
            "work" | "runs" | "processes" => {
                arguments = self.given(&args, &["state"], &["limit", "inputs"])?;
                if let Some(process) = args.get("process") {
                    arguments.set("process", format!("{process}{}", self.names.suffix));
                }
                if let Some(cursor) = args.get("cursor") {
                    arguments.set("cursor", self.names.value(cursor));
                }
                let tool = match command.name.as_str() {
                    "work" => "get_work",
                    "runs" => "list_runs",
                    _ => "list_processes",
                };
                self.call(actor, tool, arguments, &args)
            }
            "describe" => self.call(actor, "describe", arguments, &args),
            "call" => {
                let arguments = object(&self.names.fill(args.words().get(1).map_or("{}", String::as_str)))?;
                let tool = args.word(0)?.to_owned();
                let envelope = self.perform(actor, &tool, &arguments)?;
                self.say(&tool, &envelope, &args)
            }
            "replay" => self.replay(prefix, &args),
            "unchanged" => self.unchanged(&args),
            "fetch" => self.fetch(&args),
            "advance" => {
                self.world.advance(span(args.word(0)?).ok_or("advance takes a duration")?);
                Ok(String::new())
            }
            "pass" => {
                self.world.pass(span(args.word(0)?).ok_or("pass takes a duration")?);
                Ok(String::new())
            }
            "notifications" => {
                let mut sent = self.world.notifications();
                sent.retain(|n| self.begun.iter().any(|(_, run)| run == text(n, "runId")));
                let lines: String = sent.iter().map(|n| show::notification(&self.names.plain(n))).collect();
                Ok(if lines.is_empty() { "none\n".to_owned() } else { lines })
            }
            other => Err(format!("there is no command {other}").into()),
        }
    }
}

impl goldenscript::Runner for Script<'_> {
    type Command = Command;

    fn run(&mut self, command: &Command, context: &Context) -> Said {
        let args = Args::of(command);
        let Some(times) = args.get("times") else { return self.dispatch(command, context.prefix.as_deref()) };
        for n in 1..=times.parse::<u32>()? {
            self.names.set("n", &n.to_string());
            self.dispatch(command, context.prefix.as_deref())?;
        }
        Ok(format!("{times} times\n"))
    }
}
