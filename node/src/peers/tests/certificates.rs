//! Both ends show a certificate of the cluster's authority, and a replaced one is used without a restart.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::*;
use crate::peers::TlsFiles;

/// An authority.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }
}

/// A folder with a node's files.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("quorate-peers-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> TlsFiles {
        let [certificate, key, authority] = ["node.pem", "node.key", "ca.pem"].map(|name| self.0.join(name));
        TlsFiles { certificate, key, authority }
    }

    /// A new certificate for a host, signed by one authority, for a node that trusts another.
    fn certify(&self, host: &str, signed_by: &Authority, trusts: &Authority) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &signed_by.issuer).unwrap();
        let files = self.files();
        std::fs::write(files.certificate, certificate.pem()).unwrap();
        std::fs::write(files.key, key.serialize_pem()).unwrap();
        std::fs::write(files.authority, &trusts.pem).unwrap();
    }
}

async fn secure(node: u64, folder: &Folder) -> End {
    end(|o| Options { security: Security::Tls(folder.files()), ..o }, node, echo()).await
}

/// Makes node 1 connect to node 2 anew, wherever that listens now. Returns how often it was connected before.
async fn relisten(one: &End, two: &mut End) -> u64 {
    let before = one.peers.stats().peers[0].connects;
    let (listener, address) = bind().await;
    two.listening = two.peers.listen(listener, echo());
    one.peers.put(2, &address.to_string());
    before
}

#[tokio::test(flavor = "multi_thread")]
async fn both_ends_are_certified() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let folders = [(); 4].map(|()| Folder::new());
    folders[0].certify("127.0.0.1", &ours, &ours);
    folders[1].certify("127.0.0.1", &ours, &ours);
    // It shows a certificate that nobody here knows; and it trusts an authority that nobody here has.
    folders[2].certify("127.0.0.1", &theirs, &ours);
    folders[3].certify("127.0.0.1", &ours, &theirs);
    let [one, two, stranger, distrustful] = [
        secure(1, &folders[0]).await,
        secure(2, &folders[1]).await,
        secure(3, &folders[2]).await,
        secure(4, &folders[3]).await,
    ];
    for end in [&one, &stranger, &distrustful] {
        end.peers.put(2, &two.address.to_string());
    }
    one.peers.put(3, &stranger.address.to_string());
    connected(&one.peers, 2).await;
    assert_eq!(ask(&one.peers, 2, CATALOG, b"x").await.unwrap(), b"x");
    refused(&stranger.peers, 2, "UnknownCA").await;
    refused(&distrustful.peers, 2, "UnknownIssuer").await;
    refused(&one.peers, 3, "UnknownIssuer").await;

    // Who speaks plainly is not listened to, and a secure node does not speak plainly.
    let plain = end(|o| o, 5, echo()).await;
    plain.peers.put(2, &two.address.to_string());
    one.peers.put(5, &plain.address.to_string());
    eventually("a reason", || disconnected(&plain.peers, 2).filter(|why| why != "not connected yet")).await;
    eventually("a reason", || disconnected(&one.peers, 5).filter(|why| why != "not connected yet")).await;
    connected(&one.peers, 2).await;
    assert_eq!(plain.peers.stats().peers[0].connects + one.peers.stats().peers[2].connects, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_certificate_is_used_by_new_connections() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let folders = [(); 2].map(|()| Folder::new());
    folders[0].certify("127.0.0.1", &ours, &ours);
    folders[1].certify("elsewhere.example", &ours, &ours);
    let (one, mut two) = (secure(1, &folders[0]).await, secure(2, &folders[1]).await);
    one.peers.put(2, &two.address.to_string());
    refused(&one.peers, 2, "not valid for name \"127.0.0.1\"").await;
    // The side that is connected to reads it anew.
    folders[1].certify("127.0.0.1", &ours, &ours);
    connected(&one.peers, 2).await;
    // The side that connects, too. What is connected goes on.
    folders[0].certify("127.0.0.1", &theirs, &ours);
    assert_eq!(ask(&one.peers, 2, CATALOG, b"x").await.unwrap(), b"x");
    relisten(&one, &mut two).await;
    refused(&one.peers, 2, "UnknownCA").await;
    // And the authority.
    folders[1].certify("127.0.0.1", &ours, &theirs);
    connected(&one.peers, 2).await;
    // A file that says nothing sensible changes nothing.
    std::fs::write(folders[0].files().key, "no key").unwrap();
    std::fs::remove_file(folders[1].files().certificate).unwrap();
    let before = relisten(&one, &mut two).await;
    eventually("connected anew", || (one.peers.stats().peers[0].connects > before).then_some(())).await;
    connected(&one.peers, 2).await;
    assert_eq!(ask(&one.peers, 2, CATALOG, b"x").await.unwrap(), b"x");
}

#[tokio::test]
async fn unusable_files_are_named() {
    let (folder, ours) = (Folder::new(), Authority::new("ours"));
    let open = || {
        let options = Options { security: Security::Tls(folder.files()), ..options(1, "") };
        Peers::new(options).err().unwrap().to_string()
    };
    assert!(open().contains("node.pem: "), "{}", open());
    folder.certify("127.0.0.1", &ours, &ours);
    std::fs::write(folder.files().authority, "").unwrap();
    assert!(open().ends_with("ca.pem: holds no certificate"), "{}", open());
    folder.certify("127.0.0.1", &ours, &ours);
    std::fs::write(folder.files().key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert!(open().contains("node.pem: "), "a key of another certificate: {}", open());
}
