//! Requests over links that are slow, full, or cut.

use std::sync::Mutex;
use std::time::Instant;

use futures_util::future::join_all;

use super::super::limits::{BODY_BYTES_MAX, GROUP_REQUESTS_MAX};
use super::proxy::Proxy;
use super::*;

const SLOW: GroupId = GroupId::Shard(0);
const QUICK: GroupId = GroupId::Shard(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_group_does_not_block_another() {
    let (one, _two) = pair(stubborn()).await;
    let slow: Vec<_> = (0..GROUP_REQUESTS_MAX).map(|_| one.peers.call(2, SLOW, b"!".to_vec())).collect();
    let full = ask(&one.peers, 2, SLOW, b"!").await.unwrap_err();
    assert!(!full.sent && full.why == "4096 requests to this group of it wait for a response", "{full}");
    let quick = (0..1000_u32).map(|n| ask_number(&one.peers, n));
    assert_eq!(join_all(quick).await, (0..1000).collect::<Vec<_>>());
    assert_eq!(one.peers.stats().peers[0].open_requests, GROUP_REQUESTS_MAX);
    // Who gives up leaves room.
    drop(slow);
    assert_eq!(one.peers.stats().peers[0].open_requests, 0);
    assert_eq!(ask(&one.peers, 2, SLOW, b"x").await.unwrap(), b"x");
    let stats = one.peers.stats().peers.remove(0);
    assert!(stats.sent_bytes > 4000 && stats.received_bytes > 4000 && stats.waiting_bytes == 0, "{stats:?}");
}

async fn ask_number(peers: &Peers, number: u32) -> u32 {
    let answer = ask(peers, 2, QUICK, &number.to_be_bytes()).await.unwrap();
    u32::from_be_bytes(answer.try_into().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_arrive_in_the_order_of_their_calls() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let (one, _two) = pair(Arc::new(move |_, body: Vec<u8>| {
        note.lock().unwrap().push(u32::from_be_bytes(body.clone().try_into().unwrap()));
        Box::pin(std::future::ready(body))
    }))
    .await;
    for round in 0..5 {
        let calls: Vec<_> = (0..3000_u32).map(|n| one.peers.call(2, QUICK, n.to_be_bytes().to_vec())).collect();
        assert!(join_all(calls).await.iter().all(Result::is_ok), "round {round}");
        let mut seen = seen.lock().unwrap();
        assert!(seen.iter().copied().eq(0..3000), "round {round}");
        seen.clear();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_fails_when_the_link_breaks() {
    let (one, two) = pair(stubborn()).await;
    let open = one.peers.call(2, SLOW, b"!".to_vec());
    assert_eq!(ask(&one.peers, 2, QUICK, b"x").await.unwrap(), b"x");
    let (address, began) = (two.address, Instant::now());
    drop(two);
    let unreached = open.await.unwrap_err();
    assert!(unreached.sent && unreached.peer == 2, "{unreached}");
    assert!(began.elapsed() < Duration::from_secs(5), "it hung for {:?}", began.elapsed());
    let later = ask(&one.peers, 2, SLOW, b"x").await.unwrap_err();
    assert!(!later.sent, "{later}");

    // It comes back at the same place, and is found without being asked for.
    let listener = TcpListener::bind(address).await.unwrap();
    let peers = Peers::new(options(2, &address.to_string())).unwrap();
    let _listening = peers.listen(listener, echo());
    connected(&one.peers, 2).await;
    assert_eq!(ask(&one.peers, 2, SLOW, b"!").await.unwrap(), b"!");
    assert_eq!(one.peers.stats().peers[0].connects, 2);
}

/// Nothing says that a link is cut: it is noticed, in either direction, and another peer is not held up.
#[tokio::test(flavor = "multi_thread")]
async fn a_silently_cut_link_is_noticed() {
    let (one, two, three) = (end(|o| o, 1, echo()).await, end(|o| o, 2, echo()).await, end(|o| o, 3, echo()).await);
    let proxy = Proxy::start(two.address).await;
    one.peers.put(2, &proxy.address.to_string());
    one.peers.put(3, &three.address.to_string());
    connected(&one.peers, 3).await;
    for (there, back) in [(false, false), (false, true), (true, false)] {
        connected(&one.peers, 2).await;
        assert_eq!(ask(&one.peers, 2, QUICK, b"x").await.unwrap(), b"x");
        proxy.pass(there, back);
        let began = Instant::now();
        let cut = one.peers.call(2, QUICK, vec![7; 1 << 20]);
        for _ in 0..100 {
            assert_eq!(ask(&one.peers, 3, QUICK, b"y").await.unwrap(), b"y");
        }
        let unreached = tokio::time::timeout(LIMIT, cut).await.unwrap().unwrap_err();
        assert!(unreached.sent, "{unreached}");
        let noticed = began.elapsed();
        assert!(noticed < Duration::from_secs(4), "cut {there} {back}: noticed after {noticed:?}");
        proxy.pass(true, true);
    }
    connected(&one.peers, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused_clearly() {
    let (one, _two) = pair(Arc::new(|_, body: Vec<u8>| {
        // Asked with one byte, it says too much.
        Box::pin(async move { if body.len() == 1 { vec![0; BODY_BYTES_MAX + 1] } else { body } })
    }))
    .await;
    let large = vec![3; BODY_BYTES_MAX];
    assert!(ask(&one.peers, 2, QUICK, &large).await.unwrap() == large);
    let over = ask(&one.peers, 2, QUICK, &vec![3; BODY_BYTES_MAX + 1]).await.unwrap_err();
    assert!(!over.sent, "{over}");
    assert_eq!(over.why, "the request has 18874369 bytes, more than the 18874368 that one may have");
    let over = ask(&one.peers, 2, QUICK, b"x").await.unwrap_err();
    assert!(over.sent && over.why == "the response has 18874369 bytes, more than 18874368", "{over}");
    // The stream goes on.
    assert_eq!(ask(&one.peers, 2, QUICK, b"xy").await.unwrap(), b"xy");
    assert_eq!(one.peers.stats().peers[0].connects, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_defect_of_the_other_side_is_an_unknown_outcome() {
    let (one, two) = pair(Arc::new(|_, body: Vec<u8>| {
        Box::pin(async move {
            assert!(body != b"!", "a defect");
            body
        })
    }))
    .await;
    let failed = ask(&one.peers, 2, QUICK, b"!").await.unwrap_err();
    assert!(failed.sent && failed.why.contains("a defect, see its log"), "{failed}");
    assert_eq!(ask(&one.peers, 2, QUICK, b"x").await.unwrap(), b"x");
    assert_eq!(two.peers.stats().serving, 0);
}
