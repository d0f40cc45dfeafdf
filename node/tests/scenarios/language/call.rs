//! Makes calls, checks what every answer must keep, and prints it.

use std::error::Error;

use agentprocess::json::{Object, Value};

use super::{Made, Said, Script};
use crate::args::Args;
use crate::envelope;
use crate::json::{at, object, text};
use crate::show;

/// Tools that take no request id.
const READS: &[&str] = &["describe", "list_processes", "get_run", "get_work", "list_runs"];

impl Script<'_> {
    /// Makes the call that a command spells out and prints what came of it.
    pub(super) fn call(&mut self, actor: &str, tool: &str, mut arguments: Object, args: &Args) -> Said {
        if !READS.contains(&tool) && tool != "raw" {
            let request = match args.get("rid") {
                Some(rid) => format!("{rid}-s{}", self.scenario),
                None => self.request(),
            };
            arguments.set("requestId", request);
        }
        for (key, value) in object(&self.names.fill(args.get("set").unwrap_or("{}")))?.iter() {
            arguments.set(key, value.clone());
        }
        for key in args.get("unset").unwrap_or("").split_whitespace() {
            arguments.remove(key);
        }
        let envelope = self.perform(actor, tool, &arguments)?;
        if let Some(label) = args.get("as") {
            let (actor, tool) = (actor.to_owned(), tool.to_owned());
            self.made.insert(label.to_owned(), Made { actor, tool, arguments, envelope: envelope.clone() });
        }
        self.say(tool, &envelope, args)
    }

    /// Calls, checks what every answer must keep, and learns from it.
    pub(super) fn perform(&mut self, actor: &str, tool: &str, arguments: &Object) -> Result<Value, Box<dyn Error>> {
        let envelope = self.world.call(actor, tool, &Value::Object(arguments.clone()))?;
        envelope::check(tool, &envelope)?;
        if tool != "claim" && tool != "renew" {
            let sent = envelope.to_string();
            if let Some(token) = self.names.all('T').find(|token| sent.contains(*token)) {
                return Err(format!("the answer of {tool} shows the token {token}").into());
            }
        }
        if let Some(data) = at(&envelope, "data") {
            self.learn(actor, tool, arguments, data);
        }
        Ok(envelope)
    }

    /// Prints an envelope; a refusal is the `Err` that `!` expects.
    pub(super) fn say(&mut self, tool: &str, envelope: &Value, args: &Args) -> Said {
        let wanted = args.get("show").unwrap_or("");
        if let Some(error) = at(envelope, "error") {
            let error = self.names.plain(error);
            let shown = show::paths(&error, wanted);
            return Err(format!("{}\n{shown}", show::refusal(&error)).trim_end().into());
        }
        let data = at(envelope, "data").ok_or("neither data nor error")?;
        for keep in args.get("keep").unwrap_or("").split_whitespace() {
            let (name, path) = keep.split_once('=').ok_or("keep is name=path")?;
            let value = at(data, path).and_then(Value::as_str).ok_or_else(|| format!("{path} holds no text"))?;
            self.names.set(name, value);
        }
        let data = if args.has("all") { data.clone() } else { self.own(tool, data) };
        let data = self.names.plain(&data);
        let brief = if args.has("brief") { String::new() } else { show::result(tool, &data) };
        Ok(brief + &show::paths(&data, wanted))
    }

    /// A list without what earlier scenarios of the file left there, or the server had of itself.
    pub(super) fn own(&self, tool: &str, data: &Value) -> Value {
        let own = |item: &Value| match tool {
            "list_runs" => self.begun.iter().any(|(_, run)| run == text(item, "id")),
            "list_processes" => text(item, "name").ends_with(&self.names.suffix),
            _ => true,
        };
        let mut data = data.clone();
        if let Value::Object(fields) = &mut data
            && let Some(Value::Array(items)) = fields.get("items").cloned()
        {
            fields.set("items", items.into_iter().filter(own).collect::<Vec<_>>());
        }
        data
    }
}
