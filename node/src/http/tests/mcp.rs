//! MCP messages of both eras, and exact JSON through all of it (ERR-ENVELOPE, NUM-EXACT, JSON-DUP, JSON-LIMITS).

use super::*;

/// Revisions that begin with `initialize`, and the one that carries metadata in each request.
const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

fn call(tool: &str, arguments: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#)
}

fn modern_call(tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"{tool}",{META},"arguments":{arguments}}}}}"#
    )
}

impl Server {
    async fn modern(&self, method: &str, name: Option<&str>, body: String) -> (StatusCode, Value) {
        let mut request = self.post(MODERN, body).header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        read(request.send().await.unwrap()).await
    }
}

#[tokio::test]
async fn every_revision_without_a_session() {
    let server = Server::start().await;
    for version in HANDSHAKE {
        let initialize = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
        );
        let response = server.post(version, initialize).send().await.unwrap();
        assert!(response.headers().get("mcp-session-id").is_none());
        let (status, answer) = read(response).await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!(at(&answer, "result.protocolVersion").as_str(), Some(version));
        assert_eq!(at(&answer, "result.serverInfo.name").as_str(), Some("quorate"));
        assert!(at(&answer, "result.instructions").as_str().unwrap().contains("get_work"));
        let (status, _) = server.send(version, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        assert_eq!(status, 202);
        let (_, answer) = server.send(version, call("who", "{}")).await;
        assert_eq!(at(&answer, "result.structuredContent.data.id").as_str(), Some("a1"), "{answer}");
        assert!(at(&answer, "result.isError").is_null() && at(&answer, "result.resultType").is_null());
    }
    let discover = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{META}}}}}"#);
    let (status, answer) = server.modern("server/discover", None, discover).await;
    assert_eq!(status, 200, "{answer}");
    assert!(at(&answer, "result.supportedVersions").to_string().contains(MODERN), "{answer}");
    let (status, answer) = server.modern("tools/call", Some("who"), modern_call("who", "{}")).await;
    assert_eq!((status.as_u16(), at(&answer, "id").as_str()), (200, Some("x")), "{answer}");
    assert_eq!(at(&answer, "result.structuredContent.data.org").as_str(), Some("demo"));
    assert_eq!(at(&answer, "result.resultType").as_str(), Some("complete"));

    // A session id from elsewhere, and no version at all, change nothing.
    let old = server.post("2025-11-25", call("who", "{}"));
    let modern = server.post(MODERN, modern_call("who", "{}")).header("mcp-method", "tools/call");
    for request in [old, modern.header("mcp-name", "who")] {
        let response = request.header("mcp-session-id", "made-up").send().await.unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap();
        assert_eq!((response.status().as_u16(), kind), (200, "application/json"));
    }
    let bare = server.request(Method::POST, "/mcp").bearer_auth(server.agent());
    let bare = bare.header("content-type", "application/json").body(call("who", "{}"));
    assert_eq!(bare.send().await.unwrap().status(), 200, "no Accept and no version");
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let request = server.request(method.clone(), "/mcp").bearer_auth(server.agent());
        let response = request.header("accept", "text/event-stream").send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["allow"]),
            (405, &"POST".parse().unwrap()),
            "{method}"
        );
    }
    let (status, _) = server.send("1999-01-01", call("who", "{}")).await;
    assert_eq!(status, 400, "an unknown revision");
}

