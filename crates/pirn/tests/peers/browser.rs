//! A browser, driven by a script.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::installed::{Installed, write_servers};
use crate::place::Place;
use crate::processes::{MARK, gone, marked};

/// A page that never changes, for as long as the test runs.
struct Site {
    url: String,
    /// One for each visit of the page.
    visits: Receiver<()>,
}

impl Site {
    fn open() -> Self {
        const PAGE: &str = "<!doctype html><title>Warp and weft</title><link rel=icon href=data:,>";
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (visited, visits) = channel();
        // Browsers also connect without asking for anything, hence a thread for each connection.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, visited) = (stream.unwrap(), visited.clone());
                thread::spawn(move || {
                    if answer(stream, PAGE).is_ok() {
                        let _over = visited.send(());
                    }
                });
            }
        });
        Self { url, visits }
    }
}

fn answer(mut stream: TcpStream, page: &str) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut chunk)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => request.extend_from_slice(&chunk[..count]),
        }
    }
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    )
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join("chromium"))
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!("chromium is missing: `make peers` installs it into target/peers/bin, which belongs on the path")
        })
}

/// A place with a server `browser`.
fn place() -> Place {
    let (installed, place) = (Installed::find(), Place::new());
    write_servers(
        &place,
        &json!({"browser": installed.playwright(&chromium())}),
    );
    place
}

#[test]
fn a_script_reads_the_title_of_a_page() {
    let (place, site) = (place(), Site::open());
    let code = format!(
        r#"
        await tools.mcp__browser__browser_navigate({{ url: {:?} }});
        const title = await tools.mcp__browser__browser_evaluate({{ function: "() => document.title" }});
        return JSON.parse(title.content[0].text.match(/### Result\n(.*)/)[1]);
        "#,
        site.url
    );
    let mark = place.path().display().to_string();
    let output = place
        .pirn(&["exec", "--quiet", "--yes", "-e", &code])
        .env(MARK, &mark)
        .output()
        .unwrap();
    let run = place.ended(output);
    assert_eq!(run.stderr, "", "{run:#?}");
    assert_eq!(run.good(), "Warp and weft\n");
    gone(&mark);
}

#[test]
fn no_browser_outlives_a_killed_pirn() {
    let (place, site) = (place(), Site::open());
    let code = format!(
        "await tools.mcp__browser__browser_navigate({{ url: {:?} }}); await tools.mcp__browser__browser_wait_for({{ time: 60 }})",
        site.url
    );
    let mark = place.path().display().to_string();
    let mut child = place
        .pirn(&["exec", "--quiet", "--yes", "-e", &code])
        .env(MARK, &mark)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let visit = site.visits.recv_timeout(Duration::from_secs(50));
    // The browser itself, and what it needs for a page.
    let seen = marked(&mark);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    gone(&mark);
    assert!(visit.is_ok(), "{status}, {seen:#?}");
    assert_eq!(status.code(), None, "{status}");
    let browsers = seen.iter().filter(|line| line.contains("chromium"));
    assert!(browsers.count() > 1, "{seen:#?}");
}
