//! A majority is lost for good.

use serde_json::Value;

use super::*;
use crate::binary::{http, run};
use crate::cluster::PATIENCE;

/// Two of three are lost with their disks. The last one refuses to go on alone while it could reach a majority, then does, with
/// what it had; and a new node joins it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_of_three_founds_a_cluster_of_one_with_what_it_had() {
    let mut cluster = Cluster::new(3);
    let (operator, agent) = cluster.serve(3).await;
    let mut runs = Vec::new();
    for request in 0..10 {
        runs.push(begin(&cluster, 0, &agent, &format!("run-{request}")).await);
    }
    let settings = cluster.folder.0.join("node-2.yaml");
    let yes = "--yes-lose-what-only-others-had";
    let recover =
        |more: &[&str]| run(&[&["cluster", "recover", "--config", settings.to_str().unwrap()], more].concat());

    let (status, _, err) = recover(&[yes]);
    assert!(status == 1 && err.contains("stop the node first"), "{err}");
    cluster.stop(2);
    let (status, _, err) = recover(&[yes]);
    assert!(status == 1 && err.contains("refused: with this node a majority of {1, 2, 3} is within reach"), "{err}");

    // The others are gone, with their disks.
    for number in 0..2 {
        cluster.kill(number);
        std::fs::remove_dir_all(cluster.folder.0.join(format!("node-{number}"))).unwrap();
    }
    let (status, said, err) = recover(&[]);
    assert!(status == 0 && said.contains("Nothing was changed"), "{said}{err}");
    assert!(said.contains("catalog") && said.contains("1, 2, 3"), "{said}");
    cluster.start(2);
    cluster.says_no_leader(2).await;
    cluster.kill(2);
    let (status, said, err) = recover(&[yes]);
    assert!(status == 0 && said.contains("is a cluster of its own now"), "{said}{err}");

    cluster.start(2);
    cluster.ready(2).await;
    for (request, run) in runs.iter().enumerate() {
        assert_eq!(begin(&cluster, 2, &agent, &format!("run-{request}")).await, *run, "request ids are remembered");
    }
    let new = begin(&cluster, 2, &agent, "new").await;
    // The lost ones leave one shard after the other.
    let begun = Instant::now();
    while cluster.status(2, &operator).await["nodes"].as_array().unwrap().len() > 1 {
        assert!(begun.elapsed() < PATIENCE, "{}", cluster.status(2, &operator).await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    // Another one joins.
    let url = format!("{}/admin/v1/cluster/join-tokens", cluster.url(2, 1));
    let (status, said) = http("POST", &url, &operator, r#"{"ttl":"5m"}"#).await;
    assert_eq!(status, 200, "{said}");
    let file = cluster.folder.file("join-token", said["token"].as_str().unwrap());
    let place = cluster.folder.0.join("node-0.yaml");
    let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&place).unwrap()).unwrap();
    settings["cluster"]["join_token_file"] = json!(file);
    std::fs::write(place, settings.to_string()).unwrap();
    cluster.start(0);
    cluster.ready(0).await;
    assert_eq!(begin(&cluster, 0, &agent, "new").await, new);
}

impl Cluster {
    async fn says_no_leader(&self, number: usize) {
        let begun = Instant::now();
        let client = quorate::http::client::client(Duration::from_secs(5)).unwrap();
        loop {
            let said = client.get(format!("{}/readyz", self.url(number, 1))).send().await;
            if let Ok(said) = said
                && said
                    .text()
                    .await
                    .is_ok_and(|text| text.contains("has not been compared") || text.contains("no leader"))
            {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{}", self.told(number));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
