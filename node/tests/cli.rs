//! The command line, run as its users run it.
#![cfg(all(feature = "http", feature = "rocks", unix, not(madsim)))]
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

#[path = "support/binary.rs"]
mod binary;

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use quorate::auth::dev::{DevIdentity, DevIssuer, DevToken};
use serde_json::{Value, json};

use binary::{Folder, Server, dev_json, http, quorate, run, tool};

const FILE: &str = "---\nname: p\ndescription: d\nsteps:\n  - { id: a, agent: do it, next: b }\n  - { id: b, approve: all well, person: lead, next: z }\n  - { id: z, finish: ok }\n---\n\nBody.\n";

fn token<'a>(dev: &'a Value, name: &str) -> &'a str {
    dev["tokens"][name].as_str().unwrap()
}

#[test]
fn config_check_explains_every_fault_at_once() {
    let folder = Folder::new();
    let bad = folder.file("bad.yaml", "shards: 0\nlease: 5\nauth: { issuers: [{ issuer: x }] }\n");
    let (status, out, err) = run(&["config", "check", "--config", bad.to_str().unwrap()]);
    assert_eq!((status, out.as_str()), (1, ""));
    for place in [
        "auth.issuers[0].algorithms",
        "auth.issuers[0].audience",
        "auth.issuers[0].identities",
        "data_dir",
        "lease",
        "public_url",
        "shards",
    ] {
        assert!(err.lines().any(|line| line.starts_with(&format!("{place}: "))), "{place} is not in\n{err}");
    }
    // The same faults keep serve from starting.
    let (status, _, same) = run(&["serve", "--config", bad.to_str().unwrap()]);
    assert_eq!((status, same), (1, err));
    let (status, _, _) = run(&["config", "check", "--config", "/nowhere.yaml"]);
    assert_eq!(status, 1);
}

