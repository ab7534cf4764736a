//! What attempts on the network aim at.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};

use pirn_sandbox::{
    Command, HostRule, Network, NetworkFuture, NetworkOptions, NetworkProxy, NetworkRules,
    NetworkUplink,
};

use crate::stage::{Helper, Stage, expect, text};

/// An address for documentation, which belongs to nobody.
const NOBODYS: &str = "203.0.113.5";

/// A listener on the machine's loopback addresses, and whether anybody came. `PORT` is its port, also for IPv6 where the
/// machine has that.
pub(crate) fn listener(stage: &mut Stage) -> Result<(), String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(text)?;
    let address = listener.local_addr().map_err(text)?;
    // It can be reached, by whoever is outside.
    let _visitor = TcpStream::connect(address).map_err(text)?;
    let _visit = listener.accept().map_err(text)?;
    let mut listeners = vec![listener];
    listeners.extend(TcpListener::bind(("::1", address.port())));
    let datagrams = UdpSocket::bind(address).map_err(text)?;
    for listener in &listeners {
        listener.set_nonblocking(true).map_err(text)?;
    }
    datagrams.set_nonblocking(true).map_err(text)?;
    stage.variables.push(("PORT", address.port().to_string()));
    watch(stage, move || {
        for listener in &listeners {
            let came = listener.accept();
            expect(is_nobody(&came), || format!("somebody came: {came:?}"))?;
        }
        let came = datagrams.recv(&mut [0; 64]);
        expect(is_nobody(&came), || format!("something came: {came:?}"))
    });
    Ok(())
}

fn is_nobody<T>(came: &io::Result<T>) -> bool {
    came.as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// `OWN`: an address of one of the machine's interfaces, with a listener at `PORT`. Where there is no network, loopback's.
pub(crate) fn own_address(stage: &mut Stage) -> Result<(), String> {
    let own = own_address_of_machine().unwrap_or_else(|| "127.0.0.1".to_owned());
    let listener = TcpListener::bind((own.as_str(), 0)).map_err(text)?;
    listener.set_nonblocking(true).map_err(text)?;
    let port = listener.local_addr().map_err(text)?.port();
    stage.variables.push(("PORT", port.to_string()));
    stage.variables.push(("OWN", own));
    watch(stage, move || {
        let came = listener.accept();
        expect(is_nobody(&came), || format!("somebody came: {came:?}"))
    });
    Ok(())
}

/// The address that the machine would send from to somewhere else. Nothing is sent.
fn own_address_of_machine() -> Option<String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((NOBODYS, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

/// Looks at something after the attempt, and keeps it until then.
pub(crate) fn watch(stage: &mut Stage, look: impl Fn() -> Result<(), String> + 'static) {
    stage.helpers.push(Helper::Watch(Box::new(look)));
}

/// What everything that watches has seen.
pub(crate) fn nothing_came(stage: &Stage) -> Result<(), String> {
    for helper in &stage.helpers {
        match helper {
            Helper::Watch(look) => look()?,
            Helper::Process(_) | Helper::Socket(_) | Helper::File(_) | Helper::Folder(_) => {}
        }
    }
    Ok(())
}

/// A child of another spawn in the same sandbox that runs this Python until the attempt is over. It has to print a line once it
/// is ready.
pub(crate) fn companion(stage: &mut Stage, program: &str) -> Result<(), String> {
    use tokio::io::AsyncReadExt as _;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(text)?;
    let sandbox = stage.sandbox().map_err(text)?;
    let command = Command::new("/usr/bin/python3")
        .args(["-c", program])
        .current_dir(stage.path("work"))
        .sandbox(&sandbox);
    let (child, output) = runtime.block_on(async {
        let mut child = command.spawn().map_err(text)?;
        let mut output = child.take_output().ok_or("no output")?;
        tokio::time::timeout(crate::run::PATIENCE, output.read_u8())
            .await
            .map_err(text)?
            .map_err(text)?;
        Ok::<_, String>((child, output))
    })?;
    let kept = (child, output, runtime);
    watch(stage, move || {
        // Moved in here, and so alive as long as this.
        let _ = &kept;
        Ok(())
    });
    Ok(())
}

/// The network as the proxy sees it: names that are resolved, and nothing behind any address but loopback's.
#[derive(Debug, Default)]
struct FakeNetwork {
    names: &'static [(&'static str, &'static [&'static str])],
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    asked: Vec<String>,
    connected: Vec<SocketAddr>,
}

