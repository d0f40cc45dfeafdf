//! Calls end well: when the client goes away, and when the server stops.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const SLOW: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}"#;

impl Server {
    /// Waits until the slow call has reached its tool.
    async fn begun(&self) {
        tokio::time::timeout(Duration::from_secs(5), self.tools.begun.notified()).await.expect("the call begins");
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_answered_and_goes_on() {
    let server = Server::start().await;
    let (status, body) = server.send("2025-11-25", SLOW.replace("slow", "late")).await;
    let body = format!("{body:?}");
    assert!(status == 200 && body.contains("retry") && body.contains("late goes on"), "{body}");
    server.tools.go_on.notify_one();
    tokio::time::timeout(Duration::from_secs(5), async {
        while server.tools.finished.load(Ordering::SeqCst) < 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("it goes on to its end");
}

#[tokio::test]
async fn a_call_finishes_when_its_client_goes_away() {
    let mut server = Server::start().await;
    let call = tokio::spawn(server.post("2025-11-25", SLOW).send());
    server.begun().await;
    call.abort();
    call.await.unwrap_err();
    // The connection is closed by now or soon; the call goes on either way, and a stop waits for it.
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((server.tools.finished.load(Ordering::SeqCst), server.ended.is_finished()), (0, false));
    server.tools.go_on.notify_one();
    tokio::time::timeout(Duration::from_secs(5), server.ended).await.expect("stopped").unwrap();
    assert_eq!(server.tools.finished.load(Ordering::SeqCst), 1, "the call finished");
}

#[tokio::test]
async fn a_stop_waits_for_what_is_in_flight_and_takes_nothing_new() {
    let mut server = Server::start().await;
    let call = tokio::spawn(server.post("2025-11-25", SLOW).send());
    server.begun().await;
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
async fn a_stop_does_not_wait_for_ever() {
    let mut server = Server::start_with(Limits { stop_timeout: Duration::from_millis(200), ..Limits::default() }).await;
    let call = tokio::spawn(server.post("2025-11-25", SLOW).send());
    server.begun().await;
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(5), server.ended).await.expect("stopped").unwrap();
    call.abort();
}

#[tokio::test]
async fn a_connection_that_sends_no_head_is_closed() {
    let server = Server::start_with(Limits { head_timeout: Duration::from_millis(200), ..Limits::default() }).await;
    let address = server.base.strip_prefix("http://").unwrap();
    for begun in ["POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: ", "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"]
    {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut all)).await;
        closed.expect("closed").unwrap();
    }
}

#[tokio::test]
async fn an_accepted_socket_sends_small_answers_at_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let _client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let seats = Arc::new(tokio::sync::Semaphore::new(1));
    let (stream, _seat) = crate::http::serve::accept(&listener, &seats).await.unwrap();
    assert!(stream.nodelay().unwrap());
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_seat() {
    let server = Server::start_with(Limits { connections_max: 1, ..Limits::default() }).await;
    let address = server.base.strip_prefix("http://").unwrap();
    let request = b"GET /nothing HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut first = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut second = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut answer = [0; 12];
    first.write_all(request).await.unwrap();
    first.read_exact(&mut answer).await.unwrap();
    second.write_all(request).await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(200), second.read_exact(&mut answer)).await;
    assert!(early.is_err(), "the second connection waits");
    drop(first);
    tokio::time::timeout(Duration::from_secs(5), second.read_exact(&mut answer)).await.expect("served").unwrap();
    assert_eq!(&answer, b"HTTP/1.1 404");
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

/// Calls with large arguments wait for each other, small ones for nobody, and all are answered.
#[tokio::test]
async fn large_calls_wait_for_room() {
    let server = Arc::new(Server::start().await);
    // A call weighs 1.25 MB of the 8 MiB.
    let numbers = format!("[{}1]", "1,".repeat(500_000));
    let large = Arc::new(SLOW.replace("{}}}", &format!(r#"{{"n":{numbers}}}}}}}"#)));
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (server, large) = (Arc::clone(&server), Arc::clone(&large));
            tokio::spawn(async move { server.send("2025-11-25", large.as_str()).await.0 })
        })
        .collect();
    tokio::time::timeout(Duration::from_secs(9), async {
        while server.tools.slow.load(Ordering::SeqCst) < 6 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(server.tools.slow.load(Ordering::SeqCst), 6, "the others wait");
        server.tools.go_on.notify_one();
        while server.tools.slow.load(Ordering::SeqCst) < 7 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let small = SLOW.replace("slow", "echo");
        assert_eq!(server.send("2025-11-25", small).await.0, 200);
        while server.tools.finished.load(Ordering::SeqCst) < 8 {
            server.tools.go_on.notify_one();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("in time");
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
}
