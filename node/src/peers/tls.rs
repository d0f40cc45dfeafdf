//! Certificates on both ends (mTLS), from files that may be replaced while the node runs.
//!
//! Each side's certificate must chain to the authority in the files. The side that connects also checks that the peer's
//! certificate is for the host of the address it connects to (a DNS name or an IP address among its subject alternative
//! names). A client's name is not checked: the authority must sign nodes of this cluster and nobody else. TLS 1.3 only.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::io::Io;

/// What is spoken inside.
const ALPN: &[u8] = b"h2";

/// Where a node's certificate is, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The node's certificate, then those between it and the authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificates of the authority that signs the nodes of this cluster; several while it is replaced.
    pub authority: PathBuf,
}

/// The files cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct TlsError {
    what: String,
    why: String,
}

/// What the files say, read anew for each connection.
pub(super) struct Tls {
    files: TlsFiles,
    last: Mutex<Loaded>,
}

#[derive(Clone)]
struct Loaded {
    bytes: [Vec<u8>; 3],
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Tls {
    pub(super) fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let last = Mutex::new(load(&files, read(&files)?)?);
        Ok(Self { files, last })
    }

    /// A connection to the host of an address.
    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> Result<Box<dyn Io>, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|e| format!("{host:?} cannot be certified: {e}"))?;
        let connector = TlsConnector::from(self.now().client);
        Ok(Box::new(connector.connect(name, stream).await.map_err(|e| e.to_string())?))
    }

    /// A connection from a peer.
    pub(super) async fn accept(&self, stream: TcpStream) -> Result<Box<dyn Io>, String> {
        let acceptor = TlsAcceptor::from(self.now().server);
        Ok(Box::new(acceptor.accept(stream).await.map_err(|e| e.to_string())?))
    }

    /// What the files say now; when they say nothing sensible (one is replaced before the other), what they said last.
    /// Three small files for each handshake: cheaper than the handshake, and no event of a file system is missed.
    fn now(&self) -> Loaded {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = read(&self.files)
            .and_then(|bytes| if bytes == last.bytes { Ok(None) } else { load(&self.files, bytes).map(Some) });
        match loaded {
            Ok(None) => {}
            Ok(Some(loaded)) => {
                tracing::info!(certificate = %self.files.certificate.display(), "the node's certificate was replaced");
                *last = loaded;
            }
            Err(e) => tracing::warn!(error = %e, "the node's certificate cannot be read: the last one goes on"),
        }
        last.clone()
    }
}

fn fault(what: &Path, why: impl std::fmt::Display) -> TlsError {
    TlsError { what: what.display().to_string(), why: why.to_string() }
}

fn read(files: &TlsFiles) -> Result<[Vec<u8>; 3], TlsError> {
    let read = |path: &Path| std::fs::read(path).map_err(|e| fault(path, e));
    Ok([read(&files.certificate)?, read(&files.key)?, read(&files.authority)?])
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|e| fault(path, e))?;
    if found.is_empty() { Err(fault(path, "holds no certificate")) } else { Ok(found) }
}

fn load(files: &TlsFiles, bytes: [Vec<u8>; 3]) -> Result<Loaded, TlsError> {
    let chain = certificates(&files.certificate, &bytes[0])?;
    let key = PrivateKeyDer::from_pem_slice(&bytes[1]).map_err(|e| fault(&files.key, e))?;
    let mut roots = RootCertStore::empty();
    for authority in certificates(&files.authority, &bytes[2])? {
        roots.add(authority).map_err(|e| fault(&files.authority, e))?;
    }
    let roots = Arc::new(roots);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = &[&rustls::version::TLS13];
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
    let verifier = verifier.build().map_err(|e| fault(&files.authority, e))?;

    let server = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions);
    let mut server = server
        .map_err(|e| fault(&files.certificate, e))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), key.clone_key())
        .map_err(|e| fault(&files.certificate, e))?;
    server.alpn_protocols = vec![ALPN.to_vec()];
    // A resumed connection would not check the certificates again.
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;

    let client = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions);
    let mut client = client
        .map_err(|e| fault(&files.certificate, e))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .map_err(|e| fault(&files.certificate, e))?;
    client.alpn_protocols = vec![ALPN.to_vec()];
    client.resumption = rustls::client::Resumption::disabled();
    Ok(Loaded { bytes, client: Arc::new(client), server: Arc::new(server) })
}