impl NetworkUplink for FakeNetwork {
    fn resolve<'a>(&'a self, name: &'a str) -> NetworkFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let times = match self.seen.lock() {
                Ok(mut seen) => {
                    seen.asked.push(name.to_owned());
                    seen.asked.iter().filter(|asked| *asked == name).count()
                }
                Err(_) => 1,
            };
            let answers = self.names.iter().find(|(known, _)| *known == name);
            let (_, answers) = answers.ok_or(ErrorKind::NotFound)?;
            let answer = answers.get(times - 1).or(answers.last());
            let address = answer.and_then(|answer| answer.parse().ok());
            Ok(vec![address.ok_or(ErrorKind::NotFound)?])
        })
    }

    fn connect(&self, address: SocketAddr) -> NetworkFuture<'_, io::Result<tokio::net::TcpStream>> {
        Box::pin(async move {
            if let Ok(mut seen) = self.seen.lock() {
                seen.connected.push(address);
            }
            if address.ip().is_loopback() {
                tokio::net::TcpStream::connect(address).await
            } else {
                Err(ErrorKind::ConnectionRefused.into())
            }
        })
    }
}

/// What the proxy is to have done outside by the end.
#[derive(Clone, Copy)]
pub(crate) struct Traces {
    pub(crate) asked: &'static [&'static str],
    pub(crate) connected: &'static [&'static str],
}

/// The proxy has done nothing outside.
pub(crate) const NO_TRACES: Traces = Traces {
    asked: &[],
    connected: &[],
};

/// Names that the proxy can resolve: to the first address the first time, and so on.
type Names = &'static [(&'static str, &'static [&'static str])];

/// Gives the children the proxy. In rules and traces, `PORT` stands for the variable's value.
pub(crate) fn proxied(
    stage: &mut Stage,
    rules: &[&str],
    names: Names,
    traces: Traces,
) -> Result<(), String> {
    let port = stage
        .variables
        .iter()
        .find(|(name, _)| *name == "PORT")
        .map_or("1", |(_, value)| value.as_str())
        .to_owned();
    let parse = |rule: &str| rule.replace("PORT", &port).parse::<HostRule>();
    let mut parsed = NetworkRules::default();
    for rule in rules {
        match rule.strip_prefix('!') {
            Some(rule) => parsed.deny.push(parse(rule).map_err(text)?),
            None => parsed.allow.push(parse(rule).map_err(text)?),
        }
    }
    let outside = Arc::new(FakeNetwork {
        names,
        seen: Mutex::default(),
    });
    let options = NetworkOptions {
        uplink: outside.clone(),
        ..NetworkOptions::default()
    };
    let proxy = NetworkProxy::new(parsed, options);
    stage.policy.network = Network::AllowList(proxy);
    watch(stage, move || {
        let seen = outside.seen.lock().map_err(text)?;
        let connected: Vec<String> = seen.connected.iter().map(ToString::to_string).collect();
        let allowed: Vec<String> = traces
            .connected
            .iter()
            .map(|address| address.replace("PORT", &port))
            .collect();
        // At the lowest level there is no way to the proxy.
        expect(seen.asked.is_empty() || seen.asked == traces.asked, || {
            format!("the proxy looked up {:?}", seen.asked)
        })?;
        expect(connected.is_empty() || connected == allowed, || {
            format!("the proxy connected to {connected:?}")
        })
    });
    Ok(())
}

/// A web server outside that answers each request with whether `address` can be connected to from there.
pub(crate) fn prober(stage: &mut Stage, address: &'static str) -> Result<(), String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(text)?;
    let port = listener.local_addr().map_err(text)?.port();
    stage.variables.push(("PORT", port.to_string()));
    // Ends with this process, which makes one attempt.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let found = match TcpStream::connect(address) {
                Ok(_) => "REACHED",
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => "ECONNREFUSED",
                Err(_) => "ODD",
            };
            let mut head = [0; 4096];
            if stream.read(&mut head).is_ok() {
                let _gone = write!(stream, "HTTP/1.1 {found} found\r\n\r\n");
            }
        }
    });
    Ok(())
}
