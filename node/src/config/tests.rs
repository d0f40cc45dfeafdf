#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use super::{Config, LogFormat, Read};

const GOOD: &str = r"
data_dir: /var/lib/quorate
public_url: https://quorate.example.com
operator_group: process-operators
auth:
  issuers:
    - issuer: https://login.example.com/
      audience: [https://quorate.example.com/mcp]
      jwks_url: https://login.example.com/jwks
      algorithms: [RS256]
      identities:
        - name: people
          kind: human
          clients: { pointer: /azp, one_of: [portal] }
          organization: { value: acme }
          id: { pointer: /sub }
          groups: { pointer: /groups }
          operator_group: process-operators
";

fn read(text: &str, environment: &[(&str, &str)]) -> Read {
    let file = std::env::temp_dir().join(format!("quorate-config-{}.yaml", uuid::Uuid::new_v4()));
    std::fs::write(&file, text).unwrap();
    let environment: BTreeMap<_, _> = environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let read = Config::read(Some(&file), &environment);
    std::fs::remove_file(&file).unwrap();
    read
}

fn places(read: &Read) -> Vec<&str> {
    read.faults.iter().map(|fault| fault.place.as_str()).collect()
}

#[test]
fn good_settings_have_no_faults() {
    let read = read(GOOD, &[]);
    assert_eq!((read.faults, read.warnings), (vec![], vec![]));
    let config = read.config.unwrap();
    assert_eq!((config.shards, config.lease_s, config.log.format), (8, 600, LogFormat::Json));
}

#[test]
fn the_environment_lies_over_the_file() {
    let environment = [
        ("QUORATE_LEASE_S", "60"),
        ("QUORATE_LOG__FORMAT", "text"),
        ("QUORATE_ALLOWED_HOSTS", "[a.example, b.example]"),
        ("QUORATE_OPERATOR_GROUP", "123"),
        ("QUORATE_PORT", "tcp://10.0.0.1:80"),
        ("QUORATE_CACHE", "/tmp"),
        ("QUORATE_HOOK_KEY", "0123456789abcdef"),
        ("QUORATE_NOTIFICATIONS__WEBHOOK_URL", "https://hooks.example.com/q"),
        ("QUORATE_NOTIFICATIONS__SECRET_ENV", "QUORATE_HOOK_KEY"),
    ];
    let read = read(GOOD, &environment);
    assert_eq!(read.faults, vec![]);
    let warned: Vec<_> = read.warnings.iter().map(|w| w.place.as_str()).collect();
    assert_eq!(warned, ["QUORATE_PORT", "operator_group"]);
    let config = read.config.unwrap();
    assert_eq!((config.lease_s, config.log.format), (60, LogFormat::Text));
    assert_eq!(config.allowed_hosts, ["a.example", "b.example"]);
    assert_eq!(config.operator_group, "123");
}

#[test]
fn all_faults_come_at_once() {
    let text = "
lease_s: soon
shards: 0
retention: 3
listen: nowhere
allowed_origins: [app.example.com]
log: { format: xml }
notifications: { webhook_url: 'ftp://x' }
auth:
  issuers:
    - issuer: https://login.example.com/
      algorithms: [HS256]
      jwks_url: https://login.example.com/jwks
      identities:
        - { name: people, kind: robot, organization: { value: a }, id: { pointer: sub }, extra: 1 }
        - name: agents
";
    let read = read(text, &[]);
    assert!(read.config.is_none());
    let expected = [
        "allowed_origins[0]",
        "auth.issuers[0].algorithms[0]",
        "auth.issuers[0].audience",
        "auth.issuers[0].identities[0].extra",
        "auth.issuers[0].identities[0].id.pointer",
        "auth.issuers[0].identities[0].kind",
        "auth.issuers[0].identities[1].id",
        "auth.issuers[0].identities[1].kind",
        "auth.issuers[0].identities[1].organization",
        "data_dir",
        "lease_s",
        "listen",
        "log.format",
        "notifications.secret_env",
        "notifications.webhook_url",
        "public_url",
        "retention",
        "shards",
    ];
    assert_eq!(places(&read), expected, "{:#?}", read.faults);
    let mended = |place: &str, how| {
        let fault = read.faults.iter().find(|fault| fault.place == place).unwrap();
        assert!(fault.message.contains(how), "{fault}");
    };
    mended("listen", "such as 127.0.0.1:8080");
    mended("lease_s", "write a whole number");
}

#[test]
fn an_address_that_clients_would_double_is_doubtful() {
    let read = read(&GOOD.replace("https://quorate.example.com\n", "https://quorate.example.com/mcp\n"), &[]);
    assert_eq!(read.warnings.iter().map(|w| w.place.as_str()).collect::<Vec<_>>(), ["public_url"]);
}

#[test]
fn an_administration_that_listens_everywhere_needs_names() {
    let warned = |more: &str| {
        let read = read(&format!("{GOOD}\n{more}"), &[]);
        assert_eq!(read.faults, vec![]);
        read.warnings.into_iter().map(|w| w.place).collect::<Vec<_>>()
    };
    assert_eq!(warned("admin_listen: 0.0.0.0:8081"), ["admin_listen", "allowed_hosts"]);
    assert_eq!(warned("admin_listen: 0.0.0.0:8081\nallowed_hosts: [admin.example.com]"), ["admin_listen"]);
    assert_eq!(warned("admin_listen: 10.1.2.3:8081"), ["admin_listen"]);
}

#[test]
fn unreadable_files_are_one_fault() {
    assert_eq!(read("a: [", &[]).faults.len(), 1);
    assert_eq!(read("- a", &[]).faults.len(), 1);
    assert!(read("a: 1\na: 2", &[]).config.is_none());
    assert!(!read("a: 1\na: 2", &[]).faults[0].message.contains("Options"));
    assert!(read("shards: 1\n\"shards\": 2", &[]).faults.iter().any(|fault| fault.message.contains("uplicate")));
    // Settings are an operator's own; all the same, no file ends the process or takes its memory.
    let wide = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), vec!["*a"; 20_000].join(", "));
    for hostile in ["- ".repeat(10_000), "[".repeat(100_000), "a:\n".to_owned() + &"- ".repeat(100_000), wide] {
        assert!(read(&hostile, &[]).config.is_none());
    }
    assert_eq!(Config::read(Some("/nowhere/at/all".as_ref()), &BTreeMap::new()).faults.len(), 1);
}

