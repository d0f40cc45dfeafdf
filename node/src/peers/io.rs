//! Connections, with TLS or, where the caller asks for it, without.

use std::fmt::Write as _;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::tls::Tls;

/// A connection of either kind.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// How connections are made.
pub(super) enum Wire {
    Plain,
    Tls(Tls),
}

impl Wire {
    /// Connects to an address: host and port.
    pub(super) async fn connect(&self, address: &str) -> Result<Box<dyn Io>, String> {
        let stream = TcpStream::connect(address).await.map_err(|e| e.to_string())?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        match self {
            Self::Plain => Ok(Box::new(stream)),
            Self::Tls(tls) => tls.connect(host(address), stream).await,
        }
    }

    /// Takes a connection from a peer.
    pub(super) async fn accept(&self, stream: TcpStream) -> Result<Box<dyn Io>, String> {
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        match self {
            Self::Plain => Ok(Box::new(stream)),
            Self::Tls(tls) => tls.accept(stream).await,
        }
    }
}

/// The host of an address: `[::1]:7000` has `::1`.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// An error and what lies behind it, in one line.
pub(super) fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let said = error.to_string();
        if !text.contains(&said) {
            // Writing into a string cannot fail.
            let _ = write!(text, ": {said}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn the_host_of_an_address() {
        let hosts = ["node-1.example:7000", "10.0.0.1:7000", "[::1]:7000", "localhost"].map(host);
        assert_eq!(hosts, ["node-1.example", "10.0.0.1", "::1", "localhost"]);
    }
}