#[tokio::test]
async fn tools_are_listed_with_schemas_and_hints() {
    let server = Server::start().await;
    let (_, answer) = server.send("2025-11-25", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let tools = at(&answer, "result.tools").as_array().unwrap();
    assert_eq!(tools.len(), 6);
    for (tool, reads) in tools.iter().zip([true, true, false, false, false, false]) {
        assert_eq!(at(tool, "inputSchema.type").as_str(), Some("object"));
        assert_eq!(at(tool, "outputSchema.type").as_str(), Some("object"));
        assert!(at(tool, "outputSchema.$id").is_null() && at(tool, "inputSchema.$schema").is_null());
        assert_eq!(at(tool, "annotations.readOnlyHint").as_bool(), Some(reads));
        assert_eq!(at(tool, "annotations.idempotentHint").as_bool(), Some(true));
        assert_eq!(at(tool, "annotations.openWorldHint").as_bool(), Some(false));
    }
}

#[tokio::test]
async fn numbers_and_texts_pass_digit_for_digit() {
    let server = Server::start().await;
    for arguments in [
        r#"{"n":12345678901234567890.5,"e":1e3,"z":-0,"one":1.0,"t":0.1000000000000000000001}"#,
        r#"{"$serde_json::private::Number":"1e999"}"#,
        r#"{"$serde_json::private::RawValue":"[1"}"#,
        "{\"z\":\"\\u0000é\\\"\\\\\\n\u{2028}\",\"a\":[null,true,{},[]]}",
    ] {
        let modern = server.modern("tools/call", Some("echo"), modern_call("echo", arguments)).await;
        for (_, answer) in [server.send("2025-11-25", call("echo", arguments)).await, modern] {
            let data = at(&answer, "result.structuredContent.data");
            assert_eq!(data.to_string(), parse(arguments.as_bytes(), 9).unwrap().to_string());
            let blocks = at(&answer, "result.content").as_array().unwrap();
            assert_eq!(blocks.len(), 1);
            let text = at(&blocks[0], "text").as_str().unwrap();
            assert_eq!(text, at(&answer, "result.structuredContent").to_string(), "the same in both places");
        }
    }
}

#[tokio::test]
async fn unacceptable_arguments_get_our_envelope_not_the_sdks_error() {
    let server = Server::start().await;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(120), "}".repeat(120));
    let very_deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for arguments in
        [r#"{"a":1,"a":1}"#, r#"{"o":{"k":1,"\u006b":2}}"#, r#"{"a":"\udc00"}"#, r#"{"a":1e10000}"#, &deep, &very_deep]
    {
        for version in ["2025-06-18", "2025-11-25"] {
            let (status, answer) = server.send(version, call("echo", arguments)).await;
            let code = at(&answer, "result.structuredContent.error.code").as_str();
            assert_eq!((status.as_u16(), code), (200, Some("invalid")), "{answer}");
            assert_eq!(at(&answer, "id").as_u64(), Some(7));
            assert!(at(&answer, "result.isError").is_null());
        }
        let (_, answer) = server.modern("tools/call", Some("echo"), modern_call("echo", arguments)).await;
        assert_eq!(at(&answer, "result.structuredContent.error.code").as_str(), Some("invalid"));
    }
}

#[tokio::test]
async fn bad_messages_are_protocol_errors() {
    let server = Server::start().await;
    for (body, status, code) in [
        ("not json".to_owned(), 400, "-32700"),
        ("[".repeat(100_000), 400, "-32600"),
        (format!("[{}]", call("who", "{}")), 400, "-32600"),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), 400, "-32600"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#.to_owned(), 400, "-32602"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","name":"echo"}}"#.to_owned(),
            400,
            "-32602",
        ),
        (call("no_such_tool", "{}"), 200, "-32602"),
        (call("no_such_tool", r#"{"a":1,"a":1}"#), 200, "-32602"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#.to_owned(), 200, "-32601"),
    ] {
        let (got, answer) = server.send("2025-11-25", body.as_str()).await;
        let shown = body.chars().take(80).collect::<String>();
        assert_eq!((got.as_u16(), at(&answer, "error.code").to_string().as_str()), (status, code), "{shown}: {answer}");
    }
    let text = server.request(Method::POST, "/mcp").bearer_auth(server.agent()).body(call("who", "{}"));
    let text = text.header("content-type", "text/plain");
    assert_eq!(text.send().await.unwrap().status(), 415);
}

#[tokio::test]
async fn a_body_has_a_limit_with_and_without_a_stated_length() {
    let server = Server::start().await;
    let limit = usize::try_from(UPLOAD_BYTES_MAX * 4 / 3 + (1 << 20)).unwrap();
    let body = |bytes: usize| {
        let empty = call("echo", r#"{"a":""}"#);
        let text = "x".repeat(bytes - empty.len());
        call("echo", &format!(r#"{{"a":"{text}"}}"#))
    };
    assert_eq!(server.send("2025-11-25", body(limit)).await.0, 200);
    // A call is answered as such, whether or not its length is stated: the client has sent all of it, and reads on.
    for bytes in [limit + 1, 3 * limit, 4 * limit] {
        let chunked = server.post("2025-11-25", "").body(reqwest::Body::wrap(Chunks(body(bytes))));
        let chunked = read(chunked.send().await.unwrap()).await;
        for (status, answer) in [server.send("2025-11-25", body(bytes)).await, chunked] {
            assert_eq!((status.as_u16(), at(&answer, "id").as_u64()), (200, Some(7)), "{answer}");
            let error = at(&answer, "result.structuredContent.error");
            assert_eq!(at(error, "code").as_str(), Some("invalid"));
            assert_eq!(at(error, "issues.0").as_str(), Some("echo: too large"));
        }
        let name = r#""name":"echo""#;
        let modern = body(bytes - META.len() - 1).replacen(name, &format!("{name},{META}"), 1);
        let (_, answer) = server.modern("tools/call", Some("echo"), modern).await;
        assert_eq!(at(&answer, "result.structuredContent.error.code").as_str(), Some("invalid"), "{answer}");
    }
    let unknown = body(limit + 100).replacen("echo", "none", 1);
    assert_eq!(at(&server.send("2025-11-25", unknown).await.1, "error.code").to_string(), "-32602");
    // What is no call, and what is beyond all bounds, is the transport's to refuse.
    let other = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(limit));
    let (status, answer) = server.send("2025-11-25", other).await;
    assert_eq!((status.as_u16(), at(&answer, "error.code").to_string().as_str()), (413, "-32600"));
    let chunked = server.post("2025-11-25", "").body(reqwest::Body::wrap(Chunks(body(4 * limit + 1))));
    assert!(chunked.send().await.is_ok_and(|answer| answer.status() == 413));
}

/// The SDK has a limit of 4 MiB of its own. Ours is the only one, for messages of every kind.
#[tokio::test]
async fn a_body_may_be_as_large_as_uploads_need() {
    let server = Server::start_as(Limits::default(), Guard::loopback(), 6 << 20).await;
    let text = "x".repeat(6 << 20);
    let (status, answer) = server.send("2025-11-25", call("echo", &format!(r#"{{"a":"{text}"}}"#))).await;
    assert_eq!(status, 200);
    assert_eq!(at(&answer, "result.structuredContent.data.a").as_str().map(str::len), Some(text.len()));
    let list = |pad: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"pad":"{pad}"}}}}}}"#)
    };
    let (status, answer) = server.send("2025-11-25", list(&text)).await;
    assert_eq!((status.as_u16(), at(&answer, "result.tools").as_array().map(<[Value]>::len)), (200, Some(6)));
    let (status, answer) = server.send("2025-11-25", list(&"x".repeat(10 << 20))).await;
    assert_eq!(status, 413);
    assert!(at(&answer, "error.message").as_str().unwrap().contains("at most 9437184 bytes"), "{answer}");
}

