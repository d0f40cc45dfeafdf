use std::collections::BTreeSet;

use serde_json::json;

use super::{BASE, World, with_role};

/// D/B-10: one item a process, of the latest version, with inputs as written.
#[tokio::test]
async fn the_list_shows_the_latest_versions() {
    let world = World::new();
    world.release(BASE, json!({})).await;
    world.release(&with_role("Two."), json!({ "lead": "g" })).await;
    let inputs = "inputs: { a: string, b: { type: string, one_of: [x, y], description: A word } }";
    let other = BASE
        .replace("name: p", "name: q")
        .replace("steps:", &format!("{inputs}\nrequires: {{ systems: [erp] }}\nsteps:"));
    world.release(&other, json!({})).await;
    let expected = json!([
        { "name": "p", "version": 2, "description": "d", "inputs": {} },
        {
            "name": "q", "version": 1, "description": "d",
            "inputs": { "a": "string", "b": { "type": "string", "one_of": ["x", "y"], "description": "A word" } },
            "requires": { "systems": ["erp"] },
        },
    ]);
    assert_eq!(world.listed("demo").await, expected);
}

/// D/B-11: pages until there are no more, each name once; nothing but a good cursor is taken.
#[tokio::test]
async fn the_list_is_paged() {
    let world = World::new();
    assert_eq!(
        world.tool("demo", "list_processes", json!({})).await["data"],
        json!({ "items": [], "nextCursor": null })
    );
    // More than the hundred of a page (PROC-PAGE).
    for n in 0..145 {
        world.release(&BASE.replace("name: p", &format!("name: p{n}")), json!({})).await;
    }
    let (mut names, mut pages, mut arguments) = (Vec::new(), 0, json!({}));
    loop {
        let page = world.tool("demo", "list_processes", arguments).await["data"].clone();
        names.extend(page["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        pages += 1;
        if page["nextCursor"].is_null() {
            break;
        }
        arguments = json!({ "cursor": page["nextCursor"] });
    }
    assert_eq!((pages, names.len(), names.iter().collect::<BTreeSet<_>>().len()), (2, 145, 145));
    assert!(names.is_sorted());
    for bad in [json!({ "cursor": "garbage" }), json!({ "limit": 5 }), json!({ "process": "p1" })] {
        assert_eq!(world.tool("demo", "list_processes", bad).await["error"]["code"], "invalid");
    }
    // Administration pages the same way.
    let page = world.done("GET", "/processes?limit=100", "").await;
    let after = format!("/processes?limit=100&after={}", page["next"].as_str().unwrap());
    assert_eq!(world.done("GET", &after, "").await["items"].as_array().unwrap().len(), 45);
}
