//! Who is accepted, and how a peer is found again.

use super::*;
use crate::peers::Skew;

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_of_another_cluster_is_refused() {
    let one = end(|o| Options { cluster: "cluster-2".to_owned(), ..o }, 1, echo()).await;
    let two = end(|o| o, 2, echo()).await;
    one.peers.put(2, &two.address.to_string());
    refused(&one.peers, 2, "refused: it is of cluster \"cluster-2\", and this node of \"cluster-1\"").await;
    let unreached = ask(&one.peers, 2, CATALOG, b"x").await.unwrap_err();
    assert!(!unreached.sent && unreached.why.contains("refused: it is of cluster"), "{unreached}");
    let unknown = ask(&one.peers, 9, CATALOG, b"x").await.unwrap_err();
    assert_eq!(unknown.to_string(), "node 9 was not reached: it is not in the address book");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_another_number_is_refused() {
    let (one, two) = (end(|o| o, 1, echo()).await, end(|o| o, 2, echo()).await);
    one.peers.put(3, &two.address.to_string());
    refused(&one.peers, 3, "refused: it looks for node 3, and this is node 2").await;
    let own = end(|o| o, 1, echo()).await;
    one.peers.put(2, &own.address.to_string());
    refused(&one.peers, 2, "refused: it looks for node 2, and this is node 1").await;
    // A node is no peer of itself.
    one.peers.put(1, &own.address.to_string());
    assert_eq!(one.peers.stats().peers.len(), 2);
    one.peers.remove(3);
    assert_eq!(one.peers.stats().peers.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_moved_is_found_by_its_hello() {
    let (one, two) = (end(|o| o, 1, echo()).await, end(|o| o, 2, echo()).await);
    one.peers.put(2, &two.address.to_string());
    two.peers.put(1, &one.address.to_string());
    connected(&one.peers, 2).await;
    connected(&two.peers, 1).await;
    let before = two.address;
    drop(two);
    eventually("lost", || disconnected(&one.peers, 2)).await;
    let two = end(|o| o, 2, echo()).await;
    assert_ne!(two.address, before);
    two.peers.put(1, &one.address.to_string());
    connected(&one.peers, 2).await;
    let stats = one.peers.stats().peers.remove(0);
    assert_eq!((stats.address, stats.connects), (two.address.to_string(), 2));
    // And by the address book.
    drop(two.listening);
    let three = end(|o| o, 3, echo()).await;
    one.peers.put(3, "127.0.0.1:1");
    refused(&one.peers, 3, "refused").await;
    one.peers.put(3, &three.address.to_string());
    connected(&one.peers, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peers_clock_is_compared_with_this_one() {
    let clock = |ms: i64| Arc::new(Clock::test(Timestamp(1_800_000_000_000 + ms)));
    let one = end(|o| Options { clock: clock(0), ..o }, 1, echo()).await;
    let two = end(|o| Options { clock: clock(2000), ..o }, 2, echo()).await;
    one.peers.put(2, &two.address.to_string());
    two.peers.put(1, &one.address.to_string());
    let skew = |peers: &Peers, peer| peers.skews().get(&peer).copied();
    // Nobody asks anything: an idle link compares clocks too.
    let ahead = eventually("the skew of node 2", || skew(&one.peers, 2)).await;
    assert_eq!(ahead, Skew { ahead_ms: 2000, round_trip_ms: 0 });
    let behind = eventually("the skew of node 1", || skew(&two.peers, 1)).await;
    assert_eq!(behind, Skew { ahead_ms: -2000, round_trip_ms: 0 });

    // Two clocks of this machine, over a real round trip.
    let system = || Arc::new(Clock::system());
    let three = end(|o| Options { clock: system(), ..o }, 3, echo()).await;
    let four = end(|o| Options { clock: system(), ..o }, 4, echo()).await;
    three.peers.put(4, &four.address.to_string());
    let none = eventually("the skew of node 4", || skew(&three.peers, 4)).await;
    assert!(none.ahead_ms.abs() <= none.round_trip_ms / 2 + 1, "{none:?}");
}
