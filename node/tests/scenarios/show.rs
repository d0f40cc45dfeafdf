//! Prints results in few words. The values given here are already plain (see `names`).

use agentprocess::json::Value;

use crate::json::{at, has, list, text};

/// One result in few words, each line ended.
pub fn result(tool: &str, data: &Value) -> String {
    match tool {
        "start_run" | "get_run" | "submit" | "decide" | "escalate" | "cancel" => view(data),
        "claim" => format!("{} until {}{}\n", text(data, "token"), text(data, "expiresAt"), marks(data)),
        "renew" => format!("{} until {}\n", text(data, "token"), text(data, "expiresAt")),
        "send_event" if has(data, "consumedBy") => format!("consumed by {}\n", text(data, "consumedBy")),
        "send_event" => "held\n".to_owned(),
        "upload" => format!("{} of {} bytes\n", text(data, "id"), at(data, "bytes").unwrap_or(&Value::Null)),
        "get_work" => page(data, work),
        "list_runs" => page(data, run),
        "list_processes" => {
            page(data, |p| format!("{} v{}", text(p, "name"), at(p, "version").unwrap_or(&Value::Null)))
        }
        _ => format!("{} {}\n", text(data, "protocol"), text(data, "version")),
    }
}

fn view(data: &Value) -> String {
    let run = at(data, "run").unwrap_or(&Value::Null);
    let mut line = format!("{} {}", text(run, "id"), text(run, "state"));
    if text(run, "mode") == "test" {
        line += " test";
    }
    if has(run, "outcome") {
        line += &format!(" {}", text(run, "outcome"));
    }
    let steps = list(data, "steps").iter().map(|step| {
        let mut words = text(step, "id").to_owned();
        words += &match text(step, "state") {
            "" => " null".to_owned(),
            state => format!(" {state}"),
        };
        words + &due(step)
    });
    line += &format!(": {}\n", steps.collect::<Vec<_>>().join(", "));
    for item in list(data, "workItems") {
        line += &format!("  {}\n", work_item(item));
    }
    line
}

fn work_item(item: &Value) -> String {
    let to = [text(item, "assignedTo.group"), text(item, "assignedTo.person")].concat();
    let (id, kind, step) = (text(item, "id"), text(item, "kind"), text(item, "stepId"));
    let escalated = if has(item, "escalation") {
        format!(" escalated by {}: {}", text(item, "escalation.by"), text(item, "escalation.note"))
    } else {
        String::new()
    };
    format!("{id} {kind} {step} for {to}{}{escalated}{}", due(item), marks(item))
}

fn due(of: &Value) -> String {
    let due = if has(of, "due") { format!(" due {}", text(of, "due")) } else { String::new() };
    let overdue = at(of, "overdue").and_then(Value::as_bool).unwrap_or(false);
    due + if overdue { " overdue" } else { "" }
}

/// What is out of the ordinary: a test run, something left by an earlier attempt.
fn marks(of: &Value) -> String {
    let test = if text(of, "mode") == "test" { " test" } else { "" };
    let handoff = at(of, "handoff").filter(|h| **h != Value::Null);
    format!("{test}{}", handoff.map_or(String::new(), |h| format!(" handoff {h}")))
}

fn work(item: &Value) -> String {
    let run = text(item, "runId");
    match at(item, "workItem") {
        Some(item) => format!("{run} {}", work_item(item)),
        None => {
            format!("{run} {} since {}{}{}", text(item, "stepId"), text(item, "readySince"), due(item), marks(item))
        }
    }
}

fn run(item: &Value) -> String {
    let outcome = if has(item, "outcome") { format!(" {}", text(item, "outcome")) } else { String::new() };
    format!("{} {} {}{outcome}", text(item, "id"), text(item, "process"), text(item, "state"))
}

fn page(data: &Value, line: impl Fn(&Value) -> String) -> String {
    let mut out: String = list(data, "items").iter().map(|item| line(item) + "\n").collect();
    if out.is_empty() {
        out.push_str("nothing\n");
    }
    if has(data, "nextCursor") {
        out += &format!("more after {}\n", text(data, "nextCursor"));
    }
    out
}

/// The lines that `show=` asks for.
pub fn paths(data: &Value, wanted: &str) -> String {
    let line = |path: &str| match (path.strip_suffix(".#"), at(data, path)) {
        (Some(path), _) => format!("  {path} has {}\n", list(data, path).len()),
        (None, Some(value)) => format!("  {path} = {value}\n"),
        (None, None) => format!("  {path} is absent\n"),
    };
    wanted.split_whitespace().map(line).collect()
}

/// A refusal: its code, then each issue on a line.
pub fn refusal(error: &Value) -> String {
    let mut out = text(error, "code").to_owned();
    for issue in list(error, "issues") {
        out += &format!("\n  {}", issue.as_str().unwrap_or("?"));
    }
    out
}

/// A notification: what, of which step, to whom.
pub fn notification(n: &Value) -> String {
    let to: Vec<_> = list(n, "to").iter().filter_map(Value::as_str).collect();
    format!("{} {} {} to {}\n", text(n, "kind"), text(n, "runId"), text(n, "stepId"), to.join(", "))
}
