use axum::http::StatusCode;
use serde_json::json;

use super::{BASE, Who, World, with_role};

/// D/B-01: a draft is not listed and cannot be started; the answer says what to bind, what is needed, and the hash.
#[tokio::test]
async fn an_import_is_a_draft() {
    let world = World::new();
    let file = with_role("Body.").replace("steps:", "requires: { systems: [erp, crm] }\nsteps:");
    let draft = world.import(&file).await;
    assert_eq!(draft["roles"], json!([{ "role": "lead", "group": null }]));
    assert_eq!(draft["systems"], json!(["erp", "crm"]));
    assert_eq!(draft["hash"].as_str().unwrap().len(), 64);
    assert_eq!(draft["latestVersion"], json!(null));
    assert_eq!(world.listed("demo").await, json!([]));
    let start = world.tool("demo", "start_run", json!({ "process": "p", "inputs": {}, "requestId": "1" })).await;
    assert_eq!(start["error"]["code"], "not_found", "{start}");
    assert_eq!(world.done("GET", "/drafts", "").await["items"][0]["process"], "p");
    assert_eq!(world.done("GET", "/drafts/p", "").await["hash"], draft["hash"]);
}

/// D/B-02: each role needs a group, no other role takes one, and a declared list binds.
#[tokio::test]
async fn roles_are_bound_to_known_groups() {
    let mut world = World::new();
    world.import(&with_role("Body.")).await;
    let publish = "/processes/p/publish";
    let (code, issues) = world.refused("POST", publish, "").await;
    assert_eq!((code.as_str(), issues.len()), ("invalid", 1));
    assert!(issues[0].starts_with("roles.lead: "), "{issues:?}");
    let both = json!({ "roles": { "lead": "g_1", "boss": "g_1" } }).to_string();
    let (_, issues) = world.refused("POST", publish, both).await;
    assert!(issues.len() == 1 && issues[0].starts_with("roles.boss: "), "{issues:?}");

    let tools = crate::api::tools().iter().map(|tool| tool.name).collect();
    world.offer(vec!["parallel-1"], tools, Some(&["g_known"]));
    let unknown = json!({ "roles": { "lead": "g_1" } }).to_string();
    let (_, issues) = world.refused("POST", publish, unknown.clone()).await;
    assert!(issues.len() == 1 && issues[0].starts_with("roles.lead: ") && issues[0].contains("g_1"), "{issues:?}");
    assert_eq!(world.listed("demo").await, json!([]));
    let published = world.publish("p", json!({ "lead": "g_known" })).await;
    assert_eq!(published["warnings"], json!([]));

    // Without a list any well-formed id will do; who has not been seen is told.
    let world = World::new();
    world.import(&with_role("Body.")).await;
    let published = world.publish("p", json!({ "lead": "g_1" })).await;
    assert!(published["warnings"][0].as_str().unwrap().contains("g_1"), "{published}");
    world.import(&with_role("Other.")).await;
    assert_eq!(world.publish("p", json!({ "lead": "g_seen" })).await["warnings"], json!([]));
    assert_eq!(world.release(&BASE.replace("name: p", "name: q"), json!({})).await, (1, true));
}

