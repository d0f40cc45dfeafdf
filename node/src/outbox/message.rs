//! What a receiver gets.

use agentprocess::json::{Object, Value};
use quorate_proto::shard::Notification;

/// The same for each attempt, so that a receiver can tell a repetition.
pub(super) fn id(shard: u16, sequence: u64) -> String {
    format!("n_{shard}_{sequence}")
}

/// The JSON body of a notification.
pub(super) fn body(id: &str, notification: &Notification) -> String {
    let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<Value>>();
    let mut body = Object::new();
    body.set("id", id)
        .set("kind", notification.kind.as_str())
        .set("at", notification.at.to_string())
        .set("organization", notification.org.as_str())
        .set("run", notification.run.to_string())
        .set("process", notification.process.as_str())
        .set("step", notification.step.as_str())
        .set("groups", texts(&notification.groups))
        .set("people", texts(&notification.people))
        .set("details", notification.details.clone());
    Value::Object(body).to_string()
}
