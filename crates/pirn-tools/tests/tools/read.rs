//! The tool `read`, with texts, pictures and odd files.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Instant;

use pirn_tools::BYTES_MAX;
use serde_json::{Value, json};

use crate::support::Bench;

fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| format!("line {n}\n")).collect()
}

#[tokio::test]
async fn shows_whole_files_as_they_are() {
    let bench = Bench::new();
    for (content, shown) in [
        (&b""[..], ""),
        (b"one", "one"),
        (b"one\ntwo\n", "one\ntwo\n"),
        (b"one\r\ntwo\r\n", "one\r\ntwo\r\n"),
        (b"\xEF\xBB\xBFone", "\u{FEFF}one"),
        (b"\n\n", "\n\n"),
        (b"zero \0 byte", "zero \0 byte"),
        (b"a\rb\r", "a\rb\r"),
        (b"BMW is a car", "BMW is a car"),
    ] {
        bench.put("f", content);
        let result = bench.result("read", json!({"path": "f"})).await;
        assert_eq!(result.joined_text(), shown);
        let given = bench.script("read", json!({"path": "f"})).await;
        assert_eq!(given, Ok(Value::from(shown)));
    }
}

#[tokio::test]
async fn shows_ranges() {
    let bench = Bench::new();
    bench.put("ten", numbered(10));
    bench.put("open", "a\nb\nc");
    for (path, offset, limit, shown) in [
        ("ten", json!(9), Value::Null, "line 9\nline 10\n"),
        (
            "ten",
            json!(-3),
            json!(1),
            "line 1\n\n[9 more lines in file. Use offset=2 to continue.]",
        ),
        (
            "ten",
            json!("4"),
            json!(2),
            "line 4\nline 5\n\n[5 more lines in file. Use offset=6 to continue.]",
        ),
        ("ten", json!(9), json!(2), "line 9\nline 10\n"),
        ("ten", json!(9), json!(200), "line 9\nline 10\n"),
        ("open", json!(3), Value::Null, "c"),
        (
            "open",
            Value::Null,
            json!(2),
            "a\nb\n\n[1 more lines in file. Use offset=3 to continue.]",
        ),
        (
            "open",
            json!(2),
            json!(0),
            "b\n\n[1 more lines in file. Use offset=3 to continue.]",
        ),
    ] {
        let arguments = json!({"path": path, "offset": offset, "limit": limit});
        assert_eq!(
            bench.ok("read", arguments.clone()).await,
            shown,
            "{arguments}"
        );
    }
    for (path, offset, text) in [
        (
            "ten",
            11,
            "Offset 11 is beyond end of file (10 lines total)",
        ),
        (
            "open",
            400,
            "Offset 400 is beyond end of file (3 lines total)",
        ),
    ] {
        assert_eq!(
            bench
                .fails("read", json!({"path": path, "offset": offset}))
                .await,
            text
        );
    }
}

#[tokio::test]
async fn cuts_long_files() {
    let bench = Bench::new();
    bench.put("lines", numbered(2_500));
    let text = bench.ok("read", json!({"path": "lines"})).await;
    assert!(
        text.ends_with("line 2000\n\n[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]"),
        "{text}"
    );
    let text = bench
        .ok(
            "read",
            json!({"path": "lines", "offset": 101, "limit": 2_300}),
        )
        .await;
    assert!(text.starts_with("line 101\n"));
    assert!(
        text.ends_with(
            "line 2100\n\n[Showing lines 101-2100 of 2500. Use offset=2101 to continue.]"
        ),
        "{text}"
    );
    let text = bench
        .ok("read", json!({"path": "lines", "offset": 501}))
        .await;
    assert!(text.ends_with("line 2500\n"));

    // Five lines of 10,239 bytes and a line feed are one byte less than the limit with the last line feed left out.
    bench.put("bytes", format!("{}\n", "x".repeat(10_239)).repeat(9));
    let text = bench.ok("read", json!({"path": "bytes"})).await;
    let notice = "\n\n[Showing lines 1-5 of 9 (50.0KB limit). Use offset=6 to continue.]";
    assert_eq!(text.len(), BYTES_MAX - 1 + notice.len());
    assert!(text.ends_with(notice));

    bench.put(
        "it's long",
        format!("short\n{}\nend\n", "y".repeat(300_000)),
    );
    assert_eq!(
        bench
            .ok("read", json!({"path": "it's long", "offset": 2}))
            .await,
        "[Line 2 is 293.0KB, exceeds 50.0KB limit. Use bash: sed -n '2p' 'it'\\''s long' | head -c 51200]"
    );
    assert_eq!(
        bench.ok("read", json!({"path": "it's long"})).await,
        "short\n\n[Showing lines 1-1 of 3 (50.0KB limit). Use offset=2 to continue.]"
    );
}

