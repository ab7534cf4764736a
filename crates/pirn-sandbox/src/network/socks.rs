//! The SOCKS5 side of the proxy.

#[cfg(test)]
mod tests;
mod wire;

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

pub(crate) use wire::{
    SocksCommand, SocksProblem, SocksReply, SocksRequest, SocksTarget, VERSION, greeting_answer,
    parse_greeting, parse_request,
};

use super::client::{Client, ReadFailure};
use super::connector::{ConnectError, Connector};
use super::decisions::NetworkReason;
use super::relay;

/// The longest message: a request with a name of 255 bytes has 262, a greeting with all methods 257.
const MESSAGE_BYTES_MAX: usize = 512;

/// Serves the one request of a connection.
pub(crate) async fn serve(
    mut client: Client,
    connector: &Connector,
    deadline: Instant,
) -> io::Result<()> {
    let greeting = client
        .read_message(MESSAGE_BYTES_MAX, deadline, parse_greeting)
        .await;
    let Ok(can_do_without) = greeting else {
        return Ok(());
    };
    let answer = greeting_answer(can_do_without);
    if !can_do_without {
        return client.close_with(&answer).await;
    }
    client.stream.write_all(&answer).await?;
    let request = client
        .read_message(MESSAGE_BYTES_MAX, deadline, parse_request)
        .await;
    let request = match request {
        Ok(request) => request,
        Err(ReadFailure::Bad(SocksProblem::AddressKind)) => {
            let reply = SocksReply::AddressNotSupported;
            return client.close_with(&reply.message()).await;
        }
        Err(
            ReadFailure::Bad(SocksProblem::Malformed)
            | ReadFailure::TooLong
            | ReadFailure::TooSlow
            | ReadFailure::Gone,
        ) => return Ok(()),
    };
    match connect(request, connector).await {
        Ok(server) => {
            let reply = SocksReply::Succeeded.message();
            client.stream.write_all(&reply).await?;
            relay::tunnel(client, server, connector.options.idle_time).await
        }
        Err(reply) => client.close_with(&reply.message()).await,
    }
}

async fn connect(
    request: SocksRequest,
    connector: &Connector,
) -> Result<tokio::net::TcpStream, SocksReply> {
    let SocksRequest {
        command,
        target,
        port,
    } = request;
    let unsupported = match command {
        SocksCommand::Connect => None,
        SocksCommand::Bind => Some("SOCKS5 BIND"),
        SocksCommand::UdpAssociate => Some("UDP"),
        SocksCommand::Unknown => Some("this SOCKS5 command"),
    };
    if let Some(what) = unsupported {
        let host = match target {
            SocksTarget::Host(host) => host.to_string(),
            SocksTarget::Bad { text, .. } => text.escape_debug().to_string(),
        };
        let _logged = connector.refuse(host, port, NetworkReason::Unsupported(what));
        return Err(SocksReply::CommandNotSupported);
    }
    let error = match target {
        SocksTarget::Bad { text, error } => connector.refuse_bad_host(&text, port, error),
        SocksTarget::Host(host) => match connector.connect(&host, port).await {
            Ok(server) => return Ok(server),
            Err(error) => error,
        },
    };
    Err(match error {
        ConnectError::Refused(_) => SocksReply::NotAllowed,
        ConnectError::NotResolved(_) => SocksReply::HostUnreachable,
        ConnectError::TimedOut => SocksReply::TimedOut,
        ConnectError::NotConnected(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            SocksReply::ConnectionRefused
        }
        ConnectError::NotConnected(error) if error.kind() == io::ErrorKind::NetworkUnreachable => {
            SocksReply::NetworkUnreachable
        }
        ConnectError::NotConnected(error) if error.kind() == io::ErrorKind::HostUnreachable => {
            SocksReply::HostUnreachable
        }
        ConnectError::NotConnected(_) => SocksReply::Failure,
    })
}
