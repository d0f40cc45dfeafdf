//! A disk that is full, on a file system of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::*;
use crate::cluster::PATIENCE;

/// A small file system in memory, until this is dropped.
struct Disk(PathBuf);

impl Disk {
    /// Needs the right to mount; nothing without it.
    fn mount(folder: &Path, mebibytes: u32) -> Option<Self> {
        std::fs::create_dir_all(folder).unwrap();
        let size = format!("size={mebibytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).output();
        mounted.is_ok_and(|done| done.status.success()).then(|| Self(folder.to_owned()))
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Leaves so many bytes.
    fn fill(&self, leave: u64) {
        let ballast = std::fs::File::create(self.ballast()).unwrap();
        let free = rustix::fs::statvfs(&self.0).unwrap();
        let length = (free.f_bavail * free.f_frsize).saturating_sub(leave);
        rustix::fs::fallocate(&ballast, rustix::fs::FallocateFlags::empty(), 0, length).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").args(["-l"]).arg(&self.0).status());
    }
}

impl Cluster {
    /// Changes a node's settings.
    fn change(&self, number: usize, change: impl FnOnce(&mut Value)) {
        let place = self.folder.0.join(format!("node-{number}.yaml"));
        let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&place).unwrap()).unwrap();
        change(&mut settings);
        std::fs::write(place, settings.to_string()).unwrap();
    }

    async fn readiness(&self, number: usize) -> String {
        let client = quorate::http::client::client(Duration::from_secs(5)).unwrap();
        match client.get(format!("{}/readyz", self.url(number, 1))).send().await {
            Ok(said) => said.text().await.unwrap(),
            Err(_) => String::new(),
        }
    }

    async fn says(&self, number: usize, words: &str) -> String {
        let begun = Instant::now();
        loop {
            let said = self.readiness(number).await;
            if said.contains(words) {
                return said;
            }
            assert!(begun.elapsed() < PATIENCE, "{said}: {}", self.told(number));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// The disk of one node gets full, first to its watermark and then wholly, and space comes back: calls go on through the
/// other nodes all the time, and nobody mends anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_on_one_node_stops_that_node_alone_and_space_mends_it() {
    let mut cluster = Cluster::new(3);
    let Some(disk) = Disk::mount(&cluster.folder.0.join("node-0"), 256) else {
        eprintln!("skipped: a file system cannot be mounted here (it takes root, or CAP_SYS_ADMIN)");
        return;
    };
    for number in 0..3 {
        cluster.change(number, |settings| settings["watch"] = json!({ "disk_free_bytes_min": 32 << 20 }));
    }
    let (operator, agent) = cluster.serve(3).await;
    let first = begin(&cluster, 0, &agent, "one").await;

    // To the watermark: it hands over and says why. Runs begin through it, too, since others lead.
    disk.fill(20 << 20);
    let why = cluster.says(0, "its disk has").await;
    assert!(why.contains("MiB left, less than the 32 that are asked for"), "{why}");
    let begun = Instant::now();
    let leads = async || {
        let status = cluster.status(1, &operator).await;
        let nodes = status["nodes"].as_array().unwrap().clone();
        let low: Vec<_> = nodes
            .into_iter()
            .filter(|node| node["diskFreeBytes"].as_u64().is_some_and(|free| free <= 20 << 20))
            .collect();
        assert!(low.len() == 1 && low[0]["state"] == "not_ready", "{status}");
        low[0]["leads"].as_u64().unwrap()
    };
    while leads().await > 0 {
        assert!(begun.elapsed() < PATIENCE, "it still leads: {}", cluster.told(0));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    begin(&cluster, 0, &agent, "two").await;

    // Wholly: its store fails once what it had reserved is used up, and it ends. Not one call fails at the others.
    disk.fill(0);
    let mut node = cluster.nodes[0].take().unwrap();
    let mut calls = 0;
    let ended = tokio::task::spawn_blocking(move || (node.end(), node.told()));
    while !ended.is_finished() {
        let (node, request) = (1 + calls % 2, format!("full-{calls}"));
        begin(&cluster, node, &agent, &request).await;
        let upload = json!({
            "fileName": "f", "contentType": "text/plain", "contentBase64": "A".repeat(2 << 20), "requestId": format!("file-{calls}"),
        });
        let said = cluster.tool(node, &agent, "upload", upload).await;
        assert!(said["data"]["id"].is_string(), "{said}");
        calls += 1;
    }
    let (status, told) = ended.await.unwrap();
    assert_eq!(status, Some(1), "{told}");
    assert!(told.contains("the store failed, start again:") && told.contains("No space left on device"), "{told}");

    // Whoever supervises it starts it again: it waits for space, and then takes its place.
    cluster.start(0);
    let waits = cluster.says(0, "space").await;
    assert!(waits.contains("MiB are left on the disk of") && waits.contains("16 are needed"), "{waits}");
    std::fs::remove_file(disk.ballast()).unwrap();
    cluster.ready(0).await;
    let run = cluster.tool(0, &agent, "get_run", json!({ "runId": first })).await;
    assert_eq!(run["data"]["run"]["id"], json!(first), "{run}");
    begin(&cluster, 0, &agent, "three").await;
    // It counts again: one of the others may go.
    cluster.kill(1);
    begin(&cluster, 0, &agent, "four").await;
    cluster.kill(0);
    cluster.kill(2);
}
