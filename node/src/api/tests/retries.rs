//! What holds when calls are repeated, race, or meet a server that cannot answer.

use std::sync::Arc;

use agentprocess::json;
use quorate_proto::catalog::CatalogCommand;

use super::world::{World, caller, page, simple, text, wait};
use crate::api::{Api, Settings, envelope};
use crate::groups::Unavailable;

const START: &str = r#"{"process":"p1","inputs":{},"requestId":"r1"}"#;

/// R/I-05
#[test]
fn twins_start_one_run() {
    let world = World::new();
    world.publish(&simple("p1"));
    let who = caller("a1");
    let twins = (0..8).map(|_| world.api.call(&who, "start_run", START));
    let answers = wait(futures_util::future::join_all(twins));
    let first = text(answers[0].as_ref().unwrap(), "data.run.id");
    assert!(answers.iter().all(|a| text(a.as_ref().unwrap(), "data.run.id") == first));
    assert_eq!(page(&world.ok("a1", "list_runs", "{}")).0, 1);
}

/// R/I-02 R/I-03 and IDEM-IDENTITY
#[test]
fn a_start_is_replayed_after_its_process_was_retired_or_published_anew() {
    let world = World::new();
    assert_eq!(world.refused("a1", "start_run", START).0, "not_found");
    world.publish(&simple("p1"));
    let started = world.ok("a1", "start_run", START);
    assert_eq!(world.publish(&simple("p1").replace("Work.", "Work well.")), 2);
    assert_eq!(world.ok("a1", "start_run", START), started);
    let retire = |retired| {
        world.catalog(CatalogCommand::Retire {
            org: "demo".to_owned(),
            process: "p1".to_owned(),
            retired,
            by: "u_olga".to_owned(),
        })
    };
    retire(true);
    assert_eq!(world.ok("a1", "start_run", START), started);
    // What is not there comes before an id that was used (ERR-TOOLS).
    let other = START.replace("{}", r#"{"n":1}"#);
    assert_eq!(world.refused("a1", "start_run", &other).0, "not_found");
    assert_eq!(world.refused("a2", "start_run", START).0, "not_found");
    assert_eq!(world.refused("a1", "start_run", &START.replace("r1", "r2")).0, "not_found");
    let pinned = r#"{"process":"p1","version":1,"inputs":{},"requestId":"r3"}"#;
    assert_eq!(world.refused("a1", "start_run", pinned).0, "not_found");
    retire(false);
    let reused = ("conflict".to_owned(), vec!["request_id_reused".to_owned()]);
    assert_eq!(world.refused("a1", "start_run", &other), reused);
    assert_eq!(world.refused("a2", "start_run", START), reused);
    let pinned = world.ok("a1", "start_run", pinned);
    assert_eq!(json::Value::from(1), super::world::at(&pinned, "run.version").unwrap().clone());
    for version in ["9", "4294967296", "9007199254740991"] {
        let call = format!(r#"{{"process":"p1","version":{version},"inputs":{{}},"requestId":"v"}}"#);
        assert_eq!(world.refused("a1", "start_run", &call).0, "not_found");
    }
}

/// Two nodes that start at once make keys at once; each verifies what the other signed.
#[test]
fn nodes_share_the_key_ring() {
    let world = World::new();
    world.publish(&simple("p1"));
    let other = Api::new(Arc::clone(&world.groups), Settings::new("https://q.example"), Arc::clone(&world.clock));
    let run = text(&world.ok("a1", "start_run", START), "run.id");
    world.catalog(CatalogCommand::AddKey { secret: [9; 32] });
    let claim = format!(r#"{{"runId":"{run}","stepId":"a","requestId":"c"}}"#);
    let call = |tool: &'static str, arguments: &str| wait(other.call(&caller("a1"), tool, arguments)).unwrap();
    // The other node knows the newer key and signs with it; this one learns it from the token.
    let token = text(&call("claim", &claim), "data.token");
    let renewed = world.ok("a1", "renew", &format!(r#"{{"token":"{token}","requestId":"n"}}"#));
    let escalate = format!(r#"{{"token":"{}","note":"x","requestId":"e"}}"#, text(&renewed, "token"));
    assert_eq!(text(&call("escalate", &escalate), "data.run.state"), "waiting");
    // A replay is signed with the key the claim named, so the token is the same everywhere.
    assert_eq!(text(&world.ok("a1", "claim", &claim), "token"), token);
}

#[test]
fn an_unknown_tool_is_none_and_an_unknown_outcome_is_retry() {
    let world = World::new();
    assert_eq!(wait(world.api.call(&caller("a1"), "nope", "null")), None);
    let refusal = Unavailable("no leader".to_owned()).into();
    assert_eq!(text(&envelope::refused(&refusal), "error.code"), "retry");
}