/// A text in pieces, so that its length is not stated.
struct Chunks(String);

impl hyper::body::Body for Chunks {
    type Data = axum::body::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        let length = self.0.len().min(10_000);
        let rest = self.0.split_off(length);
        let piece = std::mem::replace(&mut self.0, rest);
        std::task::Poll::Ready((length > 0).then(|| Ok(hyper::body::Frame::data(piece.into()))))
    }
}

#[tokio::test]
async fn a_call_that_breaks_says_nothing_of_the_inside() {
    let server = Server::start().await;
    let request = server.post("2025-11-25", call("panic", "{}")).header("x-request-id", "trace-1");
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["x-request-id"], "trace-1");
    let (status, answer) = read(response).await;
    assert_eq!((status.as_u16(), at(&answer, "error.code").to_string().as_str()), (500, "-32603"));
    assert!(answer.to_string().contains("trace-1") && !answer.to_string().contains("secret"), "{answer}");
    server.send("2025-11-25", call("refuse", "{}")).await;
    server.send("2025-11-25", call("who", "{}")).await;
    let metrics = server.metrics();
    for line in [
        r#"quorate_tool_calls_total{tool="panic",outcome="internal"} 1"#,
        r#"quorate_tool_calls_total{tool="refuse",outcome="stale"} 1"#,
        r#"quorate_tool_calls_total{tool="who",outcome="ok"} 1"#,
        r#"quorate_tool_call_duration_seconds_count{tool="who"} 1"#,
        r#"quorate_http_requests_total{route="/mcp",status="200"} 2"#,
        r#"quorate_http_requests_total{route="/mcp",status="500"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} not in\n{metrics}");
    }
}