/// Whoever lets a node in lets it read what every organization has.
#[test]
fn the_nodes_are_one_organizations_to_run() {
    let cluster = "cluster: { listen: \"127.0.0.1:7000\", bootstrap_expect: 3, join: [\"b:7000\"], insecure: true";
    let faults = |auth: &str, more: &str| {
        let faults = read(&format!("{auth}\n{cluster}{more} }}"), &[]).faults;
        faults.into_iter().map(|fault| fault.place).collect::<Vec<_>>()
    };
    let several = GOOD.replace("{ value: acme }", "{ pointer: /org }");
    assert_eq!(faults(GOOD, ""), Vec::<String>::new(), "there is one");
    assert_eq!(faults(&several, ""), ["cluster.operated_by"]);
    assert_eq!(faults(&several, ", operated_by: acme"), Vec::<String>::new());
}

#[test]
fn replicas_are_odd_and_zones_have_plain_names() {
    let faults = |more: &str| {
        let cluster = "cluster: { listen: \"127.0.0.1:7000\", bootstrap_expect: 3, join: [\"b:7000\"], insecure: true";
        let faults = read(&format!("{GOOD}\n{cluster}, {more} }}"), &[]).faults;
        faults.into_iter().map(|fault| fault.place).collect::<Vec<_>>()
    };
    assert_eq!(faults("zone: eu-1.a, replication_factor: 5"), Vec::<String>::new());
    assert_eq!(faults("replication_factor: 4"), ["cluster.replication_factor"]);
    assert_eq!(faults("replication_factor: 9, zone: \"\""), ["cluster.replication_factor", "cluster.zone"]);
    assert_eq!(faults("zone: a b"), ["cluster.zone"]);
}
