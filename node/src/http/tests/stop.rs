//! Calls end well: when the client goes away, and when the server stops.

use super::*;

const SLOW: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}"#;

#[tokio::test]
async fn a_call_finishes_when_its_client_goes_away() {
    let server = Server::start().await;
    let call = tokio::spawn(server.post("2025-11-25", SLOW).send());
    server.tools.begun.notified().await;
    call.abort();
    call.await.unwrap_err();
    // The connection is closed by now or soon; the call goes on either way.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(server.tools.finished.load(Ordering::SeqCst), 0);
    server.tools.go_on.notify_one();
    let finished = async {
        while server.tools.finished.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), finished).await.expect("the call finished");
}

#[tokio::test]
async fn a_stop_waits_for_what_is_in_flight_and_takes_nothing_new() {
    let mut server = Server::start().await;
    let call = tokio::spawn(server.post("2025-11-25", SLOW).send());
    server.tools.begun.notified().await;
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!server.ended.is_finished());
    let fresh = reqwest::Client::new().get(format!("{}/nothing", server.base)).send().await;
    assert!(fresh.is_err(), "no new connection");
    server.tools.go_on.notify_one();
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
    tokio::time::timeout(Duration::from_secs(5), server.ended).await.expect("stopped").unwrap();
}

#[tokio::test]
async fn operators_see_life_readiness_and_metrics() {
    let metrics = Arc::new(Metrics::default());
    let reasons = Arc::new(std::sync::Mutex::new(vec!["shard 3 has no leader".to_owned()]));
    let shown = Arc::clone(&reasons);
    let readiness: crate::http::health::Readiness = Arc::new(move || {
        let reasons = shown.lock().unwrap().clone();
        Box::pin(async move { reasons })
    });
    let router = crate::http::health::health(Arc::clone(&metrics), readiness);
    let get = async |path: &str| {
        let request = axum::extract::Request::get(path).body(axum::body::Body::empty()).unwrap();
        let response = tower::ServiceExt::oneshot(router.clone(), request).await.unwrap();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    assert_eq!(get("/livez").await, (200, "alive\n".to_owned()));
    assert_eq!(get("/readyz").await, (503, "shard 3 has no leader\n".to_owned()));
    reasons.lock().unwrap().clear();
    assert_eq!(get("/readyz").await, (200, "ready\n".to_owned()));
    let (status, text) = get("/metrics").await;
    assert!(
        status == 200 && text.contains("# TYPE quorate_http_connections gauge") && text.ends_with("# EOF\n"),
        "{text}"
    );
}
