//! What one call may cost, and what it leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentprocess::ISSUES_BYTES_MAX;
use agentprocess::json::Value;
use agentprocess::time::Timestamp;
use quorate_proto::{Command, FileId, GroupId, Outcome, codec};
use quorate_statemachine::shard::keys::Key;
use quorate_statemachine::shard::read::FileRow;
use quorate_statemachine::store::{Read, Store};

use super::world::{SUPPLIER, World, at, caller, simple, text, wait};
use crate::api::{Api, Settings};
use crate::groups::{Groups, Unavailable};
use crate::memory::MemoryGroups;

/// Groups that count reads that take long.
struct Counting {
    groups: Arc<MemoryGroups>,
    long: AtomicUsize,
    proposed: AtomicUsize,
}

impl Groups for Counting {
    fn shards(&self) -> u16 {
        self.groups.shards()
    }

    async fn propose(&self, group: GroupId, command: Command) -> Result<Outcome, Unavailable> {
        self.proposed.fetch_add(codec::size(&command), Ordering::Relaxed);
        self.groups.propose(group, command).await
    }

    async fn read<T, F>(&self, group: GroupId, read: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        self.groups.read(group, read).await
    }

    async fn read_long<T, F>(&self, group: GroupId, read: F) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        F: Fn(&dyn Read, Timestamp) -> T + Send + 'static,
    {
        self.long.fetch_add(1, Ordering::Relaxed);
        self.groups.read(group, read).await
    }
}

fn counting(world: &World) -> Arc<Counting> {
    let groups = Arc::clone(&world.groups);
    Arc::new(Counting { groups, long: AtomicUsize::new(0), proposed: AtomicUsize::new(0) })
}

