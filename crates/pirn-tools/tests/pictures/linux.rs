//! Everything of it, where there is a helper.

use std::future::Future;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use libtest_mimic::{Arguments, Trial};
use pirn_sandbox::{ComputeBounds, keep_only_computing};
use pirn_tool::{
    CallRequest, CallSettings, ContentBlock, ImageLimits, Origin, Pipeline, Registry, ToolResult,
};
use pirn_tools::{PICTURE_HELPER_ARGUMENT, ToolsOptions, builtin_tools, picture_helper};
use serde_json::{Value, json};

/// Makes this program try what a helper must not be able to do.
const TRYING_ARGUMENT: &str = "--try-after-giving-up";

pub(crate) fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some(PICTURE_HELPER_ARGUMENT), Some(order)) => {
            let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
            picture_helper(&order, &mut stdin, &mut stdout)
        }
        (Some(TRYING_ARGUMENT), Some(what)) => try_after_giving_up(&what),
        _ => {
            let trials = TESTS
                .iter()
                .map(|(name, test)| {
                    let test = *test;
                    Trial::test(*name, move || {
                        test();
                        Ok(())
                    })
                })
                .collect();
            libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
        }
    }
}

const TESTS: &[(&str, fn())] = &[
    ("shows_images", || on_runtime(shows_images())),
    ("scales_images_and_says_so", || {
        on_runtime(scales_images_and_says_so());
    }),
    ("says_why_a_broken_image_is_not_shown", || {
        on_runtime(says_why_a_broken_image_is_not_shown());
    }),
    ("without_a_helper_nothing_is_decoded", || {
        on_runtime(without_a_helper_nothing_is_decoded());
    }),
    ("what_a_helper_says_is_not_believed", || {
        on_runtime(what_a_helper_says_is_not_believed());
    }),
    ("a_helper_that_hangs_ends_with_its_call", || {
        on_runtime(a_helper_that_hangs_ends_with_its_call());
    }),
    (
        "a_helper_can_do_nothing_but_compute",
        a_helper_can_do_nothing_but_compute,
    ),
];

