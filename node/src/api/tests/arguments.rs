//! From arguments as sent to typed ones.

use std::collections::BTreeSet;

use quorate_proto::{Caller, CallerKind, Code};

use crate::api::arguments::Arguments;
use crate::api::{Settings, tools};

fn arguments(tool: &str, text: &str) -> Result<Arguments, Vec<String>> {
    let tool = tools::find(tool).unwrap();
    Arguments::read(tool, &Settings::new("https://q.example"), text.as_bytes()).map_err(|refusal| {
        assert_eq!(refusal.code, Code::Invalid);
        refusal.issues
    })
}

fn caller(kind: CallerKind, id: &str) -> Caller {
    Caller {
        org: "demo".to_owned(),
        kind,
        id: id.to_owned(),
        person: None,
        groups: BTreeSet::new(),
        operator: false,
        processes: None,
    }
}

/// R/C-05 R/S-15 R/W-03 R/S-12
#[test]
fn every_issue_at_once_in_a_fixed_order() {
    let long = "x".repeat(2001);
    let table = [
        ("claim", "[]".to_owned(), vec!["arguments: expected object"]),
        ("claim", "{}".to_owned(), vec!["runId: missing", "stepId: missing", "requestId: missing"]),
        (
            "claim",
            r#"{"z":1,"requestId":"","a":2,"runId":null,"stepId":"s"}"#.to_owned(),
            vec![
                "runId: expected string",
                "requestId: must be 1 to 128 characters",
                "z: not an argument",
                "a: not an argument",
            ],
        ),
        ("get_work", r#"{"limit":"5"}"#.to_owned(), vec!["limit: must be an integer from 1 to 100"]),
        (
            "submit",
            format!(
                r#"{{"token":"t","output":[],"summary":"{long}","requestId":"r","evidence":[{{"kind":"photo","ref":"","sha256":"x"}}]}}"#
            ),
            vec![
                "output: expected object",
                "evidence[0].kind: one of file, link",
                "evidence[0].ref: must not be empty",
                "evidence[0].sha256: not an argument",
                "summary: over 2000 characters",
            ],
        ),
        ("submit", r#"{"token":"t","output":{},"requestId":"r"}"#.to_owned(), vec!["summary: missing"]),
    ];
    for (tool, sent, issues) in table {
        assert_eq!(arguments(tool, &sent).unwrap_err(), issues, "{sent}");
    }
}

#[test]
fn meta_is_taken_off_and_counts_for_nothing() {
    let with = arguments("get_run", r#"{"runId":"r_1","_meta":{"progressToken":1}}"#).unwrap();
    let without = arguments("get_run", r#"{"runId":"r_1"}"#).unwrap();
    let who = caller(CallerKind::Agent, "a1");
    assert_eq!(with.fingerprint("get_run", &who), without.fingerprint("get_run", &who));
}

#[test]
fn an_unfilled_placeholder_is_refused_with_a_hint() {
    let issues = arguments("cancel", r#"{"runId":"r_1","reason":"x","requestId":"<new UUID>"}"#).unwrap_err();
    assert!(issues.len() == 1 && issues[0].starts_with("requestId: ") && issues[0].contains("UUID"), "{issues:?}");
}

#[test]
fn nesting_is_bounded() {
    let nested = |levels: usize| {
        format!(
            r#"{{"runId":"r","name":"n","requestId":"q","data":{{"x":{}1{}}}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    assert!(arguments("send_event", &nested(98)).is_ok());
    let issues = arguments("send_event", &nested(99)).unwrap_err();
    assert_eq!(issues, ["arguments: nested deeper than 100 levels"]);
}

/// R/I-02
#[test]
fn calls_are_the_same_when_their_values_are() {
    let call = |text: &str| arguments("start_run", text).unwrap();
    let a1 = caller(CallerKind::Agent, "a1");
    let print = |text: &str| call(text).fingerprint("start_run", &a1);
    let base = r#"{"process":"p","inputs":{"n":1.10,"l":[1,2]},"requestId":"r"}"#;
    let same = [
        r#"{"requestId":"r","inputs":{"l":[1,2],"n":1.1},"process":"p"}"#,
        r#"{"process":"p","inputs":{"n":110e-2,"l":[1.0,2]},"requestId":"r"}"#,
    ];
    let different = [
        r#"{"process":"p","inputs":{"n":1.10,"l":[2,1]},"requestId":"r"}"#,
        r#"{"process":"p","inputs":{"n":"1.10","l":[1,2]},"requestId":"r"}"#,
        r#"{"process":"p","inputs":{"n":1.1000000000000000000001,"l":[1,2]},"requestId":"r"}"#,
        r#"{"process":"p","inputs":{"n":1.10,"l":[1,2]},"mode":"live","requestId":"r"}"#,
    ];
    assert!(same.iter().all(|text| print(text) == print(base)));
    assert!(different.iter().all(|text| print(text) != print(base)));
    for other in [caller(CallerKind::Agent, "a2"), caller(CallerKind::Human, "a1")] {
        assert_ne!(call(base).fingerprint("start_run", &other), print(base));
    }
    assert_ne!(call(base).fingerprint("upload", &a1), print(base));
}

/// JSON-LIMITS: judged before anything is made of it, by what it says and not by how it is spelled.
#[test]
fn arguments_have_a_size() {
    let limit = 2 << 20;
    let submit = |output: &str| format!(r#"{{"token":"t","summary":"s","requestId":"r","output":{output}}}"#);
    let of = |bytes: usize| {
        let rest = bytes - submit(r#"{"x":""}"#).len();
        submit(&format!(r#"{{"x":"{}"}}"#, "x".repeat(rest)))
    };
    assert!(arguments("submit", &of(limit)).is_ok());
    let over = vec![format!("arguments: over {limit} bytes")];
    assert_eq!(arguments("submit", &of(limit + 1)).unwrap_err(), over);
    let spelled = of(limit).replacen('x', "\\u0078", 1000).replace(':', " : ");
    assert!(arguments("submit", &spelled).is_ok());
    for hostile in ["1,".repeat(7_000_000) + "1", "{},".repeat(4_000_000) + "{}", "\"\",".repeat(2_000_000) + "0"] {
        let begun = std::time::Instant::now();
        assert_eq!(arguments("submit", &submit(&format!("{{\"x\":[{hostile}]}}"))).unwrap_err(), over);
        let upload = format!(r#"{{"fileName":[{hostile}],"contentType":"t","contentBase64":"AA==","requestId":"r"}}"#);
        assert_eq!(arguments("upload", &upload).unwrap_err(), ["arguments: over 1048576 bytes"]);
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    }
    let upload = |bytes: usize| {
        let content = "A".repeat(bytes);
        format!(r#"{{"fileName":"f","contentType":"t","contentBase64":"{content}","requestId":"r"}}"#)
    };
    assert!(arguments("upload", &upload(14 << 20)).is_ok());
}

#[test]
fn an_answer_is_not_much_larger_than_its_call() {
    let items = format!("[{}{{}}]", "{},".repeat(300_000));
    let sent = format!(r#"{{"token":"t","output":{{}},"summary":"s","requestId":"r","evidence":{items}}}"#);
    let issues = arguments("submit", &sent).unwrap_err();
    assert_eq!(issues[999..], ["evidence[499].ref: missing", "more: only the first 1000 issues are listed"]);
    let names = (0..2000).map(|n| format!(r#""n{n}":0"#)).collect::<Vec<_>>().join(",");
    let issues =
        arguments("get_run", &format!(r#"{{"runId":"r","{}":0,{names}}}"#, "n".repeat(1_000_000))).unwrap_err();
    assert_eq!(issues[0], format!("{}…: not an argument", "n".repeat(200)));
    assert_eq!(issues.len(), 1001);
    let link = r#"{"kind":"link","ref":"x"}"#;
    let cites = |items: usize| {
        let items = vec![link; items].join(",");
        format!(r#"{{"token":"t","output":{{}},"summary":"s","requestId":"r","evidence":[{items}]}}"#)
    };
    assert!(arguments("submit", &cites(1000)).is_ok());
    assert_eq!(arguments("submit", &cites(1001)).unwrap_err(), ["evidence: over 1000 items"]);
}
