use serde_json::json;

use super::{BASE, World};
use crate::api::tools;

fn all_tools() -> Vec<&'static str> {
    tools().iter().map(|tool| tool.name).collect()
}

const PARALLEL: &str = "---\nname: p\ndescription: d\nsteps:\n  - { id: a, agent: do it }\n  - { id: b, parallel: [c, e], next: z }\n  - { id: c, agent: do it, next: join }\n  - { id: e, agent: do it, next: join }\n  - { id: z, finish: ok }\n---\n";

/// D/O-01: without the profile, `parallel` is refused for that reason.
#[tokio::test]
async fn parallel_needs_its_profile() {
    let mut world = World::new();
    world.offer(vec![], all_tools(), None);
    let lacks = world.import(PARALLEL).await["notOffered"].clone();
    assert!(lacks[0].as_str().unwrap().starts_with("steps[1].parallel: needs profile parallel-1"), "{lacks}");
    let (code, issues) = world.refused("POST", "/processes/p/publish", "{}").await;
    assert_eq!((code.as_str(), json!(issues)), ("invalid", lacks));
    world.offer(vec!["parallel-1"], all_tools(), None);
    world.publish("p", json!({})).await;
}

/// D/O-02: without an evaluator, `check` is refused and `describe` does not list the profile; what was published
/// while there was one stays.
#[tokio::test]
async fn check_needs_an_evaluator() {
    let mut world = World::new();
    let checked = BASE.replace("next: z", "next: z, check: Is it done?");
    world.import(&checked).await;
    let (_, issues) = world.refused("POST", "/processes/p/publish", "{}").await;
    assert!(
        issues.len() == 1 && issues[0].starts_with("steps[0].check: ") && issues[0].contains("check-1"),
        "{issues:?}"
    );
    let described = world.tool("demo", "describe", json!({})).await;
    assert_eq!(described["data"]["profiles"], json!(["parallel-1"]));

    world.offer(vec!["parallel-1", "check-1"], all_tools(), None);
    world.publish("p", json!({})).await;
    world.offer(vec!["parallel-1"], all_tools(), None);
    assert_eq!(world.listed("demo").await[0]["name"], "p");
    world.import(&checked.replace("Body.", "Two.")).await;
    world.refused("POST", "/processes/p/publish", "{}").await;
    assert_eq!(world.done("GET", "/processes/p", "").await["latestVersion"], 1);
}

/// D/O-03: file evidence needs `upload`, waiting for an event needs `send_event`; `describe` names what there is.
#[tokio::test]
async fn evidence_and_events_need_their_tools() {
    let mut world = World::new();
    let without = |name: &str| all_tools().into_iter().filter(|tool| *tool != name).collect::<Vec<_>>();
    world.offer(vec!["parallel-1"], without("upload"), None);
    for (evidence, refused) in [("[file]", true), ("[link, file]", true), ("[link]", false)] {
        let draft = world.import(&BASE.replace("next: z", &format!("next: z, evidence: {evidence}"))).await;
        let lacks = draft["notOffered"].as_array().unwrap();
        assert_eq!(lacks.len(), usize::from(refused), "{draft}");
        assert!(lacks.iter().all(|lack| lack.as_str().unwrap().contains("upload")), "{draft}");
        if refused {
            world.refused("POST", "/processes/p/publish", "{}").await;
        } else {
            world.publish("p", json!({})).await;
        }
    }
    world.offer(vec!["parallel-1"], without("send_event"), None);
    world.import(&BASE.replace("agent: do it", "wait_for: reply")).await;
    let (_, issues) = world.refused("POST", "/processes/p/publish", "{}").await;
    assert!(issues[0].starts_with("steps[0].wait_for: ") && issues[0].contains("send_event"), "{issues:?}");

    let described = world.tool("demo", "describe", json!({})).await;
    assert_eq!(described["data"]["tools"], json!(all_tools()));
    assert_eq!(described["data"]["profiles"], json!(crate::server::PROFILES));
}