fn on_runtime(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

struct Bench {
    folder: tempfile::TempDir,
    pipeline: Pipeline,
}

impl Bench {
    fn new() -> Self {
        Self::with(|_options| {})
    }

    fn with(change: impl FnOnce(&mut ToolsOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = ToolsOptions::new(folder.path(), folder.path());
        options.picture_program = Some(std::env::current_exe().unwrap());
        change(&mut options);
        let registry = Registry::new();
        for tool in builtin_tools(options) {
            registry.register(tool);
        }
        let pipeline = Pipeline::builder(registry).build();
        Self { folder, pipeline }
    }

    /// A bench whose helper is a script.
    fn with_script(script: &str) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let bench =
            Self::with(|options| options.picture_program = Some(options.cwd.join("helper")));
        let helper = bench.put("helper", format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(helper, std::fs::Permissions::from_mode(0o755)).unwrap();
        bench
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    async fn read(&self, path: &str) -> ToolResult {
        let request = CallRequest::new("1", "read", json!({"path": path}));
        self.pipeline.call(request).await.result
    }

    /// What a script gets.
    async fn script(&self, path: &str) -> Value {
        let request = CallRequest::new("1", "read", json!({"path": path})).origin(Origin::Nested);
        let result = self.pipeline.call(request).await.result;
        let text = result.joined_text();
        result.structured.unwrap_or(Value::from(text))
    }

    async fn text(&self, path: &str) -> String {
        self.read(path).await.joined_text()
    }
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
        let result = bench.read("f.txt").await;
        assert_eq!(
            shown_picture(&result.content),
            (mime_type.into(), 30, 20, note.into())
        );
        let structured = bench.script("f.txt").await;
        assert_eq!(structured.get("type"), Some(&json!("image")));
        assert_eq!(structured.get("mimeType"), Some(&json!(mime_type)));
    }
}

async fn scales_images_and_says_so() {
    use image::ImageFormat::Png;
    let limits = ImageLimits {
        width_px: 100,
        height_px: 100,
        base64_bytes: 20_000,
    };
    let bench = Bench::with(|options| options.image_limits = limits);
    bench.put("wide", picture(400, 100, Png));
    let result = bench.read("wide").await;
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
    let (mime_type, ..) = shown_picture(&bench.read("noisy").await.content);
    assert_eq!(mime_type, "image/jpeg");

    let hopeless = ImageLimits {
        width_px: 100,
        height_px: 100,
        base64_bytes: 10,
    };
    let bench = Bench::with(|options| options.image_limits = hopeless);
    bench.put("f", picture(90, 90, Png));
    assert_eq!(
        bench.text("f").await,
        "Read image file [image/png]\n[Image omitted: could not be scaled below 10B]"
    );
}

async fn says_why_a_broken_image_is_not_shown() {
    let bench = Bench::new();
    let whole = picture(3_000, 30, image::ImageFormat::Png);
    bench.put("cut", &whole[..200]);
    let text = bench.text("cut").await;
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
    let text = bench.text("bomb").await;
    assert!(
        text.contains("[Image omitted: it has 60000x60000 pixels"),
        "{text}"
    );
}

async fn without_a_helper_nothing_is_decoded() {
    for program in [None, Some(PathBuf::from("/nowhere"))] {
        let bench = Bench::with(|options| options.picture_program = program);
        bench.put("f", picture(8, 8, image::ImageFormat::Png));
        let text = bench.text("f").await;
        assert!(text.contains("[Image omitted: "), "{text}");
    }
}

/// Whoever has taken a helper over chooses its answer.
async fn what_a_helper_says_is_not_believed() {
    for (answer, wanted) in [
        ("head -c 20000000 /dev/zero", "larger than it may be"),
        ("echo nonsense", "makes no sense"),
        ("printf no-line", "makes no sense"),
        ("exit 3", "more memory or time"),
        ("kill -9 $$", "more memory or time"),
        (
            "echo '{\"made\":{\"format\":\"exe\",\"original\":{\"width\":1,\"height\":1},\"shown\":{\"width\":1,\"height\":1}}}'",
            "makes no sense",
        ),
    ] {
        let bench = Bench::with_script(answer);
        bench.put("f", picture(8, 8, image::ImageFormat::Png));
        let text = bench.text("f").await;
        assert!(text.contains(wanted), "{answer}: {text}");
    }
}

async fn a_helper_that_hangs_ends_with_its_call() {
    let bench = Bench::with_script("echo $$ > \"$0.pid\"; exec sleep 600");
    bench.put("f", picture(8, 8, image::ImageFormat::Png));
    let pid_file = bench.folder.path().join("helper.pid");
    let started = async {
        loop {
            let text = std::fs::read_to_string(&pid_file).unwrap_or_default();
            if text.ends_with('\n') {
                return text.trim().to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    let pid = tokio::select! {
        text = bench.text("f") => panic!("{text}"),
        pid = started => pid,
    };
    // The call was dropped.
    let gone = async {
        while std::path::Path::new("/proc").join(&pid).exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), gone)
        .await
        .unwrap();
}

/// What is tried, and whether it can be done before.
const TRIES: [&str; 7] = [
    "open", "make", "remove", "start", "connect", "signal", "memory",
];

fn a_helper_can_do_nothing_but_compute() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "content").unwrap();
    for what in TRIES {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([TRYING_ARGUMENT, what])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"x").unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        if what == "memory" {
            assert!(
                !output.status.success() && text == "before ",
                "{text} {errors}"
            );
        } else {
            assert_eq!(text, "before refused", "{what}: {errors}");
        }
    }
    assert!(folder.path().join("file").exists());
    assert!(!folder.path().join("made").exists());
}

fn try_after_giving_up(what: &str) -> ExitCode {
    let parent = rustix::process::getppid().unwrap();
    keep_only_computing(ComputeBounds {
        memory_bytes: 1 << 30,
        processor_time: std::time::Duration::from_secs(10),
    })
    .unwrap();
    print!("before ");
    std::io::stdout().flush().unwrap();
    let done = match what {
        "open" => std::fs::File::open("file").is_ok(),
        "make" => std::fs::write("made", "").is_ok(),
        "remove" => std::fs::remove_file("file").is_ok(),
        "start" => std::process::Command::new("/bin/true").status().is_ok(),
        "connect" => std::net::TcpListener::bind("127.0.0.1:0").is_ok(),
        "signal" => rustix::process::kill_process(parent, rustix::process::Signal::WINCH).is_ok(),
        "memory" => vec![1_u8; 2 << 30].iter().any(|byte| *byte == 1),
        other => panic!("{other}"),
    };
    print!("{}", if done { "done" } else { "refused" });
    ExitCode::SUCCESS
}
