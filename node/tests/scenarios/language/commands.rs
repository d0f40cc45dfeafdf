//! The commands that are more than a call with their arguments.

use std::error::Error;

use agentprocess::json::{Object, Value};

use super::{Said, Script};
use crate::args::{Args, base64};
use crate::json::{differences, object, parse, without_urls};
use crate::sketch;
use crate::world::{group_of, org_of};

impl Script<'_> {
    /// The run that a command is about.
    pub(super) fn run_id(&self, args: &Args) -> String {
        args.get("run").map_or_else(|| self.run.clone(), |name| self.names.value(name))
    }

    /// The arguments a command gives by key, those of `texts` as text and those of `values` as JSON.
    pub(super) fn given(&self, args: &Args, texts: &[&str], values: &[&str]) -> Result<Object, Box<dyn Error>> {
        let mut out = Object::new();
        for key in texts {
            if let Some(text) = args.get(key) {
                out.set(*key, self.names.fill(text));
            }
        }
        for key in values {
            if let Some(text) = args.get(key) {
                out.set(*key, parse(&self.names.fill(text))?);
            }
        }
        if let Some(evidence) = args.get("evidence") {
            out.set("evidence", self.evidence(&self.names.fill(evidence))?);
        }
        Ok(out)
    }

    /// Evidence as JSON, or as words such as `link/https://x.example/1 file/f1`.
    pub(super) fn evidence(&self, text: &str) -> Result<Value, Box<dyn Error>> {
        if text.starts_with('[') {
            return Ok(parse(text)?);
        }
        let mut items = Vec::new();
        for word in text.split_whitespace() {
            let (kind, reference) = word.split_once('/').ok_or("evidence is kind/ref")?;
            let mut item = Object::new();
            item.set("kind", kind).set("ref", self.names.value(reference));
            items.push(Value::Object(item));
        }
        Ok(Value::Array(items))
    }

    /// A call that carries a token: the one given, or the last one of the step.
    pub(super) fn with_token(&mut self, actor: &str, tool: &str, args: &Args) -> Said {
        let step = args.word(0)?;
        let token = match args.get("token") {
            Some(name) => self.names.value(&self.names.fill(name)),
            None => self.tokens.get(&(self.run_id(args), step.to_owned())).cloned().ok_or("no token was got")?,
        };
        let mut arguments = Object::new();
        arguments.set("token", token);
        let more = match tool {
            "submit" => {
                let mut more = self.given(args, &["summary", "next", "reason"], &["output"])?;
                if more.get("output").is_none() {
                    more.set("output", Object::new());
                }
                if more.get("summary").is_none() {
                    more.set("summary", "Done.");
                }
                more
            }
            "escalate" => {
                let mut more = self.given(args, &["note"], &[])?;
                if more.get("note").is_none() {
                    more.set("note", "Blocked.");
                }
                more
            }
            _ => self.given(args, &["progress"], &[])?,
        };
        more.iter().for_each(|(key, value)| {
            arguments.set(key, value.clone());
        });
        self.call(actor, tool, arguments, args)
    }

    /// `decide STEP DECISION`: on the step's open item with the current snapshot, unless `item=` or `snapshot=` say else.
    pub(super) fn decide(&mut self, actor: &str, args: &Args) -> Said {
        let (step, decision) = (args.word(0)?, args.word(1)?);
        let run = self.run_id(args);
        if args.get("item").is_none() || args.get("snapshot").is_none() {
            let mut arguments = Object::new();
            arguments.set("runId", run.clone());
            self.perform(actor, "get_run", &arguments)?;
        }
        let item = match args.get("item") {
            Some(name) => self.names.value(name),
            None => self.items.get(&(run.clone(), step.to_owned())).cloned().unwrap_or_else(|| "w_none".to_owned()),
        };
        let snapshot = match args.get("snapshot") {
            Some(name) => self.names.value(name),
            None => self.snapshots.get(&run).cloned().unwrap_or_else(|| "none".to_owned()),
        };
        let mut arguments = Object::new();
        arguments.set("runId", run).set("workItemId", item).set("snapshot", snapshot).set("decision", decision);
        for (key, value) in self.given(args, &["summary", "next", "reason", "note"], &["output"])?.iter() {
            arguments.set(key, value.clone());
        }
        self.call(actor, "decide", arguments, args)
    }

    /// `publish NAME STEP…`, or `publish NAME file=x` for `scenarios/processes/x.md`.
    pub(super) fn publish(&mut self, actor: &str, args: &Args) -> Said {
        let (name, source) = self.document(args)?;
        match self.world.publish(org_of(actor), &source, &group_of) {
            Ok(published) if args.get("show") == Some("version") => Ok(format!("{name} v{}\n", published.version)),
            Ok(_) => Ok(String::new()),
            Err(issues) => Err(issues.join("\n  ").into()),
        }
    }

    /// `draft NAME STEP…`: imported, and left at that.
    pub(super) fn draft(&mut self, actor: &str, args: &Args) -> Said {
        let (_, source) = self.document(args)?;
        match self.world.import(org_of(actor), &source) {
            Ok(_) => Ok(String::new()),
            Err(issues) => Err(issues.join("\n  ").into()),
        }
    }

    /// The name and the text of a document; `ends=crlf` ends its lines so.
    fn document(&self, args: &Args) -> Result<(String, String), Box<dyn Error>> {
        let name = &self.names.fill(args.word(0)?);
        let full = format!("{name}{}", self.names.suffix);
        let source = match args.get("file") {
            Some(file) => {
                let path = format!("{}/../scenarios/processes/{file}.md", env!("CARGO_MANIFEST_DIR"));
                std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?.replacen(
                    &format!("name: {name}\n"),
                    &format!("name: {full}\n"),
                    1,
                )
            }
            None => {
                let extra: Vec<_> = ["inputs", "requires"]
                    .iter()
                    .filter_map(|key| args.get(key).map(|value| format!("{key}: {value}")))
                    .collect();
                let body = args.get("body").map_or_else(|| format!("\nAbout {name}.\n"), |b| self.names.fill(b));
                sketch::document(&full, args.get("description").unwrap_or("d"), &extra, &args.words()[1..], &body)
            }
        };
        let source = if args.get("ends") == Some("crlf") { source.replace('\n', "\r\n") } else { source };
        Ok((name.clone(), source))
    }

    /// `replay LABEL`: the same call again, by another actor if the prefix names one.
    pub(super) fn replay(&mut self, actor: Option<&str>, args: &Args) -> Said {
        let made = self.made.get(args.word(0)?).cloned().ok_or("nothing was remembered under that name")?;
        let actor = actor.unwrap_or(&made.actor);
        let mut arguments = made.arguments.clone();
        for (key, value) in object(&self.names.fill(args.get("set").unwrap_or("{}")))?.iter() {
            arguments.set(key, value.clone());
        }
        for key in args.get("unset").unwrap_or("").split_whitespace() {
            arguments.remove(key);
        }
        let envelope = self.perform(actor, &made.tool, &arguments)?;
        if without_urls(&envelope).to_string() == without_urls(&made.envelope).to_string() {
            return Ok("the original result\n".to_owned());
        }
        self.say(&made.tool, &envelope, args)
    }

    /// `unchanged LABEL`: the read again, compared.
    pub(super) fn unchanged(&mut self, args: &Args) -> Said {
        let made = self.made.get(args.word(0)?).cloned().ok_or("nothing was remembered under that name")?;
        let envelope = self.perform(&made.actor, &made.tool, &made.arguments)?;
        let mut paths = Vec::new();
        differences("", &without_urls(&made.envelope), &without_urls(&envelope), &mut paths);
        if paths.is_empty() { Ok("unchanged\n".to_owned()) } else { Ok(format!("changed: {}\n", paths.join(", "))) }
    }

    pub(super) fn fetch(&mut self, args: &Args) -> Said {
        let url = match args.get("url") {
            Some(name) => self.names.value(name),
            None => self.urls.get(&self.names.value(args.word(0)?)).cloned().ok_or("no url was seen")?,
        };
        match self.world.open(&url) {
            Ok(bytes) => {
                Ok(format!("{} bytes: {}\n", bytes.len(), String::from_utf8_lossy(&bytes[..bytes.len().min(40)])))
            }
            Err(status) => Err(format!("status {status}").into()),
        }
    }

    pub(super) fn upload(&mut self, actor: &str, args: &Args) -> Said {
        let name = args.word(0)?;
        let mut arguments = Object::new();
        arguments.set("fileName", name).set("contentType", args.get("type").unwrap_or("text/plain"));
        let text = self.names.fill(args.get("text").unwrap_or("some bytes"));
        arguments.set("contentBase64", base64(text.as_bytes()));
        self.call(actor, "upload", arguments, args)
    }
}