#[test]
fn what_is_not_offered_yet_is_said() {
    let folder = Folder::new();
    let data = folder.0.to_str().unwrap();
    let (status, _, err) = run(&["dev", "--data", data, "--evaluator-url", "http://127.0.0.1:9"]);
    assert!(status == 1 && err.contains("--evaluator-url") && err.contains("not offered yet"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_serves_and_goes_on_after_a_restart() {
    let folder = Folder::new();
    let data = folder.0.join("data");
    let mut server = start(&data, &[]);
    let dev = dev_json(&data);
    let mode = std::fs::metadata(data.join("dev.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let keys: Vec<_> = dev.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["admin", "mcp", "organization", "tokens"]);
    let names: Vec<_> = dev["tokens"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["agent-1", "agent-2", "fin@example.com", "mira@example.com", "ops@example.com"]);
    assert_eq!(dev["organization"], "demo");
    assert!(server.told().contains(dev["mcp"][0].as_str().unwrap()), "{}", server.told());

    let listed = tool(&dev, token(&dev, "agent-1"), "list_processes", json!({})).await;
    assert_eq!(listed["data"]["items"].as_array().unwrap().len(), 6, "{listed}");
    let inputs = json!({ "vendorName": "Example Ltd", "amount": 5 });
    let start_run = json!({ "process": "supplier-onboarding", "inputs": inputs, "requestId": "one" });
    let run = tool(&dev, token(&dev, "mira@example.com"), "start_run", start_run.clone()).await;
    let id = run["data"]["run"]["id"].clone();
    assert!(id.is_string(), "{run}");
    server.signal("TERM");
    assert_eq!(server.end(), Some(0), "{}", server.told());

    let mut server = start(&data, &[]);
    let dev = dev_json(&data);
    let again = tool(&dev, token(&dev, "mira@example.com"), "start_run", start_run).await;
    assert_eq!(again["data"]["run"]["id"], id, "{again}");
    let listed = tool(&dev, token(&dev, "agent-1"), "list_processes", json!({})).await;
    assert!(listed["data"]["items"].as_array().unwrap().iter().all(|item| item["version"] == 1), "{listed}");
    server.signal("INT");
    assert_eq!(server.end(), Some(0), "{}", server.told());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_dev_leaves_the_first_alone() {
    let folder = Folder::new();
    let data = folder.0.join("data");
    let mut server = start(&data, &[]);
    let dev = dev_json(&data);
    // With one node, which has the store to itself, and with more, whose stores lie elsewhere.
    for nodes in ["1", "3"] {
        let second = ["dev", "--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--nodes", nodes];
        let (status, _, err) = run(&second);
        assert!(status == 1 && err.contains("in use by another quorate dev; stop that one"), "{err}");
    }
    assert_eq!(dev_json(&data), dev);
    assert_eq!(tool(&dev, token(&dev, "agent-1"), "describe", json!({})).await["ok"], true);
    // An address in use is told with what to do.
    let taken = dev["mcp"][0].as_str().unwrap().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let other = folder.0.join("other");
    let (status, _, err) = run(&["dev", "--data", other.to_str().unwrap(), "--listen", taken]);
    assert!(status == 1 && err.contains("choose another address with listen"), "{err}");
    server.signal("TERM");
    assert_eq!(server.end(), Some(0), "{}", server.told());
    assert!(server.told().contains("stopped"), "{}", server.told());
}

#[test]
fn tokens_need_a_development_server() {
    let folder = Folder::new();
    let nowhere = folder.0.join("nowhere");
    let (status, out, err) = run(&["token", "--data", nowhere.to_str().unwrap(), "--agent", "a"]);
    assert!(status == 1 && out.is_empty() && err.contains("is quorate dev running there?"), "{out}{err}");
    assert!(!nowhere.exists());
    assert_eq!(run(&["token", "--human", "nobody"]).0, 2);
}

fn start(data: &std::path::Path, more: &[&str]) -> Server {
    std::fs::create_dir_all(data).unwrap();
    Server::dev(data, more)
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_work_by_command() {
    let folder = Folder::new();
    let data = folder.0.join("data");
    let mut server = start(&data, &[]);
    let at = data.to_str().unwrap();
    let process = |arguments: &[&str]| {
        let mut all = vec!["process", "--data", at];
        all.extend(arguments);
        run(&all)
    };
    // A folder must bear the process's name; what else is in it is ignored with a warning.
    let wrong = folder.file("wrong/PROCESS.md", FILE);
    folder.file("p/PROCESS.md", FILE);
    folder.file("p/notes.txt", "");
    let (status, _, err) = process(&["import", wrong.parent().unwrap().to_str().unwrap()]);
    assert!(status == 1 && err.lines().next().unwrap().starts_with("name: folder is named wrong"), "{err}");
    let (status, out, err) = process(&["import", folder.0.join("p").to_str().unwrap()]);
    assert!(status == 0 && out.contains("--role lead=GROUP") && err.contains("warning: notes.txt"), "{out}{err}");
    let bad = folder.file("bad.md", "---\nname: Bad\nsteps: []\n---\n");
    let (status, _, err) = process(&["import", bad.to_str().unwrap()]);
    assert!(status == 1 && err.lines().count() >= 4, "each issue on its own line:\n{err}");

    // JSON-LIMITS: whatever its size, it is told and not a broken connection.
    for bytes in [(1 << 20) + 1, 100 << 20] {
        let large = folder.file("large.md", &format!("{FILE}{}", "x".repeat(bytes)));
        let (status, _, err) = process(&["import", large.to_str().unwrap()]);
        assert!(status == 1 && err.lines().any(|line| line == "file: larger than 1048576 bytes"), "{err}");
    }

    // By the hash that import told, and only the file that has it.
    let told = out.lines().find_map(|line| line.split_once("--hash ")).unwrap().1;
    let hash = told.split(' ').next().unwrap().to_owned();
    let other = folder.file("other.md", &FILE.replace("Body.", "Another body."));
    assert_eq!(process(&["import", other.to_str().unwrap()]).0, 0);
    let (status, _, err) = process(&["publish", "p", "--hash", &hash, "--role", "lead=g_finance"]);
    assert!(status == 1 && err.contains("is not the one you saw"), "{err}");
    assert!(!process(&["list"]).1.contains("p 1"));
    assert_eq!(process(&["import", folder.0.join("p").to_str().unwrap()]).0, 0);
    let (status, _, err) = process(&["publish", "p"]);
    assert!(status == 1 && err.lines().any(|line| line.starts_with("roles.lead: ")), "{err}");
    let (status, out, _) = process(&["publish", "p", "--hash", &hash, "--role", "lead=g_finance", "--json"]);
    let published: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, &published["version"]["version"], &published["created"]), (0, &json!(1), &json!(true)));
    assert_eq!(published["version"]["hash"], hash.as_str());
    let (status, out, _) = process(&["publish", "p", "--role", "lead=g_unknown"]);
    assert!(status == 0 && out.contains("has this content already"), "{out}");
    assert!(out.contains("quorate process map p --version 1 --role") && !out.contains("g_unknown"), "{out}");
    let (status, out, _) = process(&["import", folder.0.join("p").to_str().unwrap()]);
    assert!(status == 0 && out.contains("identical to version 1") && !out.contains("Next:"), "{out}");
    let (status, _, err) = process(&["publish", "p", "--role", "lead=g_x", "--role", "lead=g_y"]);
    assert!(status == 1 && err.contains("--role lead is given twice"), "{err}");
    assert_eq!(process(&["publish", "p", "--hash", "0000"]).0, 2);
    let (status, out, _) = process(&["publish", "nowhere", "--json"]);
    let refused: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, &refused["error"]["code"]), (1, &json!("not_found")));

    assert!(process(&["list"]).1.lines().any(|line| line == "p 1"));
    assert_eq!(process(&["show", "p", "--source", "1"]).1, FILE);
    assert!(process(&["map", "p", "--version", "1", "--role", "lead=g_ops"]).1.contains("role lead = g_ops"));
    assert!(process(&["retire", "p"]).1.contains("p is retired"));
    assert!(process(&["list"]).1.lines().any(|line| line == "p 1 retired"));
    assert!(process(&["restore", "p"]).1.contains("p is in use"));
    assert!(process(&["show", "p"]).1.contains(published["version"]["hash"].as_str().unwrap()));

    // What goes wrong says what to do next.
    let mcp = dev_json(&data)["mcp"][0].as_str().unwrap().to_owned();
    let file = folder.file("token", token(&dev_json(&data), "ops@example.com"));
    for (server, word) in [(mcp.as_str(), "(admin_listen)?"), ("http://127.0.0.1:9", "is the server running there?")] {
        let (status, _, err) = run(&["process", "list", "--server", server, "--token-file", file.to_str().unwrap()]);
        assert!(status == 1 && err.contains(word), "{err}");
    }
    let (status, _, err) = process(&["import", "/nowhere"]);
    assert!(status == 1 && err.contains("give a folder with PROCESS.md in it"), "{err}");

    // By address and token, as from another machine; an agent is refused.
    let dev = dev_json(&data);
    let server_url = dev["admin"][0].as_str().unwrap();
    for (name, status) in [("ops@example.com", 0), ("agent-1", 1)] {
        let file = folder.file("token", token(&dev, name));
        let (got, _, err) = run(&["process", "list", "--server", server_url, "--token-file", file.to_str().unwrap()]);
        assert_eq!(got, status, "{err}");
    }
    // The clock of a server without --test-clock is nobody's to move.
    let clock = format!("{server_url}/admin/v1/test/clock");
    assert_eq!(http("POST", &clock, token(&dev, "ops@example.com"), r#"{"advance":"1m"}"#).await.0, 404);
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_made_and_a_test_clock_stands() {
    let folder = Folder::new();
    let data = folder.0.join("data");
    let at = data.to_str().unwrap();
    let mut server = start(&data, &["--test-clock"]);
    let dev = dev_json(&data);
    let made = |arguments: &[&str]| {
        let mut all = vec!["token", "--data", at];
        all.extend(arguments);
        let (status, out, err) = run(&all);
        assert_eq!(status, 0, "{err}");
        out.trim().to_owned()
    };
    let agent = made(&["--agent", "agent-9"]);
    assert_eq!(tool(&dev, &agent, "list_processes", json!({})).await["ok"], true);
    // Another organization is empty, and its operator is one there.
    let boss = made(&["--human", "boss@example.com", "--operator", "--org", "other", "--groups", "a,b", "--ttl", "5m"]);
    assert_eq!(tool(&dev, &boss, "list_processes", json!({})).await["data"]["items"], json!([]));
    let admin = format!("{}/admin/v1", dev["admin"][0].as_str().unwrap());
    assert_eq!(http("GET", &format!("{admin}/processes"), &boss, "").await.1["items"], json!([]));
    assert_eq!(http("GET", &format!("{admin}/processes"), &agent, "").await.0, 403);
    assert_eq!(run(&["token", "--data", at, "--agent", "a", "--operator"]).0, 2, "an agent is never an operator");
    assert_eq!(run(&["token", "--data", at]).0, 2);

    let first = advance(&dev, "0m").await;
    assert_eq!(advance(&dev, "0m").await, first, "it stands");
    let later = advance(&dev, "10d").await;
    assert!(later > first);
    // A restart goes on where it stood.
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
    let _server = start(&data, &["--test-clock"]);
    assert_eq!(advance(&dev_json(&data), "0m").await, later);
}

/// Puts the test clock forward; where it stands then.
async fn advance(dev: &Value, span: &str) -> String {
    let url = format!("{}/admin/v1/test/clock", dev["admin"][0].as_str().unwrap());
    let (status, answer) =
        http("POST", &url, token(dev, "ops@example.com"), &json!({ "advance": span }).to_string()).await;
    assert_eq!(status, 200, "{answer}");
    answer["now"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_keeps_what_it_acknowledged() {
    let folder = Folder::new();
    let data = folder.0.join("data");
    let at = data.to_str().unwrap().to_owned();
    let mut server = start(&data, &[]);
    let file = folder.file("p.md", FILE);
    assert_eq!(run(&["process", "import", file.to_str().unwrap(), "--data", &at]).0, 0);
    assert_eq!(run(&["process", "publish", "p", "--role", "lead=g_finance", "--data", &at]).0, 0);
    server.signal("KILL");
    assert_eq!(server.end(), None);
    let _server = start(&data, &[]);
    assert!(run(&["process", "list", "--data", &at]).1.lines().any(|line| line == "p 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn serve_takes_its_settings_from_a_file() {
    let folder = Folder::new();
    let issuer = DevIssuer::open(&folder.0).unwrap();
    let (listen, admin) = (free(), free());
    let settings = json!({
        "data_dir": folder.0.join("data"), "listen": listen, "admin_listen": admin, "shards": 2, "lease_s": 77,
        "public_url": format!("http://{listen}"), "operator_group": "g_ops", "auth": issuer.config(),
        "organizations": { "acme": { "groups": ["g_known"] } }, "allowed_hosts": ["quorate.example.com"],
    });
    let file = folder.file("quorate.yaml", &settings.to_string());
    let (status, out, err) = run(&["config", "check", "--config", file.to_str().unwrap()]);
    assert!(status == 0 && out.contains("good"), "{out}{err}");
    let mut server = Server::start(&folder.0, &["serve", "--config", file.to_str().unwrap()]);
    let base = format!("http://{admin}");
    let begun = std::time::Instant::now();
    let client = quorate::http::client::client(Duration::from_secs(5)).unwrap();
    while !client.get(format!("{base}/readyz")).send().await.is_ok_and(|r| r.status().is_success()) {
        assert!(begun.elapsed() < Duration::from_mins(1), "{}", server.told());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let ops = issuer
        .token(&DevToken {
            who: DevIdentity::Human("ops@example.com".to_owned()),
            organization: "acme".to_owned(),
            groups: Vec::new(),
            operator: true,
            ttl: Duration::from_mins(5),
        })
        .unwrap();
    let dev = json!({ "mcp": [format!("http://{listen}/mcp")] });
    assert_eq!(tool(&dev, &ops, "describe", json!({})).await["data"]["leaseSeconds"], 77);
    assert_eq!(http("POST", &format!("{base}/admin/v1/drafts"), &ops, FILE).await.0, 200);
    let publish = format!("{base}/admin/v1/processes/p/publish");
    let (status, refused) = http("POST", &publish, &ops, r#"{"roles":{"lead":"g_other"}}"#).await;
    assert_eq!((status, &refused["error"]["code"]), (422, &json!("invalid")));
    assert_eq!(http("POST", &publish, &ops, r#"{"roles":{"lead":"g_known"}}"#).await.0, 200);
    assert_eq!(http("POST", &format!("{base}/admin/v1/test/clock"), &ops, r#"{"advance":"1m"}"#).await.0, 404);
    for path in ["livez", "metrics"] {
        assert!(client.get(format!("{base}/{path}")).send().await.unwrap().status().is_success());
    }
    // Without a token a known name is asked for one, and an unknown name is not served at all.
    for (host, status) in [("quorate.example.com", 401), ("127.0.0.1", 401), ("other.example.com", 403)] {
        let answer = client.post(format!("http://{listen}/mcp")).header("host", host).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{host}");
    }
    // Structured lines for machines.
    let line = server.told().lines().find(|line| line.contains("serving")).unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["message"], "serving");
    // A second one on the same folder is refused.
    let (status, _, err) = binary::ended(
        &quorate(&["serve", "--config", file.to_str().unwrap()])
            .env("QUORATE_LISTEN", "127.0.0.1:0")
            .env("QUORATE_ADMIN_LISTEN", "127.0.0.1:0")
            .output()
            .unwrap(),
    );
    assert!(status == 1 && err.contains("data folder"), "{err}");
    server.signal("TERM");
    assert_eq!(server.end(), Some(0), "{}", server.told());
}

/// An address that is free now.
fn free() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