/// D/B-08: agents and people who are no operators may do nothing here, and what they try changes nothing.
#[tokio::test]
async fn only_human_operators_administer() {
    let world = World::new();
    world.import(BASE).await;
    let draft = world.done("GET", "/drafts/p", "").await;
    for who in [Who::Agent, Who::Person] {
        for (method, path, body) in [
            ("POST", "/drafts", BASE),
            ("GET", "/drafts", ""),
            ("POST", "/processes/p/publish", "{}"),
            ("GET", "/processes", ""),
            ("PUT", "/processes/p/versions/1/roles", r#"{"roles":{}}"#),
            ("POST", "/processes/p/retire", ""),
            ("GET", "/record", ""),
            ("POST", "/test/clock", r#"{"advance":"1m"}"#),
        ] {
            let (status, answer) = world.call(who, method, path, body).await;
            assert_eq!(
                (status, &answer["error"]["code"]),
                (StatusCode::FORBIDDEN, &json!("forbidden")),
                "{method} {path}"
            );
        }
    }
    assert_eq!(world.done("GET", "/drafts/p", "").await, draft);
    assert_eq!(world.listed("demo").await, json!([]));
}

#[tokio::test]
async fn every_issue_of_a_file_comes_at_once() {
    let world = World::new();
    let bad = BASE.replace("description: d", "descripton: d").replace("next: z", "next: y");
    let (code, issues) = world.refused("POST", "/drafts", bad).await;
    assert_eq!(code, "invalid");
    assert!(issues.len() >= 3, "{issues:?}");
    // JSON-LIMITS: of whatever size.
    for bytes in [(1 << 20) + 1, 3 << 20, 40 << 20] {
        let large = format!("{BASE}{}", "x".repeat(bytes - BASE.len()));
        let (code, issues) = world.refused("POST", "/drafts", large).await;
        assert_eq!((code.as_str(), issues), ("invalid", vec!["file: larger than 1048576 bytes".to_owned()]));
    }
    // D/V-32: the folder bears the process's name.
    let (_, issues) = world.refused("POST", "/drafts?folder=supplier", BASE).await;
    assert!(issues[0].starts_with("name: folder is named supplier"), "{issues:?}");
    world.done("POST", "/drafts?folder=p", BASE).await;
}

#[tokio::test]
async fn a_changed_draft_is_shown_with_its_difference() {
    let world = World::new();
    world.import(&with_role("Body.")).await;
    world.publish("p", json!({ "lead": "g_1" })).await;
    let draft = world.import(&with_role("Body two.")).await;
    assert_eq!(draft["roles"], json!([{ "role": "lead", "group": "g_1" }]));
    assert_eq!((&draft["latestVersion"], &draft["identical"]), (&json!(1), &json!(false)));
    let difference = draft["difference"].as_str().unwrap();
    assert!(difference.contains("-Body.") && difference.contains("+Body two."), "{difference}");
    // Roles are pre-filled from the last version.
    assert_eq!(world.publish("p", json!({})).await["version"]["roles"], json!({ "lead": "g_1" }));
    let changed = json!({ "hash": "0".repeat(64) }).to_string();
    assert_eq!(world.refused("POST", "/processes/p/publish", changed).await.0, "conflict");
}

#[tokio::test]
async fn roles_are_mapped_and_everything_is_recorded() {
    let world = World::new();
    world.import(&with_role("Body.")).await;
    world.publish("p", json!({ "lead": "g_1" })).await;
    let map = json!({ "roles": { "lead": "g_2" } }).to_string();
    let version = world.done("PUT", "/processes/p/versions/1/roles", map.clone()).await;
    assert_eq!(version["roles"], json!({ "lead": "g_2" }));
    assert_eq!(world.refused("PUT", "/processes/p/versions/7/roles", map).await.0, "not_found");
    world.done("POST", "/processes/p/retire", "").await;
    assert_eq!(world.listed("demo").await, json!([]));
    let start = world.tool("demo", "start_run", json!({ "process": "p", "inputs": {}, "requestId": "1" })).await;
    assert_eq!(start["error"]["code"], "not_found");
    assert_eq!(world.done("GET", "/processes", "").await["items"][0]["retired"], true);
    world.done("POST", "/processes/p/restore", "").await;
    assert_eq!(world.listed("demo").await[0]["name"], "p");
    let record = world.done("GET", "/record?limit=4", "").await;
    let whats: Vec<_> = record["items"].as_array().unwrap().iter().map(|i| i["what"].as_str().unwrap()).collect();
    assert_eq!(whats, ["restored", "retired", "mapped", "published"]);
    let after = format!("/record?after={}", record["next"].as_str().unwrap());
    assert_eq!(world.done("GET", &after, "").await["items"][0]["what"], "imported");
}

#[tokio::test]
async fn wrong_calls_are_refused_in_the_same_form() {
    let world = World::new();
    for (method, path, body, code) in [
        ("POST", "/processes/p/publish", "{", "invalid"),
        ("POST", "/processes/p/publish", r#"{"rolls":{}}"#, "invalid"),
        ("POST", "/processes/p/publish", r#"{"roles":{"lead":"g_1","lead":"g_2"}}"#, "invalid"),
        ("PUT", "/processes/p/versions/1/roles", r#"{"roles":{"lead":"g_1","\u006cead":"g_2"}}"#, "invalid"),
        ("POST", "/processes/p/publish", "{}", "not_found"),
        ("GET", "/processes?limit=0", "", "invalid"),
        ("GET", "/processes?page=2", "", "invalid"),
        ("GET", "/processes/p/versions/one", "", "not_found"),
        ("GET", "/processes/p/versions/1/source", "", "not_found"),
        ("POST", "/processes/p/retire", "", "not_found"),
        ("POST", "/test/clock", r#"{"advance":"soon"}"#, "invalid"),
    ] {
        assert_eq!(world.refused(method, path, body).await.0, code, "{method} {path} {body}");
    }
}

#[tokio::test]
async fn the_clock_moves_only_in_tests() {
    let world = World::new();
    let before = world.api.clock().now();
    let standing = world.done("POST", "/test/clock", r#"{"advance":"10m"}"#).await;
    assert_eq!(standing["now"], before.plus(agentprocess::time::Span(600_000)).to_string());
    let world = World::with_clock(crate::clock::Clock::system());
    assert_eq!(world.refused("POST", "/test/clock", r#"{"advance":"10m"}"#).await.0, "not_found");
}
