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
use super::decisions::NetworkReason;
use super::gate::{Gate, NoWay};
use super::relay;

/// The longest message: a request with a name of 255 bytes has 262, a greeting with all methods 257.
const MESSAGE_BYTES_MAX: usize = 512;

/// Serves one request.
pub(crate) async fn serve(mut client: Client, gate: &Gate, deadline: Instant) -> io::Result<()> {
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
    match connect(request, gate).await {
        Ok(server) => {
            let reply = SocksReply::Succeeded.message();
            client.stream.write_all(&reply).await?;
            relay::tunnel(client, server, gate.options.idle_time).await
        }
        Err(reply) => client.close_with(&reply.message()).await,
    }
}

async fn connect(request: SocksRequest, gate: &Gate) -> Result<tokio::net::TcpStream, SocksReply> {
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
        let _logged = gate.refuse(host, port, NetworkReason::Unsupported(what));
        return Err(SocksReply::CommandNotSupported);
    }
    let no_way = match target {
        SocksTarget::Bad { text, error } => gate.refuse_bad_host(&text, port, error),
        SocksTarget::Host(host) => match gate.connect(&host, port).await {
            Ok(server) => return Ok(server),
            Err(no_way) => no_way,
        },
    };
    Err(match no_way {
        NoWay::Refused(_) => SocksReply::NotAllowed,
        NoWay::NotResolved(_) => SocksReply::HostUnreachable,
        NoWay::TimedOut => SocksReply::TimedOut,
        NoWay::NotConnected(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            SocksReply::ConnectionRefused
        }
        NoWay::NotConnected(error) if error.kind() == io::ErrorKind::NetworkUnreachable => {
            SocksReply::NetworkUnreachable
        }
        NoWay::NotConnected(error) if error.kind() == io::ErrorKind::HostUnreachable => {
            SocksReply::HostUnreachable
        }
        NoWay::NotConnected(_) => SocksReply::Failure,
    })
}
