//! The tool `read`, with texts, pictures and odd files.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Instant;

use pirn_tool::{CallRequest, CallSettings, ContentBlock, ImageLimits};
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

fn picture(width: u32, height: u32, format: image::ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let pixels = image::RgbImage::from_fn(width, height, |x, y| {
        let low = |n: u32| u8::try_from(n & 0xFF).unwrap();
        image::Rgb([low(x), low(y), low(x * y)])
    });
    image::DynamicImage::from(pixels)
        .write_to(&mut bytes, format)
        .unwrap();
    bytes.into_inner()
}

/// The mime type, size and note of an image block.
fn shown_picture(content: &[ContentBlock]) -> (String, u32, u32, String) {
    use base64::Engine as _;
    let [
        ContentBlock::Text { text },
        ContentBlock::Image { data, mime_type },
    ] = content
    else {
        panic!("{content:?}")
    };
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(data)
        .unwrap();
    let decoded = image::load_from_memory(&bytes).unwrap();
    (
        mime_type.clone(),
        decoded.width(),
        decoded.height(),
        text.clone(),
    )
}

#[tokio::test]
async fn shows_images() {
    use image::ImageFormat::{Bmp, Gif, Jpeg, Png, WebP};
    let bench = Bench::new();
    for (format, mime_type, note) in [
        (Png, "image/png", "Read image file [image/png]"),
        (Jpeg, "image/jpeg", "Read image file [image/jpeg]"),
        (Gif, "image/gif", "Read image file [image/gif]"),
        (WebP, "image/webp", "Read image file [image/webp]"),
        (
            Bmp,
            "image/png",
            "Read image file [image/png]\n[Image converted from image/bmp.]",
        ),
    ] {
        // The name says nothing.
        bench.put("f.txt", picture(30, 20, format));
        let result = bench.result("read", json!({"path": "f.txt"})).await;
        assert_eq!(
            shown_picture(&result.content),
            (mime_type.into(), 30, 20, note.into())
        );
        let structured = bench
            .script("read", json!({"path": "f.txt"}))
            .await
            .unwrap();
        assert_eq!(structured.get("type"), Some(&json!("image")));
        assert_eq!(structured.get("mimeType"), Some(&json!(mime_type)));
    }
}

#[tokio::test]
async fn scales_images_and_says_so() {
    use image::ImageFormat::Png;
    let limits = ImageLimits {
        width_px: 100,
        height_px: 100,
        base64_bytes: 20_000,
    };
    let bench = Bench::with(|options| options.image_limits = limits);
    bench.put("wide", picture(400, 100, Png));
    let result = bench.result("read", json!({"path": "wide"})).await;
    let note = "Read image file [image/png]\n[Image: original 400x100, displayed at 100x25. Multiply coordinates by 4.00 to map \
                to the original.]";
    assert_eq!(
        shown_picture(&result.content),
        ("image/png".into(), 100, 25, note.into())
    );

    // What the model behind the call takes comes first.
    let bench = Bench::new();
    bench.put("wide", picture(400, 100, Png));
    let settings = CallSettings {
        image_limits: Some(limits),
        ..CallSettings::default()
    };
    let request = CallRequest::new("1", "read", json!({"path": "wide"})).settings(settings.into());
    let outcome = bench.pipeline.call(request).await;
    let (_, width, height, _) = shown_picture(&outcome.result.content);
    assert_eq!((width, height), (100, 25));

    let tight = ImageLimits {
        width_px: 100,
        height_px: 100,
        base64_bytes: 6_000,
    };
    let bench = Bench::with(|options| options.image_limits = tight);
    bench.put("noisy", picture(90, 90, Png));
    let (mime_type, ..) =
        shown_picture(&bench.result("read", json!({"path": "noisy"})).await.content);
    assert_eq!(mime_type, "image/jpeg");

    let hopeless = ImageLimits {
        width_px: 100,
        height_px: 100,
        base64_bytes: 10,
    };
    let bench = Bench::with(|options| options.image_limits = hopeless);
    bench.put("f", picture(90, 90, Png));
    assert_eq!(
        bench.ok("read", json!({"path": "f"})).await,
        "Read image file [image/png]\n[Image omitted: could not be scaled below 10B]"
    );
}

#[tokio::test]
async fn says_why_a_broken_image_is_not_shown() {
    let bench = Bench::new();
    let whole = picture(3_000, 30, image::ImageFormat::Png);
    bench.put("cut", &whole[..200]);
    let text = bench.ok("read", json!({"path": "cut"})).await;
    assert!(
        text.starts_with("Read image file [image/png]\n[Image omitted: could not be decoded: "),
        "{text}"
    );

    // A header that claims 60,000 by 60,000 pixels must not be believed.
    let mut bomb = picture(8, 8, image::ImageFormat::Bmp);
    for at in [18, 22] {
        bomb[at..at + 4].copy_from_slice(&60_000_u32.to_le_bytes());
    }
    bench.put("bomb", bomb);
    let text = bench.ok("read", json!({"path": "bomb"})).await;
    assert!(
        text.contains("[Image omitted: it has 60000x60000 pixels"),
        "{text}"
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
