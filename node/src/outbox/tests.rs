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
    let answer = move |count, _: &str| {
        if count <= refusals { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::NO_CONTENT }
    };
    receiver_that(answer).await
}

/// A receiver that answers by how many posts it has seen and what is in this one.
async fn receiver_that(answer: impl Fn(usize, &str) -> StatusCode + Clone + Send + Sync + 'static) -> (String, Seen) {
    let seen = Seen::default();
    let take = async move |State(seen): State<Seen>, headers: HeaderMap, body: String| {
        let mut seen = seen.lock().unwrap();
        let status = answer(seen.len() + 1, &body);
        seen.push((headers, body));
        status
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
            at: Timestamp(1_700_000_000_000),
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
    groups.read(GroupId::Shard(0), |state, _| read::outbox(state, 0, 20_000).unwrap().len()).await.unwrap()
}

fn webhook(url: &str) -> Destination {
    Destination::Webhook(Webhook::new(url, SECRET).unwrap())
}

const QUICK: Pauses = (Duration::from_millis(5), Duration::from_millis(10));

/// Works the outbox off until `rows` are left.
async fn until(groups: &MemoryGroups, outbox: &mut Outbox<'_, MemoryGroups>, rows: usize) {
    let done = async {
        while left(groups).await > rows {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), async {
        tokio::select! { () = outbox.run(|_| true) => {}, () = done => {} }
    })
    .await
    .unwrap();
}

/// The figures as `/metrics` writes them.
fn shown(figures: &Figures) -> String {
    let mut registry = prometheus_client::registry::Registry::default();
    registry.register_collector(Box::new(figures.clone()));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}

#[tokio::test]
async fn posts_are_signed_and_repeated_until_taken() {
    let (url, seen) = receiver(2).await;
    let groups = groups(2);
    let (destination, figures) = (webhook(&url), Figures::default());
    until(&groups, &mut Outbox::new(&groups, 0, &destination, &figures, QUICK), 0).await;

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
    let (groups, destination, figures) = (groups(3), webhook(&url), Figures::default());
    let mut outbox = Outbox::new(&groups, 0, &destination, &figures, (Duration::ZERO, Duration::ZERO));
    assert_eq!(outbox.turn().await, Ok(true));
    assert_eq!(left(&groups).await, 1);
    assert_eq!(outbox.turn().await, Ok(true));
    assert_eq!((left(&groups).await, outbox.turn().await), (0, Ok(false)));
}

/// More rows than a batch that a receiver will never take are passed over, and tried again at their own pace.
#[tokio::test]
async fn refused_rows_hold_up_no_other() {
    let good = |body: &str| body.contains(r#""step":"s61""#);
    let answer = move |_, body: &str| if good(body) { StatusCode::NO_CONTENT } else { StatusCode::BAD_REQUEST };
    let (url, seen) = receiver_that(answer).await;
    let (groups, destination, figures) = (groups(61), webhook(&url), Figures::default());
    let mut outbox = Outbox::new(&groups, 0, &destination, &figures, (Duration::from_mins(1), Duration::from_mins(1)));
    until(&groups, &mut outbox, 60).await;
    assert_eq!(seen.lock().unwrap().len(), 61, "each once: a refused row waits");
    outbox.look().await.unwrap();
    let text = shown(&figures);
    for line in ["outbox_rows{group=\"0\"} 60", "notifications_sent_total 1", "notifications_failed_total 60"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    assert!(!text.contains("outbox_oldest_age_seconds{group=\"0\"} 0\n"), "{text}");
}

/// A receiver that is away is not asked for each row, and gets every row once it is back.
#[tokio::test]
async fn a_receiver_that_takes_nothing_is_left_alone() {
    let back = |count| if count > 3 { StatusCode::NO_CONTENT } else { StatusCode::SERVICE_UNAVAILABLE };
    let (url, seen) = receiver_that(move |count, _| back(count)).await;
    let (groups, destination, figures) = (groups(40), webhook(&url), Figures::default());
    let mut outbox = Outbox::new(&groups, 0, &destination, &figures, QUICK);
    assert_eq!(outbox.turn().await, Ok(false));
    assert_eq!(seen.lock().unwrap().len(), 1, "the first 503 ends the batch");
    until(&groups, &mut outbox, 0).await;
    assert_eq!(seen.lock().unwrap().len(), 43);
}

#[tokio::test]
async fn an_unreachable_receiver_keeps_the_rows() {
    // Port 9 of loopback: nothing listens there.
    let (groups, destination, figures) = (groups(1), webhook("http://127.0.0.1:9/"), Figures::default());
    let mut outbox = Outbox::new(&groups, 0, &destination, &figures, QUICK);
    assert_eq!(outbox.turn().await, Ok(false));
    assert_eq!(left(&groups).await, 1);
}

/// Of more rows than there may be, the oldest go to the log.
#[tokio::test]
async fn an_outbox_has_a_bound_and_drops_nothing_in_silence() {
    let rows = u64::try_from(ROWS_MAX).unwrap() + 3;
    let (groups, destination, figures) = (groups(rows), webhook("http://127.0.0.1:9/"), Figures::default());
    let mut outbox = Outbox::new(&groups, 0, &destination, &figures, (Duration::from_mins(1), Duration::from_mins(1)));
    for _ in 0..=rows / u64::try_from(READ_ROWS_MAX).unwrap() {
        outbox.turn().await.unwrap();
    }
    let first = groups.read(GroupId::Shard(0), |state, _| read::outbox(state, 0, 1).unwrap()[0].0).await.unwrap();
    assert_eq!((left(&groups).await, first), (ROWS_MAX, 4));
    assert!(shown(&figures).contains("notifications_dropped_total 3"), "{}", shown(&figures));
}

/// A new leader starts from the rows, whatever it knew before.
#[tokio::test]
async fn who_no_longer_leads_forgets_and_tells_nothing() {
    let (groups, destination, figures) = (groups(2), webhook("http://127.0.0.1:9/"), Figures::default());
    let mut outbox = Outbox::new(&groups, 0, &destination, &figures, QUICK);
    outbox.turn().await.unwrap();
    assert!(shown(&figures).contains("outbox_rows{group=\"0\"} 2"), "{}", shown(&figures));
    drop(tokio::time::timeout(Duration::from_millis(50), outbox.run(|_| false)).await);
    assert_eq!((outbox.queue.len(), outbox.queue.next()), (0, 0));
    assert!(!shown(&figures).contains("group=\"0\""), "{}", shown(&figures));
}
