//! The `OpenAPI` document against what the routes do.

use serde_json::json;

use super::{BASE, Who, World};

/// Routes and document are one declaration; this is what a reader of the document finds.
#[tokio::test]
async fn the_document_describes_every_route() {
    let world = World::new();
    let document = world.done("GET", "/openapi.json", "").await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    assert_eq!(document["security"], json!([{ "bearer": [] }]));
    let paths: Vec<_> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "/admin/v1/cluster",
        "/admin/v1/cluster/join-tokens",
        "/admin/v1/cluster/nodes/{node}",
        "/admin/v1/cluster/nodes/{node}/drain",
        "/admin/v1/cluster/plan",
        "/admin/v1/drafts",
        "/admin/v1/drafts/{process}",
        "/admin/v1/processes",
        "/admin/v1/processes/{process}",
        "/admin/v1/processes/{process}/publish",
        "/admin/v1/processes/{process}/restore",
        "/admin/v1/processes/{process}/retire",
        "/admin/v1/processes/{process}/versions/{version}",
        "/admin/v1/processes/{process}/versions/{version}/roles",
        "/admin/v1/processes/{process}/versions/{version}/source",
        "/admin/v1/record",
        "/admin/v1/test/clock",
    ];
    assert_eq!(paths, expected);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            assert!(operation["responses"]["403"].is_object(), "{method} {path} does not tell of 403");
        }
    }
    // Every schema that is referred to is there.
    for reference in document.to_string().split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
}

/// Whatever is asked, and by whom: the document tells of the status that comes.
#[tokio::test]
async fn the_document_tells_of_every_status() {
    let world = World::new();
    world.release(BASE, json!({})).await;
    let document = world.done("GET", "/openapi.json", "").await;
    let tokens = [None, Some("x"), Some(world.token(Who::Agent)), Some(world.token(Who::Operator))];
    let queries = ["", "?limit=0", "?limit=x", "?after=%00", "?folder=q", "?unknown=1"];
    let bodies = ["", "{}", "[]", "not JSON", r#"{"roles":{"x":"y"}}"#, r#"{"advance":"soon"}"#];
    let (mut called, mut seen) = (0, std::collections::BTreeSet::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (process, version) in [("p", "1"), ("p", "9"), ("q", "1"), ("p", "x"), ("%FF", "1")] {
                let path = path.replace("{process}", process).replace("{version}", version).replace("{node}", version);
                for token in tokens {
                    // What is asked matters to the one who may ask.
                    let asked = if token == Some(world.token(Who::Operator)) { queries.len() } else { 1 };
                    for query in &queries[..asked] {
                        for body in &bodies[..asked] {
                            let uri = format!("{path}{query}");
                            let (status, answer) = world.send(token, &method.to_uppercase(), &uri, *body).await;
                            let told = &operation["responses"][status.as_str()];
                            assert!(told.is_object(), "{method} {uri} {body}: {status} is not told of ({answer})");
                            if !status.is_success() {
                                let name = if status == 401 { "error_description" } else { "error" };
                                assert!(!answer[name].is_null(), "{method} {uri} {body}: {status} {answer}");
                            }
                            called += 1;
                            seen.insert(status.as_u16());
                        }
                    }
                }
            }
            for status in ["401", "500", "503"] {
                assert!(operation["responses"][status].is_object(), "{method} {path} does not tell of {status}");
            }
        }
    }
    assert!(called > 1000 && [200, 401, 403, 404, 422].iter().all(|status| seen.contains(status)), "{called} {seen:?}");
}
