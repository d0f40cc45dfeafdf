//! Plays any process to its end: claims and decides whatever is handed out, with values made by declared type.

use agentprocess::json::{Object, Value};
use agentprocess::time::Span;
use agentprocess::{Process, StepKind};

use crate::args::base64;
use crate::envelope;
use crate::json::{at, list, parse, text};
use crate::world::World;

/// Which of several routes the player takes.
#[derive(Clone, Copy, Debug)]
pub enum Taste {
    /// Always the first.
    First,
    /// Always the last.
    Last,
}

/// A player of one process.
pub struct Player<'w> {
    /// Where it plays.
    pub world: &'w dyn World,
    /// Which way it goes.
    pub taste: Taste,
    /// Writes made so far, for request ids.
    pub writes: u32,
    /// What request ids begin with.
    pub name: String,
}

/// People who look for work, in this order.
const PEOPLE: [&str; 4] = ["sam", "rita", "fay", "olga"];

impl Player<'_> {
    /// Starts the process as sam and plays on until the run is over; gives its last view.
    pub fn play(&mut self, process: &Process) -> Result<Value, String> {
        let mut start = Object::new();
        let inputs = self.fields(process.inputs.written.as_ref());
        start.set("process", process.name.clone()).set("inputs", inputs);
        let begun = self.write("sam", "start_run", start)?;
        let run = text(&begun, "run.id").to_owned();
        for _ in 0..100 {
            let mut get = Object::new();
            get.set("runId", run.clone());
            let view = self.call("a2", "get_run", get)?;
            if ["ended", "cancelled"].contains(&text(&view, "run.state")) {
                return Ok(view);
            }
            if !self.work(&process.name)? {
                self.wait(process, &run, &view)?;
            }
        }
        Err(format!("{} came to no end", process.name))
    }

    /// Does one thing that is handed out, if anything is.
    fn work(&mut self, process: &str) -> Result<bool, String> {
        for actor in ["a1"].into_iter().chain(PEOPLE) {
            let mut filter = Object::new();
            filter.set("process", process);
            let page = self.call(actor, "get_work", filter)?;
            let Some(item) = list(&page, "items").first() else { continue };
            match at(item, "workItem") {
                Some(item) => self.decide(actor, item)?,
                None => self.submit(actor, item)?,
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn submit(&mut self, actor: &str, item: &Value) -> Result<(), String> {
        let claim = at(item, "claim.arguments").and_then(Value::as_object).ok_or("no claim call")?.clone();
        let claimed = self.write(actor, "claim", claim)?;
        let mut submit = Object::new();
        submit.set("token", text(&claimed, "token")).set("summary", "Played.");
        self.fill(actor, at(&claimed, "step").unwrap_or(&Value::Null), &mut submit)?;
        self.write(actor, "submit", submit).map(|_| ())
    }

    fn decide(&mut self, actor: &str, item: &Value) -> Result<(), String> {
        let mut decide = at(item, "decide.arguments").and_then(Value::as_object).ok_or("no decide call")?.clone();
        let decision = list(item, "decide.decisions").first().and_then(Value::as_str).ok_or("no decisions")?;
        decide.set("decision", decision);
        if decision == "completed" {
            self.fill(actor, item, &mut decide)?;
        }
        self.write(actor, "decide", decide).map(|_| ())
    }

    /// Adds what a step asks for: output by declared types, evidence, a route with a reason.
    fn fill(&mut self, actor: &str, step: &Value, arguments: &mut Object) -> Result<(), String> {
        arguments.set("output", self.fields(at(step, "output").and_then(Value::as_object)));
        let mut evidence = Vec::new();
        for kind in list(step, "evidence") {
            let reference = match kind.as_str() {
                Some("file") => self.upload(actor)?,
                _ => "https://records.example/1".to_owned(),
            };
            let mut item = Object::new();
            item.set("kind", kind.clone()).set("ref", reference);
            evidence.push(Value::Object(item));
        }
        arguments.set("evidence", evidence);
        let routes = list(step, "next");
        let route = match self.taste {
            Taste::First => routes.first(),
            Taste::Last => routes.last(),
        };
        if let Some(route) = route {
            arguments.set("next", text(route, "to")).set("reason", "The player's taste.");
        }
        Ok(())
    }

    fn upload(&mut self, actor: &str) -> Result<String, String> {
        let mut upload = Object::new();
        upload
            .set("fileName", "report.txt")
            .set("contentType", "text/plain")
            .set("contentBase64", base64(b"A report."));
        Ok(text(&self.write(actor, "upload", upload)?, "id").to_owned())
    }

    /// A value for every declared field.
    fn fields(&self, declared: Option<&Object>) -> Object {
        let mut out = Object::new();
        for (name, field) in declared.into_iter().flat_map(Object::iter) {
            out.set(name, self.value(field));
        }
        out
    }

    fn value(&self, field: &Value) -> Value {
        if let Some(first) = list(field, "one_of").first() {
            return first.clone();
        }
        match field.as_str().unwrap_or_else(|| text(field, "type")) {
            "number" => parse("12345678901234567890.10").unwrap_or(Value::Null),
            "boolean" => Value::from(true),
            "date" => Value::from("2026-10-06"),
            "datetime" => Value::from(self.world.now().plus(Span(3_600_000)).to_string()),
            "list" => Value::Array(vec![at(field, "items").map_or(Value::from("free"), |items| self.value(items))]),
            "object" => Value::Object(Object::new()),
            "person" => Value::from("sam@example.com"),
            _ => Value::from("some words"),
        }
    }

    /// Sends the events that are waited for, else lets an hour pass.
    fn wait(&mut self, process: &Process, run: &str, view: &Value) -> Result<(), String> {
        for step in &process.steps {
            if let StepKind::WaitFor { event, .. } = &step.kind
                && text(view, &format!("steps.{}.state", step.id)) == "waiting"
            {
                let mut send = Object::new();
                send.set("runId", run).set("name", event.clone());
                return self.write("a1", "send_event", send).map(|_| ());
            }
        }
        self.world.advance(Span(3_600_000));
        Ok(())
    }

    fn write(&mut self, actor: &str, tool: &str, mut arguments: Object) -> Result<Value, String> {
        self.writes += 1;
        arguments.set("requestId", format!("{}-{:?}-{}", self.name, self.taste, self.writes));
        self.call(actor, tool, arguments)
    }

    fn call(&self, actor: &str, tool: &str, arguments: Object) -> Result<Value, String> {
        let envelope = self.world.call(actor, tool, &Value::Object(arguments))?;
        envelope::check(tool, &envelope)?;
        at(&envelope, "data").cloned().ok_or_else(|| format!("{tool} by {actor}: {envelope}"))
    }
}
