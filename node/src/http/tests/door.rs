//! Who gets in: tokens, hosts, origins, metadata, and files by signed address (AUTH-401, FILE-URL).

use super::*;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","arguments":{}}}"#;

#[tokio::test]
async fn no_token_and_bad_tokens_are_401_and_strangers_403() {
    let server = Server::start().await;
    let post = || server.request(Method::POST, "/mcp").header("content-type", "application/json").body(CALL);
    let metadata = format!("Bearer resource_metadata=\"{PUBLIC_URL}/.well-known/oauth-protected-resource/mcp\"");
    let agent = server.agent();
    let expired = |seconds| {
        let who = DevIdentity::Agent("a1".to_owned());
        let ttl = Duration::from_secs(seconds);
        server
            .issuer
            .token(&DevToken { who, organization: "demo".into(), groups: vec![], operator: false, ttl })
            .unwrap()
    };
    let cut = agent[..agent.len() - 9].to_owned();
    for (what, header, error) in [
        ("nothing", None, false),
        ("another scheme", Some("Basic YTpi".to_owned()), false),
        ("no token", Some("Bearer".to_owned()), false),
        ("a bad token", Some("Bearer abc".to_owned()), true),
        ("a cut token", Some(format!("Bearer {cut}")), true),
    ] {
        let request = match header {
            Some(header) => post().header("authorization", header),
            None => post(),
        };
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401, "{what}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.starts_with(&metadata), "{what}: {challenge}");
        assert_eq!(challenge.contains("error=\"invalid_token\""), error, "{what}: {challenge}");
    }
    let two = post().header("authorization", format!("Bearer {agent}")).header("authorization", "Bearer x");
    assert_eq!(two.send().await.unwrap().status(), 401, "two tokens are none");
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(server.request(method, "/mcp").send().await.unwrap().status(), 401);
    }
    assert_eq!(
        post().header("authorization", format!("bearer {}", expired(0))).send().await.unwrap().status(),
        200,
        "within leeway"
    );

    let who = DevIdentity::Agent("server".to_owned());
    let stranger = post().bearer_auth(server.token(who)).send().await.unwrap();
    assert_eq!(stranger.status(), 403);
    assert!(stranger.headers().get("www-authenticate").is_none());
    let (_, body) = read(stranger).await;
    assert_eq!(at(&body, "error_description").as_str(), Some("the bearer of this token is not a member here"));
    let metrics = server.metrics();
    assert!(metrics.contains(r#"quorate_auth_refusals_total{reason="no identity"} 1"#), "{metrics}");
    assert!(metrics.contains(r#"quorate_auth_refusals_total{reason="malformed"} 2"#), "{metrics}");

    let human = post().bearer_auth(server.token(DevIdentity::Human("mira@example.com".into()))).send().await.unwrap();
    let (_, answer) = read(human).await;
    assert_eq!(at(&answer, "result.structuredContent.data.kind").as_str(), Some("human"), "{answer}");
}

#[tokio::test]
async fn metadata_names_the_resource_and_its_issuers() {
    let server = Server::start().await;
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let (status, metadata) = read(server.request(Method::GET, path).send().await.unwrap()).await;
        assert_eq!(status, 200);
        assert_eq!(at(&metadata, "resource").as_str(), Some("https://quorate.example.com/mcp"));
        assert_eq!(at(&metadata, "authorization_servers.0").as_str(), Some("https://login.example.com/"));
        assert_eq!(at(&metadata, "bearer_methods_supported.0").as_str(), Some("header"));
    }
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused() {
    let server = Server::start().await;
    let port = server.base.rsplit(':').next().unwrap().to_owned();
    for (host, status) in [
        (format!("localhost:{port}"), 200),
        ("LOCALHOST".to_owned(), 200),
        (format!("127.0.0.1:{port}"), 200),
        ("[::1]:80".to_owned(), 200),
        ("evil.example.com".to_owned(), 403),
        ("127.0.0.1.evil.example.com".to_owned(), 403),
        ("localhost@evil.example.com".to_owned(), 403),
    ] {
        let response = server.post("2025-11-25", CALL).header("host", &host).send().await.unwrap();
        assert_eq!(response.status(), status, "{host}");
    }
    for (origin, status) in [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1", 200),
        ("https://localhost:3000", 403),
        ("http://localhost.evil.example.com", 403),
        ("http://localhost:3000.evil.example.com", 403),
        ("http://localhost:", 403),
        ("https://evil.example.com", 403),
        ("null", 403),
    ] {
        let response = server.post("2025-11-25", CALL).header("origin", origin).send().await.unwrap();
        assert_eq!(response.status(), status, "{origin}");
        let allowed = response.headers().get("access-control-allow-origin").is_some();
        assert_eq!(allowed, status == 200, "{origin}");
    }
    let preflight = |origin: &str| {
        let request = server.request(Method::OPTIONS, "/mcp").header("origin", origin);
        let request = request.header("access-control-request-method", "POST");
        request.header("access-control-request-headers", "authorization,mcp-protocol-version").send()
    };
    let response = preflight("http://localhost:3000").await.unwrap();
    assert_eq!(response.status(), 204);
    assert_eq!(response.headers()["access-control-allow-methods"], "GET, POST, PUT");
    assert_eq!(response.headers()["access-control-allow-headers"], "authorization,mcp-protocol-version");
    assert_eq!(preflight("https://evil.example.com").await.unwrap().status(), 403);
    let file = server.request(Method::GET, "/files/f_1?s=1").header("host", "evil.example.com").send().await.unwrap();
    assert_eq!(file.status(), 403);
}

/// The SDK by itself answers to names of this machine only, and to every origin.
#[tokio::test]
async fn a_public_server_answers_to_its_names_alone() {
    let guard =
        Guard { hosts: vec!["quorate.example.com".to_owned()], origins: vec!["https://app.example.com".to_owned()] };
    let server = Server::start_as(Limits::default(), guard, UPLOAD_BYTES_MAX).await;
    for (host, origin, status) in [
        ("quorate.example.com", None, 200),
        ("quorate.example.com:8443", None, 200),
        ("Quorate.Example.Com", Some("https://app.example.com"), 200),
        ("quorate.example.com", Some("https://evil.example.com"), 403),
        ("quorate.example.com", Some("http://localhost:3000"), 403),
        ("localhost", None, 403),
        ("other.example.com", None, 403),
    ] {
        for version in ["2025-06-18", "2025-11-25"] {
            let request = server.post(version, CALL).header("host", host);
            let request = match origin {
                Some(origin) => request.header("origin", origin),
                None => request,
            };
            assert_eq!(request.send().await.unwrap().status(), status, "{version} {host} {origin:?}");
        }
    }
}

#[tokio::test]
async fn files_come_as_attachments_and_never_tell_what_exists() {
    let server = Server::start().await;
    let get = async |path: &str| server.request(Method::GET, path).send().await.unwrap();
    let page = get("/files/f_1?s=1").await;
    let header = |name: &str| page.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(page.status(), 200);
    assert_eq!(header("content-type"), "text/html");
    assert_eq!(header("content-disposition"), r#"attachment; filename="p_ge.html"; filename*=UTF-8''p%C3%A4ge.html"#);
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("content-security-policy"), "default-src 'none'; sandbox");
    assert_eq!(page.bytes().await.unwrap(), "<script>1</script>");
    let odd = get("/files/f_2?s=1").await;
    assert_eq!(odd.headers()["content-type"], "application/octet-stream");
    assert_eq!(odd.bytes().await.unwrap().as_ref(), [0, 255]);

    let (unsigned, missing) = (get("/files/f_1?s=2").await, get("/files/f_4?s=1").await);
    assert_eq!((unsigned.status().as_u16(), missing.status().as_u16()), (404, 404));
    assert_eq!(unsigned.text().await.unwrap(), missing.text().await.unwrap());
    for (path, status) in [
        ("/files/f_3?s=1", 403),
        ("/files/f_5?s=1", 500),
        ("/files/f_6?s=1", 503),
        ("/files/f_1", 404),
        ("/files/", 404),
        ("/nothing", 404),
    ] {
        let response = get(path).await;
        assert_eq!(response.status(), status, "{path}");
        assert!(!response.text().await.unwrap().contains("secret"));
    }
}

#[tokio::test]
async fn each_request_has_an_id() {
    let server = Server::start().await;
    let get = |id: &str| server.request(Method::GET, "/nothing").header("x-request-id", id.to_owned()).send();
    let id = |response: Response| response.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert_eq!(id(get("trace-1.a:b_c").await.unwrap()), "trace-1.a:b_c");
    for odd in ["", "a b", "a\"b", &"x".repeat(129)] {
        let given = id(get(odd).await.unwrap());
        assert_eq!(given.len(), 36, "a new one instead of {odd:?}: {given}");
    }
}
