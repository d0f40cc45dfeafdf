//! What the script remembers of answers, so that commands need not say it.

use agentprocess::json::{Object, Value};

use super::Script;
use crate::json::{list, text};
use crate::world::org_of;

impl Script<'_> {
    pub(super) fn learn(&mut self, actor: &str, tool: &str, arguments: &Object, data: &Value) {
        let argument = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        let id = text(data, "run.id").to_owned();
        match tool {
            "start_run" => {
                let operator = if org_of(actor) == "A" { "olga" } else { "ben" };
                self.begun.push((operator, id.clone()));
                self.run.clone_from(&id);
            }
            "claim" => {
                let token = text(data, "token").to_owned();
                self.tokens.insert((argument("runId"), argument("stepId")), token);
            }
            "renew" => {
                let old = argument("token");
                let new = text(data, "token");
                self.tokens.values_mut().filter(|t| **t == old).for_each(|t| new.clone_into(t));
            }
            _ => {}
        }
        for item in list(data, "workItems") {
            let step = text(item, "stepId").to_owned();
            self.items.insert((id.clone(), step), text(item, "id").to_owned());
            self.snapshots.insert(id.clone(), text(item, "snapshot").to_owned());
        }
        self.learn_urls(data);
    }

    pub(super) fn learn_urls(&mut self, value: &Value) {
        match value {
            Value::Object(o) => {
                if let (Some(url), Some(file)) = (o.get("url"), o.get("ref")) {
                    let (file, url) = (file.as_str().unwrap_or(""), url.as_str().unwrap_or(""));
                    self.urls.insert(file.to_owned(), url.to_owned());
                }
                o.iter().for_each(|(_, v)| self.learn_urls(v));
            }
            Value::Array(items) => items.iter().for_each(|v| self.learn_urls(v)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
