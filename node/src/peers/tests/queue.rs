//! What waits goes together, within bounds.

use super::super::limits::{BATCH_BYTES_MAX, QUEUE_BODIES_MAX, QUEUE_BYTES_MAX};
use super::super::outgoing::{Full, Outgoing};

#[tokio::test]
async fn everything_that_waits_goes_together_up_to_a_size() {
    let queue = Outgoing::new();
    for body in 0..3 {
        queue.push(1, body).unwrap();
    }
    assert_eq!(queue.take(|_| true).await, Some(vec![0, 1, 2]));
    queue.push(BATCH_BYTES_MAX - 1, 3).unwrap();
    queue.push(1, 4).unwrap();
    queue.push(BATCH_BYTES_MAX + 1, 5).unwrap();
    queue.push(1, 6).unwrap();
    assert_eq!(queue.take(|_| true).await, Some(vec![3, 4]));
    assert_eq!(queue.take(|_| true).await, Some(vec![5]), "one that is too large for company goes alone");
    assert_eq!(queue.take(|body| *body != 6).await, Some(vec![]), "nobody waits for it any more");
    queue.touch();
    assert_eq!(queue.take(|_| true).await, Some(vec![]));
}

#[tokio::test]
async fn who_runs_in_the_same_turn_is_in_the_same_message() {
    let queue = std::sync::Arc::new(Outgoing::new());
    let taking = {
        let queue = std::sync::Arc::clone(&queue);
        tokio::spawn(async move { queue.take(|_| true).await })
    };
    tokio::task::yield_now().await;
    let asking: Vec<_> = (0..8)
        .map(|body| {
            let queue = std::sync::Arc::clone(&queue);
            tokio::spawn(async move { queue.push(1, body).unwrap() })
        })
        .collect();
    for asking in asking {
        asking.await.unwrap();
    }
    assert_eq!(taking.await.unwrap().unwrap(), (0..8).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_full_queue_says_so_at_once() {
    let queue = Outgoing::new();
    queue.push(QUEUE_BYTES_MAX, 0).unwrap();
    assert_eq!((queue.push(1, 1), queue.bytes()), (Err(Full), QUEUE_BYTES_MAX));
    assert_eq!(queue.take(|_| true).await, Some(vec![0]));
    for body in 0..QUEUE_BODIES_MAX {
        queue.push(0, body).unwrap();
    }
    assert_eq!(queue.push(0, 1), Err(Full));
    queue.close();
    assert_eq!((queue.push(0, 1), queue.take(|_| true).await), (Err(Full), None));
}
