//! How the proxy itself reaches the network.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::net::TcpStream;

/// What the asynchronous methods of the network traits give.
pub type NetworkFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How the proxy itself reaches the network.
pub trait NetworkUplink: Debug + Send + Sync {
    /// The addresses of a name, best first. Called once for each request, after the rules have let the name through; what it
    /// gives is checked and then connected to.
    fn resolve<'a>(&'a self, name: &'a str) -> NetworkFuture<'a, io::Result<Vec<IpAddr>>>;

    /// Connects to an address that has been checked.
    fn connect(&self, address: SocketAddr) -> NetworkFuture<'_, io::Result<TcpStream>>;
}

/// The resolver and the sockets of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemUplink;

impl NetworkUplink for SystemUplink {
    fn resolve<'a>(&'a self, name: &'a str) -> NetworkFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    fn connect(&self, address: SocketAddr) -> NetworkFuture<'_, io::Result<TcpStream>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }
}