#[tokio::test]
async fn reads_five_gigabytes_by_range() {
    let bench = Bench::new();
    let mut file = std::fs::File::create(bench.path("huge")).unwrap();
    file.write_all(b"first\nsecond\n").unwrap();
    file.seek(SeekFrom::Start(5 << 30)).unwrap();
    file.write_all(b"\nlast\n").unwrap();
    drop(file);
    let start = Instant::now();
    let (first, last, long) = tokio::join!(
        bench.ok("read", json!({"path": "huge", "limit": 1})),
        bench.ok("read", json!({"path": "huge", "offset": 4})),
        bench.ok("read", json!({"path": "huge", "offset": 3})),
    );
    assert_eq!(
        first,
        "first\n\n[3 more lines in file. Use offset=2 to continue.]"
    );
    assert_eq!(last, "last\n");
    assert!(
        long.starts_with("[Line 3 is 5120.0MB, exceeds 50.0KB limit."),
        "{long}"
    );
    println!("three passes over 5 GiB took: {:?}", start.elapsed());
    let peak = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = peak
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 200_000, "{peak_kib} KiB");
}

#[tokio::test]
async fn reads_what_has_no_size() {
    let bench = Bench::new();
    assert!(
        bench
            .ok("read", json!({"path": "/proc/self/status"}))
            .await
            .starts_with("Name:")
    );
}

/// Pages through a file forwards, backwards and at random give what a scan from the start gives, also when it changes.
#[tokio::test]
async fn pages_of_large_files_are_where_they_were() {
    let bench = Bench::new();
    let line = |n: usize| format!("line {n} {}\n", "x".repeat(n % 90));
    let mut lines: Vec<String> = (1..=60_000).map(line).collect();
    let file = bench.put("large", lines.concat());
    let settled = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    let set_time = |at| {
        let file = std::fs::File::options().write(true).open(&file).unwrap();
        file.set_modified(at).unwrap();
    };
    set_time(settled);
    let pages = [1, 59_990, 3, 30_000, 29_000, 59_999, 12_345, 60_000];
    for round in 0..3 {
        for offset in pages {
            let wanted: String = lines
                .iter()
                .skip(offset - 1)
                .take(20)
                .map(String::as_str)
                .collect();
            let arguments = json!({"path": "large", "offset": offset, "limit": 20});
            let page = bench.script("read", arguments.clone()).await;
            assert_eq!(page, Ok(Value::from(wanted)), "round {round}: {offset}");
            let shown = bench.ok("read", arguments).await;
            let left = lines.len() - (offset - 1 + 20).min(lines.len());
            let notice = format!(
                "[{left} more lines in file. Use offset={} to continue.]",
                offset + 20
            );
            assert_eq!(
                shown.contains(&notice),
                left > 0,
                "round {round}: {offset}: {shown}"
            );
        }
        // Of the same size, and as old.
        lines.rotate_left(round + 1);
        std::fs::write(&file, lines.concat()).unwrap();
        set_time(settled);
    }
    let text = bench
        .fails("read", json!({"path": "large", "offset": 60_001}))
        .await;
    assert!(text.contains("60000 lines total"), "{text}");
}
