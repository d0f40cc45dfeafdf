//! The supplier process from start to `onboarded`, with a file, a refused submission, a renewal, an escalation, a
//! rejection and a replay; every result is checked against the schemas.

use super::world::{SUPPLIER, World, at, text};

#[test]
fn the_supplier_process_runs_to_its_end() {
    let world = World::new();
    world.publish(SUPPLIER);
    let listed = world.ok("a1", "list_processes", "{}");
    assert_eq!(text(&listed, "items.0.name"), "supplier-onboarding");
    assert_eq!(text(&world.ok("a1", "describe", "{}"), "protocol"), "agentprocess");

    let start = r#"{"process":"supplier-onboarding","inputs":{"vendorName":"Acme","amount":48000.10},"requestId":"s"}"#;
    let started = world.ok("mira", "start_run", start);
    let run = text(&started, "run.id");
    // Replays are the original, however late (R/I-01).
    world.advance(1);
    assert_eq!(world.ok("mira", "start_run", start), started);

    let work = world.ok("a1", "get_work", "{}");
    assert_eq!(text(&work, "items.0.claim.arguments.runId"), run);
    let claim = format!(r#"{{"runId":"{run}","stepId":"check_vendor","requestId":"c1"}}"#);
    let claimed = world.ok("a1", "claim", &claim);
    assert_eq!(world.ok("a1", "claim", &claim), claimed);
    let first = text(&claimed, "token");
    let renewed = world.ok("a1", "renew", &format!(r#"{{"token":"{first}","progress":"half way","requestId":"n1"}}"#));
    let token = text(&renewed, "token");
    assert_ne!(first, token);
    let stale = world.refused("a1", "renew", &format!(r#"{{"token":"{first}","requestId":"n2"}}"#));
    assert_eq!(stale.0, "stale");

    let file = world.ok(
        "a1",
        "upload",
        r#"{"fileName":"r.txt","contentType":"text/plain","contentBase64":"aGVsbG8=","requestId":"u1"}"#,
    );
    let submit = |evidence: &str, request: &str, token: &str| {
        format!(
            r#"{{"token":"{token}","output":{{"cleared":true,"summary":"none"}},"evidence":[{evidence}],
                "summary":"Searched.","next":"approve","reason":"Clear.","requestId":"{request}"}}"#
        )
    };
    let (code, issues) = world.refused("a1", "submit", &submit(r#"{"kind":"file","ref":"f_0"}"#, "w1", &token));
    assert_eq!((code.as_str(), issues), ("not_accepted", vec!["evidence f_0: not found".to_owned()]));
    let item = format!(r#"{{"kind":"file","ref":"{}"}}"#, text(&file, "id"));
    let submitted = world.ok("a1", "submit", &submit(&item, "w1", &token));
    assert_eq!(text(&submitted, "data.steps.check_vendor.evidence.0.sha256"), text(&file, "sha256"));
    assert!(text(&submitted, "data.steps.check_vendor.evidence.0.url").starts_with("https://q.example/files/f_"));

    // Finance rejects; the agent does it again, escalates once, and an operator sends it back.
    decide(&world, "fin", "rejected", r#","note":"Which lists?""#, "d1");
    let token = text(&world.ok("a2", "claim", &claim.replace("\"c1\"", "\"c2\"")), "token");
    world.ok("a2", "escalate", &format!(r#"{{"token":"{token}","note":"stuck","requestId":"e1"}}"#));
    decide(&world, "olga", "returned", r#","note":"Use form B.""#, "d2");
    let again = world.ok("a2", "claim", &claim.replace("\"c1\"", "\"c3\""));
    assert_eq!(text(&again, "handoff.returned.note"), "Use form B.");
    assert!(text(&again, "data.steps.check_vendor.history.0.evidence.0.url").contains("/files/f_"));
    world.ok("a2", "submit", &submit(&item, "w2", &text(&again, "token")));
    let ended = decide(&world, "fin", "approved", "", "d3");
    assert_eq!((text(&ended, "run.state"), text(&ended, "run.outcome")), ("ended".into(), "onboarded".into()));
    assert_eq!(at(&ended, "data.inputs.amount").unwrap().to_string(), "48000.10");

    // The first submission again, after the end: the view of then (R/I-06).
    let replayed = world.ok("a1", "submit", &submit(&item, "w1", &text(&renewed, "token")));
    assert_eq!(text(&replayed, "run.state"), "waiting");
    let (code, issues) = world.refused("a1", "submit", &submit(&item, "w9", &text(&renewed, "token")));
    assert_eq!((code.as_str(), issues), ("conflict", vec!["run_ended".to_owned()]));
    let runs = world.ok("a1", "list_runs", r#"{"state":"ended","inputs":{"amount":480001e-1}}"#);
    assert_eq!(text(&runs, "items.0.id"), run);
    assert_eq!(
        world.call("b1", "get_run", &format!(r#"{{"runId":"{run}"}}"#)),
        world.call("b1", "get_run", r#"{"runId":"r_1"}"#)
    );
}

fn decide(world: &World, who: &str, decision: &str, more: &str, request: &str) -> agentprocess::json::Value {
    let work = world.ok(who, "get_work", "{}");
    let part = |name: &str| text(&work, &format!("items.0.workItem.decide.arguments.{name}"));
    let (run, item, snapshot) = (part("runId"), part("workItemId"), part("snapshot"));
    let arguments = format!(
        r#"{{"runId":"{run}","workItemId":"{item}","snapshot":"{snapshot}","decision":"{decision}","requestId":"{request}"{more}}}"#
    );
    world.ok(who, "decide", &arguments)
}

/// R/D-05 R/D-06: these need no run.
#[test]
fn arguments_that_do_not_go_together_are_invalid() {
    let world = World::new();
    let table = [
        ("completed", r#","note":"n""#, vec!["note: not with completed; say it in summary"]),
        ("approved", r#","output":{},"next":"a""#, vec!["output: only with completed", "next: only with completed"]),
        (
            "rejected",
            r#","evidence":[],"summary":"s","reason":"r""#,
            vec![
                "evidence: only with completed",
                "summary: only with completed",
                "reason: only with completed",
                "note: required",
            ],
        ),
        ("returned", r#","note":" \u00a0""#, vec!["note: required"]),
        ("failed", "", vec!["note: required"]),
        ("done", "", vec!["decision: one of completed, approved, rejected, returned, failed"]),
    ];
    for (decision, more, issues) in table {
        let arguments = format!(
            r#"{{"runId":"r_1","workItemId":"w","snapshot":"s","decision":"{decision}","requestId":"r"{more}}}"#
        );
        let said = world.refused("fin", "decide", &arguments);
        assert_eq!(said, ("invalid".to_owned(), issues.into_iter().map(str::to_owned).collect()), "{arguments}");
    }
    let blank = world.refused("olga", "cancel", r#"{"runId":"r_1","reason":" ","requestId":"r"}"#);
    assert_eq!(blank, ("invalid".to_owned(), vec!["reason: required".to_owned()]));
    let blank = world.refused("a1", "escalate", r#"{"token":"t","note":"","requestId":"r"}"#);
    assert_eq!(blank, ("invalid".to_owned(), vec!["note: required".to_owned()]));
}
