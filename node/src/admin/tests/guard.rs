//! Hosts and origins on the listener of operators: no page in an operator's browser reaches it (DNS rebinding).

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use tower::ServiceExt;

use super::{Who, World};
use crate::http::guard::Guard;

async fn get(world: &World, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let mut request =
        Request::builder().uri(path).header("authorization", format!("Bearer {}", world.token(Who::Operator)));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn administration_answers_to_its_own_hosts_and_origins_only() {
    let world = World::new();
    for path in ["/admin/v1/processes", "/admin/v1/openapi.json"] {
        for (headers, status) in [
            (vec![("host", "localhost:8081")], StatusCode::OK),
            (vec![("host", "127.0.0.1:8081"), ("origin", "http://localhost:3000")], StatusCode::OK),
            (vec![("host", "evil.example:8081")], StatusCode::FORBIDDEN),
            (vec![], StatusCode::FORBIDDEN),
            (vec![("host", "localhost:8081"), ("origin", "https://evil.example")], StatusCode::FORBIDDEN),
            (vec![("host", "localhost:8081"), ("origin", "null")], StatusCode::FORBIDDEN),
        ] {
            let response = get(&world, path, &headers).await;
            assert_eq!(response.status(), status, "{path} {headers:?}");
            let readable = response.headers().contains_key("access-control-allow-origin");
            assert_eq!(readable, status == StatusCode::OK && headers.len() == 2, "{path} {headers:?}");
        }
    }
}

/// A probe asks by the address of the moment. A page of another origin still reads nothing.
#[tokio::test]
async fn probes_are_answered_by_any_host() {
    let world = World::new();
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(get(&world, path, &[("host", "10.1.2.3:8081")]).await.status(), StatusCode::OK, "{path}");
        let page = get(&world, path, &[("host", "10.1.2.3:8081"), ("origin", "https://evil.example")]).await;
        assert_eq!(page.status(), StatusCode::FORBIDDEN, "{path}");
        assert!(!page.headers().contains_key("access-control-allow-origin"), "{path}");
    }
}

#[test]
fn the_admin_listener_answers_to_its_address() {
    let hosts = |address: &str| {
        let guard = Guard { hosts: vec!["admin.example.com".to_owned()], origins: vec![] };
        guard.for_admin(address.parse().unwrap()).hosts
    };
    let named = ["admin.example.com", "localhost", "127.0.0.1", "[::1]"];
    assert_eq!(hosts("0.0.0.0"), named);
    assert_eq!(hosts("10.1.2.3"), [&named[..], &["10.1.2.3"]].concat());
    assert_eq!(hosts("fd00::1"), [&named[..], &["[fd00::1]"]].concat());
}
