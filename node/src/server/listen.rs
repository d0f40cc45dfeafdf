//! The two listeners of a node.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::options::AdminListen;

/// An address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {fault}; {hint}")]
pub struct ListenError {
    address: SocketAddr,
    fault: std::io::Error,
    hint: &'static str,
}

/// Both listeners with the addresses they got.
pub(super) struct Listeners {
    pub(super) public: TcpListener,
    pub(super) admin: TcpListener,
    public_address: SocketAddr,
    admin_address: SocketAddr,
}

/// Binds both.
pub(super) async fn bind(listen: SocketAddr, admin: AdminListen) -> Result<Listeners, ListenError> {
    let (public, public_address) =
        bind_one(listen, "choose another address with listen (quorate dev: --listen)").await?;
    let hint = match admin {
        AdminListen::At(_) => "choose another address with admin_listen",
        AdminListen::Next => "administration is on the port after that of --listen; choose another with --listen",
    };
    let admin = match admin {
        AdminListen::At(address) => address,
        // The last port has no next one: any, then.
        AdminListen::Next if listen.port() == 0 => SocketAddr::new(listen.ip(), 0),
        AdminListen::Next => SocketAddr::new(listen.ip(), listen.port().checked_add(1).unwrap_or(0)),
    };
    let (admin, admin_address) = bind_one(admin, hint).await?;
    Ok(Listeners { public, admin, public_address, admin_address })
}

async fn bind_one(address: SocketAddr, hint: &'static str) -> Result<(TcpListener, SocketAddr), ListenError> {
    let fault = |fault| ListenError { address, fault, hint };
    let listener = TcpListener::bind(address).await.map_err(fault)?;
    let bound = listener.local_addr().map_err(fault)?;
    Ok((listener, bound))
}

impl Listeners {
    pub(super) fn base_url(&self) -> String {
        format!("http://{}", self.public_address)
    }

    pub(super) fn mcp_url(&self) -> String {
        format!("{}/mcp", self.base_url())
    }

    pub(super) fn admin_ip(&self) -> std::net::IpAddr {
        self.admin_address.ip()
    }

    pub(super) fn admin_url(&self) -> String {
        format!("http://{}", self.admin_address)
    }
}
