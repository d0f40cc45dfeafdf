//! The one way this node makes HTTP clients.

use std::time::Duration;

/// A client with rustls (ring), no redirects, and `timeout` for a whole call.
pub fn client(timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
    install_tls();
    let agent = concat!("quorate/", env!("CARGO_PKG_VERSION"));
    reqwest::Client::builder()
        .user_agent(agent)
        .timeout(timeout)
        .connect_timeout(timeout.min(Duration::from_secs(5)))
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

/// Makes ring the TLS provider of this process. Later calls change nothing.
pub fn install_tls() {
    // An error means that a provider is there already, which is all that is wanted.
    drop(rustls::crypto::ring::default_provider().install_default());
}