fn claimed(world: &World) -> (String, String) {
    let start = r#"{"process":"supplier-onboarding","inputs":{"vendorName":"A","amount":1},"requestId":"s"}"#;
    let run = text(&world.ok("mira", "start_run", start), "run.id");
    let claim = format!(r#"{{"runId":"{run}","stepId":"check_vendor","requestId":"c"}}"#);
    let token = text(&world.ok("a1", "claim", &claim), "token");
    (run, token)
}

fn issues(envelope: &Value) -> Vec<&str> {
    let issues = at(envelope, "error.issues").and_then(Value::as_array).unwrap_or_default();
    issues.iter().map(|issue| issue.as_str().unwrap()).collect()
}

/// The files behind evidence are read once each, and only for a caller who may submit.
#[test]
fn a_cited_file_is_read_once_and_for_nobody_else() {
    let world = World::new();
    world.publish(SUPPLIER);
    let upload = r#"{"fileName":"f","contentType":"t","contentBase64":"aGVsbG8=","requestId":"u"}"#;
    let file = text(&world.ok("a1", "upload", upload), "id");
    let (run, token) = claimed(&world);
    let groups = counting(&world);
    let api = Api::new(Arc::clone(&groups), Settings::new("https://q.example"), Arc::clone(&world.clock));
    let evidence = format!("[{}]", vec![format!(r#"{{"kind":"file","ref":"{file}"}}"#); 300].join(","));
    let submit = |token: &str| {
        format!(
            r#"{{"token":"{token}","output":{{"cleared":true,"summary":"s"}},"evidence":{evidence},"summary":"s",
                "next":"approve","reason":"r","requestId":"w"}}"#
        )
    };
    let decide = format!(
        r#"{{"runId":"{run}","workItemId":"w_1","snapshot":"s","decision":"completed","evidence":{evidence},"requestId":"d"}}"#
    );
    let call = |who: &str, tool: &str, arguments: &str| {
        let envelope = wait(api.call(&caller(who), tool, arguments)).unwrap();
        (envelope, groups.long.swap(0, Ordering::Relaxed))
    };
    for (who, tool, arguments, code) in [
        ("a2", "submit", submit(&token), "forbidden"),
        ("fin", "submit", submit(&token), "forbidden"),
        ("a1", "submit", submit("v1.AAAAAQ.AAAA"), "invalid"),
        ("a1", "decide", decide, "not_found"),
    ] {
        let (envelope, read) = call(who, tool, &arguments);
        assert_eq!((text(&envelope, "error.code").as_str(), read), (code, 0), "{who} {tool}");
    }
    let (envelope, read) = call("a1", "submit", &submit(&token));
    assert_eq!(read, 2, "whether the claim stands, and the file");
    let recorded = at(&envelope, "data.data.steps.check_vendor.evidence").and_then(Value::as_array).unwrap();
    assert!(recorded.len() == 300 && recorded.iter().all(|item| at(item, "sha256").is_some()), "{envelope}");
}

/// A dead claim's files are not read: the call is refused, or gets the answer that it had.
#[test]
fn files_are_read_for_a_claim_that_stands_only() {
    let world = World::new();
    world.publish(SUPPLIER);
    let upload = r#"{"fileName":"f","contentType":"t","contentBase64":"aGVsbG8=","requestId":"u"}"#;
    let file = text(&world.ok("a1", "upload", upload), "id");
    let (run, first) = claimed(&world);
    let renewed = world.ok("a1", "renew", &format!(r#"{{"token":"{first}","requestId":"r"}}"#));
    let token = text(&renewed, "token");
    let groups = counting(&world);
    let api = Api::new(Arc::clone(&groups), Settings::new("https://q.example"), Arc::clone(&world.clock));
    let work = format!(
        r#""output":{{"cleared":true,"summary":"s"}},"evidence":[{{"kind":"file","ref":"{file}"}}],"summary":"s""#
    );
    let submit = |token: &str, request: &str| {
        format!(r#"{{"token":"{token}",{work},"next":"approve","reason":"r","requestId":"{request}"}}"#)
    };
    let call = |who: &str, tool: &str, arguments: &str| {
        let envelope = wait(api.call(&caller(who), tool, arguments)).unwrap();
        let code = at(&envelope, "error.code").and_then(Value::as_str).unwrap_or("ok").to_owned();
        (code, groups.long.swap(0, Ordering::Relaxed), envelope)
    };
    let (code, read, _) = call("a1", "submit", &submit(&first, "w1"));
    assert_eq!((code.as_str(), read), ("stale", 1));
    let (code, read, original) = call("a1", "submit", &submit(&token, "w2"));
    assert_eq!((code.as_str(), read), ("ok", 2));
    let (_, read, again) = call("a1", "submit", &submit(&token, "w2"));
    assert_eq!((again, read), (original, 1));
    // A person who may not decide, or saw other data.
    for who in ["mira", "fin"] {
        let decide = format!(
            r#"{{"runId":"{run}","workItemId":"{}-1","snapshot":"s","decision":"completed",{work},"requestId":"d"}}"#,
            run.replacen('r', "w", 1)
        );
        let (code, read, envelope) = call(who, "decide", &decide);
        assert!(code != "ok" && read == 1, "{who}: {envelope}");
    }
}

/// What all files of a call have together is bounded before any is read.
#[test]
fn files_of_one_call_are_bounded_together() {
    let world = World::new();
    world.publish(SUPPLIER);
    let upload = r#"{"fileName":"f","contentType":"t","contentBase64":"aGVsbG8=","requestId":"u"}"#;
    let file: FileId = text(&world.ok("a1", "upload", upload), "id").parse().unwrap();
    let (_, token) = claimed(&world);
    let (group, key) = (GroupId::Shard(file.0.shard), Key::File { file }.encode());
    let mut state = world.groups.state(group);
    let mut row: FileRow = codec::decode(&state.get(&key).unwrap().unwrap()).unwrap();
    row.bytes = (256 << 20) + 1;
    state.put(key, codec::encode(&row));
    world.groups.set_state(group, state);
    let submit = format!(
        r#"{{"token":"{token}","output":{{"cleared":true,"summary":"s"}},"evidence":[{{"kind":"file","ref":"{file}"}}],
            "summary":"s","next":"approve","reason":"r","requestId":"w"}}"#
    );
    let issues = vec!["evidence: files of over 268435456 bytes together".to_owned()];
    assert_eq!(world.refused("a1", "submit", &submit), ("invalid".to_owned(), issues));
}

/// The inputs of a run that cannot start stay out of the log.
#[test]
fn inputs_for_an_unknown_process_are_not_proposed() {
    let world = World::new();
    let groups = counting(&world);
    let api = Api::new(Arc::clone(&groups), Settings::new("https://q.example"), Arc::clone(&world.clock));
    let start = format!(r#"{{"process":"nope","inputs":{{"x":"{}"}},"requestId":"s"}}"#, "x".repeat(1_000_000));
    let envelope = wait(api.call(&caller("a1"), "start_run", start)).unwrap();
    assert_eq!(text(&envelope, "error.code"), "not_found");
    let proposed = groups.proposed.load(Ordering::Relaxed);
    assert!((1..10_000).contains(&proposed), "{proposed} bytes");
}

/// A refused submission leaves what the caller was told (HANDOFF-ISSUES), and that is bounded.
#[test]
fn a_handoff_holds_no_more_than_the_caller_was_told() {
    let world = World::new();
    world.publish(&simple("p1"));
    let run = text(&world.ok("a1", "start_run", r#"{"process":"p1","inputs":{},"requestId":"s"}"#), "run.id");
    let claim = format!(r#"{{"runId":"{run}","stepId":"a","requestId":"c"}}"#);
    let mut token = text(&world.ok("a1", "claim", &claim), "token");
    let one = format!(r#""{}":1"#, "n".repeat(1_500_000));
    let wide = (0..1500).map(|n| format!(r#""{n}{}":1"#, "é".repeat(300))).collect::<Vec<_>>().join(",");
    let many = (0..1500).map(|n| format!(r#""n{n}":1"#)).collect::<Vec<_>>().join(",");
    let short = vec![r#"{"kind":"file","ref":"x"}"#; 1000].join(",");
    let long = format!(r#"{{"kind":"file","ref":"{}"}}"#, "f".repeat(1_000_000));
    for (n, (output, evidence, first, listed)) in [
        (&one, "", format!("output.{}…: not declared", "n".repeat(200)), 2),
        (&wide, "", format!("output.0{}…: not declared", "é".repeat(199)), 623),
        (&many, "", "output.n0: not declared".to_owned(), 1001),
        (&many, &short, "output.n0: not declared".to_owned(), 1001),
        (&String::new(), &short, "evidence x: not found".to_owned(), 1000),
        (&String::new(), &long, format!("evidence {}…: not found", "f".repeat(200)), 1),
    ]
    .into_iter()
    .enumerate()
    {
        let submit = format!(
            r#"{{"token":"{token}","output":{{{output}}},"evidence":[{evidence}],"summary":"s","requestId":"w{n}"}}"#
        );
        let envelope = world.call("a1", "submit", &submit);
        assert_eq!(text(&envelope, "error.code"), "not_accepted");
        let told = issues(&envelope);
        assert_eq!((told[0], told.len()), (first.as_str(), listed));
        assert!(told.iter().map(|issue| issue.len()).sum::<usize>() < ISSUES_BYTES_MAX + 100);
        world.advance(11);
        let again = world.ok("a1", "claim", &format!(r#"{{"runId":"{run}","stepId":"a","requestId":"c{n}"}}"#));
        token = text(&again, "token");
        let kept = at(&again, "handoff.issues").and_then(Value::as_array).unwrap();
        assert_eq!(kept.iter().map(|issue| issue.as_str().unwrap()).collect::<Vec<_>>(), told);
    }
}
