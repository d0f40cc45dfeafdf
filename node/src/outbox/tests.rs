#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Mutex;

use agentprocess::json::Value;
use agentprocess::time::Timestamp;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use hmac::{Hmac, KeyInit, Mac};
use quorate_proto::{RunId, Unique};
use quorate_statemachine::shard::keys::Key;
use quorate_statemachine::store::{Memory, Store};
use sha2::Sha256;

use super::*;
use crate::clock::Clock;
use crate::memory::MemoryGroups;

const SECRET: &[u8] = b"0123456789abcdef";

type Seen = Arc<Mutex<Vec<(HeaderMap, String)>>>;

/// A receiver that refuses the first `refusals` posts.
async fn receiver(refusals: usize) -> (String, Seen) {
    let seen = Seen::default();
    let take = async move |State(seen): State<Seen>, headers: HeaderMap, body: String| {
        let mut seen = seen.lock().unwrap();
        seen.push((headers, body));
        if seen.len() <= refusals { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::NO_CONTENT }
    };
    let router = Router::new().route("/hook", post(take)).with_state(Arc::clone(&seen));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, seen)
}

/// Groups with `count` notifications in shard 0.
fn groups(count: u64) -> MemoryGroups {
    let groups = MemoryGroups::new(1, Arc::new(Clock::system()));
    let mut store = Memory::default();
    for sequence in 1..=count {
        let notification = Notification {
            kind: "step_overdue".to_owned(),
            at: Timestamp(1_800_000_000_000),
            org: "demo".to_owned(),
            run: RunId(Unique { shard: 0, random: [7; 10] }),
            process: "p".to_owned(),
            step: format!("s{sequence}"),
            groups: vec!["g_ops".to_owned()],
            people: vec![],
            details: Value::Null,
        };
        store.put(Key::Outbox { sequence }.encode(), quorate_proto::codec::encode(&notification));
    }
    groups.set_state(GroupId::Shard(0), store);
    groups
}

async fn left(groups: &MemoryGroups) -> usize {
    groups.read(GroupId::Shard(0), |state, _| read::outbox(state, 0, 100).unwrap().len()).await.unwrap()
}

#[tokio::test]
async fn posts_are_signed_and_repeated_until_taken() {
    let (url, seen) = receiver(2).await;
    let groups = groups(2);
    let destination = Destination::Webhook(Webhook::new(&url, SECRET).unwrap());
    let quick = Backoff::new((Duration::from_millis(5), Duration::from_millis(10)));
    let work = run_shard(&groups, 0, &destination, |_| true, quick);
    let done = async {
        while left(&groups).await > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), async {
        tokio::select! { () = work => {}, () = done => {} }
    })
    .await
    .unwrap();

    let seen = seen.lock().unwrap();
    let ids: Vec<_> = seen.iter().map(|(headers, _)| headers["x-quorate-id"].to_str().unwrap()).collect();
    assert_eq!(ids, ["n_0_1", "n_0_2", "n_0_1", "n_0_2"], "a repetition bears the same id");
    for (headers, body) in seen.iter() {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET).unwrap();
        mac.update(format!("{}.{body}", headers["x-quorate-timestamp"].to_str().unwrap()).as_bytes());
        let sent = headers["x-quorate-signature"].to_str().unwrap().strip_prefix("sha256=").unwrap();
        let byte = |at: usize| u8::from_str_radix(&sent[at..at + 2], 16).unwrap();
        let sent: Vec<u8> = (0..sent.len()).step_by(2).map(byte).collect();
        mac.verify_slice(&sent).unwrap();
        assert!(body.contains(r#""kind":"step_overdue""#) && body.contains(r#""organization":"demo""#), "{body}");
    }
}

#[tokio::test]
async fn what_was_taken_is_acknowledged_when_another_fails() {
    let (url, _) = receiver(1).await;
    let groups = groups(3);
    let destination = Destination::Webhook(Webhook::new(&url, SECRET).unwrap());
    assert!(send_batch(&groups, 0, &destination).await.is_err());
    assert_eq!(left(&groups).await, 1);
    assert_eq!(send_batch(&groups, 0, &destination).await, Ok(1));
    assert_eq!(send_batch(&groups, 0, &Destination::Log).await, Ok(0));
}

#[tokio::test]
async fn an_unreachable_receiver_keeps_the_rows() {
    let groups = groups(1);
    // Port 9 of loopback: nothing listens there.
    let destination = Destination::Webhook(Webhook::new("http://127.0.0.1:9/", SECRET).unwrap());
    assert!(send_batch(&groups, 0, &destination).await.is_err());
    assert_eq!(left(&groups).await, 1);
}
