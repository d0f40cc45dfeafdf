use serde_json::json;

use super::{BASE, World, with_role};

/// D/B-03: 1, then 2; no gaps, and none used up by refusals. Two at once: [`super::racing`].
#[tokio::test]
async fn versions_are_numbered_without_gaps() {
    let world = World::new();
    assert_eq!(world.release(BASE, json!({})).await, (1, true));
    world.import(&with_role("Body.")).await;
    world.refused("POST", "/processes/p/publish", "{}").await;
    assert_eq!(world.publish("p", json!({ "lead": "g" })).await["version"]["version"], 2);
    let page = world.done("GET", "/processes/p", "").await;
    let numbers: Vec<_> = page["items"].as_array().unwrap().iter().map(|v| v["version"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 1]);
}

/// D/B-04: the latest content again creates nothing; an older one is a new version with the same hash.
#[tokio::test]
async fn publishing_again_creates_nothing() {
    let world = World::new();
    world.release(BASE, json!({})).await;
    let first = world.done("GET", "/processes/p/versions/1", "").await;
    assert_eq!(world.release(BASE, json!({})).await, (1, false));
    assert_eq!(world.done("GET", "/processes/p/versions/1", "").await, first);
    assert!(world.import(BASE).await["identical"].as_bool().unwrap());
    world.release(&BASE.replace("Body.", "Other."), json!({})).await;
    assert_eq!(world.release(BASE, json!({})).await, (3, true));
    assert_eq!(world.done("GET", "/processes/p/versions/3", "").await["hash"], first["hash"]);
}

/// D/B-07: what was published stays as it was, whatever is imported or published after it.
#[tokio::test]
async fn a_published_version_stays() {
    let world = World::new();
    world.release(BASE, json!({})).await;
    world.import(&BASE.replace("Body.", "Draft.")).await;
    world.release(&BASE.replace("Body.", "Two.").replace("do it", "do it well"), json!({})).await;
    let arguments = json!({ "process": "p", "version": 1, "inputs": {}, "requestId": "1" });
    let run = world.tool("demo", "start_run", arguments).await;
    assert_eq!(run["data"]["run"]["version"], 1, "{run}");
    let arguments = json!({ "runId": run["data"]["run"]["id"], "stepId": "a", "requestId": "2" });
    let claim = world.tool("demo", "claim", arguments).await;
    assert_eq!(claim["data"]["body"], "\nBody.\n", "{claim}");
    assert_eq!(claim["data"]["step"]["instructions"], "do it", "{claim}");
    assert_eq!(world.done("GET", "/processes/p/versions/1/source", "").await, BASE);
}

/// D/B-09: organizations share nothing.
/// The nodes are everybody's, and one organization's operators run them.
#[tokio::test]
async fn another_organizations_operators_do_not_touch_the_nodes() {
    let world = World::new();
    let calls = [
        ("GET", "/cluster"),
        ("GET", "/cluster/plan"),
        ("POST", "/cluster/join-tokens"),
        ("DELETE", "/cluster/nodes/1"),
        ("PUT", "/cluster/nodes/1/drain"),
        ("DELETE", "/cluster/nodes/1/drain"),
    ];
    for (method, path) in calls {
        let (status, said) = world.call(super::Who::OtherOperator, method, path, "").await;
        assert_eq!(status, 403, "{method} {path}: {said}");
        assert!(said["error"]["message"].as_str().unwrap().contains("cluster.operated_by"), "{said}");
        let (status, said) = world.call(super::Who::Operator, method, path, "").await;
        assert_ne!(status, 403, "{method} {path}: {said}");
    }
}

#[tokio::test]
async fn another_organization_has_its_own_catalog() {
    let world = World::new();
    world.release(BASE, json!({})).await;
    world.release(&BASE.replace("Body.", "Two."), json!({})).await;
    assert_eq!(world.listed("other").await, json!([]));
    let start = world.tool("other", "start_run", json!({ "process": "p", "inputs": {}, "requestId": "1" })).await;
    assert_eq!(start["error"]["code"], "not_found");
    let call =
        async |method, path, body: &str| world.call(super::Who::OtherOperator, method, path, body.to_owned()).await;
    assert_eq!(call("GET", "/processes", "").await.1["items"], json!([]));
    assert_eq!(call("GET", "/drafts/p", "").await.0, 404);
    call("POST", "/drafts", BASE).await;
    assert_eq!(call("POST", "/processes/p/publish", "{}").await.1["version"]["version"], 1);
    assert_eq!(world.done("GET", "/processes/p", "").await["latestVersion"], 2);
}
