//! What a model reads: both layouts for a table of scripts, cutting, files.

use std::fmt::Write as _;
use std::path::Path;

use pirn_codemode::{
    LaidOut, LayoutKind, LayoutOptions, OutputFolder, RunOptions, ScriptResult, lay_out,
};
use pirn_tool::ContentBlock;

use crate::support::{Lab, PNG_1X1, options, short_grace};

/// Name and source; every row is shown in both layouts.
const SCRIPTS: [(&str, &str); 12] = [
    ("nothing", "1 + 1;"),
    ("one_text", "text('hello');"),
    ("returned_string", "return 'line one\\nline two';"),
    ("returned_object", "return {b: 1, a: [true, null]};"),
    ("texts_and_value", "text('one'); text({two: 2}); return 3;"),
    ("empty_text", "text(''); text('full');"),
    (
        "console",
        "console.log('log', 1); text('shown'); console.warn({a: 1}); console.error(new RangeError('far'));",
    ),
    (
        "image",
        "text('before'); image(`data:image/png;base64,${PNG}`, 'low'); text('after');",
    ),
    ("audio", "audio('data:audio/wav;base64,UklGRg==');"),
    (
        "failure",
        "text('partial'); await tools.echo(1);\nawait tools.fail({message: 'not today'});",
    ),
    (
        "failure_without_calls",
        "text('partial');\nthrow {code: 7};",
    ),
    (
        "failure_with_open_calls",
        "tools.gate({name: 'x'}); tools.deaf(); tools.stubborn({}); throw new Error('early');",
    ),
];

async fn run(code: &str) -> ScriptResult {
    let code = code.replace("${PNG}", PNG_1X1);
    Lab::new().run_with(&code, options(short_grace())).await
}

/// Blocks one below the other; wall time and file names, which differ per run, are replaced.
fn shown(laid_out: &LaidOut, folder: &Path) -> String {
    let mut all = String::new();
    for block in &laid_out.content {
        match block {
            ContentBlock::Text { text } => writeln!(all, "[text]\n{text}").unwrap(),
            ContentBlock::Image { mime_type, data } | ContentBlock::Audio { mime_type, data } => {
                writeln!(all, "[{mime_type}, {} characters]", data.len()).unwrap();
            }
        }
    }
    let wall = regex::Regex::new(r"Wall time \d+\.\d").unwrap();
    let file = regex::Regex::new(&format!(
        r"{}/pirn-exec-[0-9a-f]{{16}}",
        regex::escape(&folder.to_string_lossy())
    ))
    .unwrap();
    file.replace_all(&wall.replace_all(&all, "Wall time 0.0"), "FOLDER/FILE")
        .into_owned()
}

#[tokio::test]
async fn both_layouts() {
    let folder = tempfile::tempdir().unwrap();
    for (name, code) in SCRIPTS {
        let result = run(code).await;
        let mut both = String::new();
        for kind in [LayoutKind::Items, LayoutKind::Joined] {
            let options = LayoutOptions {
                kind,
                folder: Some(OutputFolder::new(folder.path())),
                ..LayoutOptions::default()
            };
            writeln!(
                both,
                "--- {kind:?}\n{}",
                shown(&lay_out(&result, &options), folder.path())
            )
            .unwrap();
        }
        insta::assert_snapshot!(name, both, code);
    }
}

/// Lays a script's result out with a budget of `tokens`.
async fn cut(code: &str, kind: LayoutKind, tokens: u64) -> (LaidOut, String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options = LayoutOptions {
        kind,
        output_tokens_max: tokens,
        folder: Some(OutputFolder::new(folder.path())),
        notes: vec!["a note".into()],
    };
    let laid_out = lay_out(&run(code).await, &options);
    let text = shown(&laid_out, folder.path());
    (laid_out, text, folder)
}

#[tokio::test]
async fn long_output_is_cut_in_both_layouts() {
    let rows = "Array.from({length: 200}, (_, n) => ({id: n, name: `row number ${n}`, tags: ['a', 'b', 'c']}))";
    let cases = [
        (
            "cut_text",
            "text('begin ' + 'é😀'.repeat(500) + ' end'); return 'short';".to_owned(),
            100,
        ),
        ("cut_json", format!("return {rows};"), 200),
        (
            "cut_json_beside_text",
            format!("text('before'); text({rows}); text('after');"),
            200,
        ),
        (
            "cut_error",
            "text('x'.repeat(3000)); throw new Error('the reason ' + 'y'.repeat(50));".to_owned(),
            150,
        ),
        (
            "cut_many",
            "for (let n = 0; n < 1000; n++) text(`item ${n}`);".to_owned(),
            20,
        ),
        ("cut_to_nothing", "text('something');".to_owned(), 0),
    ];
    for (name, code, tokens) in cases {
        let mut both = String::new();
        for kind in [LayoutKind::Items, LayoutKind::Joined] {
            let (_, text, _folder) = cut(&code, kind, tokens).await;
            writeln!(both, "--- {kind:?}\n{text}").unwrap();
        }
        insta::assert_snapshot!(name, both, &code);
    }
}

#[tokio::test]
async fn cut_output_stays_near_its_budget() {
    for kind in [LayoutKind::Items, LayoutKind::Joined] {
        for code in [
            "for (let n = 0; n < 5000; n++) text('x'.repeat(n % 7));",
            "text('z'.repeat(1e6)); throw new Error('e'.repeat(1e6));",
        ] {
            let (laid_out, _, _folder) = cut(code, kind, 1_000).await;
            let characters: usize = laid_out
                .content
                .iter()
                .filter_map(ContentBlock::as_text)
                .map(|text| text.chars().count())
                .sum();
            assert!(characters < 5_000, "{kind:?} {code}: {characters}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    for (code, extension) in [
        ("return [...Array(999).keys()];", "json"),
        ("text('plain '.repeat(200));", "txt"),
    ] {
        let (laid_out, ..) = {
            let (laid_out, text, folder) = cut(code, LayoutKind::Items, 50).await;
            let path = laid_out.full_output_path.clone().unwrap();
            assert_eq!(
                std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600
            );
            assert!(text.contains("Full output: FOLDER/FILE"), "{text}");
            (laid_out, text, folder)
        };
        // The note is part of the output, so only a file without one is JSON; see below.
        assert_eq!(
            laid_out.full_output_path.unwrap().extension().unwrap(),
            "txt",
            "{extension}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let options = LayoutOptions {
        output_tokens_max: 50,
        folder: Some(OutputFolder::new(folder.path())),
        ..LayoutOptions::default()
    };
    let path = lay_out(&run("return [...Array(999).keys()];").await, &options)
        .full_output_path
        .unwrap();
    assert_eq!(path.extension().unwrap(), "json");
    let whole: Vec<u32> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(whole.len(), 999);
}

#[tokio::test]
async fn without_a_folder_the_result_says_what_is_lost() {
    for kind in [LayoutKind::Items, LayoutKind::Joined] {
        let options = LayoutOptions {
            kind,
            output_tokens_max: 10,
            ..LayoutOptions::default()
        };
        let result = run("text('x'.repeat(500)); image(`data:image/png;base64,${PNG}`);").await;
        let text = shown(&lay_out(&result, &options), Path::new("/nowhere"));
        assert!(
            text.contains("The full output could not be saved: no folder"),
            "{text}"
        );
        assert!(
            text.contains("[Image not saved (image/png): no folder"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_image_is_saved_once_per_content() {
    let folder = tempfile::tempdir().unwrap();
    let output = OutputFolder::new(folder.path());
    for kind in [LayoutKind::Items, LayoutKind::Joined] {
        let options = LayoutOptions {
            kind,
            folder: Some(output.clone()),
            ..LayoutOptions::default()
        };
        let result =
            run("const url = `data:image/png;base64,${PNG}`; image(url); image(url);").await;
        let images = lay_out(&result, &options)
            .content
            .into_iter()
            .filter(|block| block.as_text().is_none())
            .count();
        assert_eq!(images, 2);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn images_have_a_budget_of_their_own() {
    // Three pictures of 6 MB: two fit into 16 MiB of base64 together with a small one.
    let code = "const head = 'iVBORw0KGgoA'; const url = (n) => `data:image/png;base64,${head}${'AAAA'.repeat(n)}`;
        for (const n of [1_500_000, 1_500_001, 1_500_002, 1]) image(url(n));";
    let vm = pirn_vm::Limits {
        output_characters: 64 << 20,
        ..pirn_vm::Limits::default()
    };
    let limits = pirn_codemode::ScriptLimits {
        vm,
        ..short_grace()
    };
    let result = Lab::new().run_with(code, options(limits)).await;
    for kind in [LayoutKind::Items, LayoutKind::Joined] {
        let laid_out = lay_out(
            &result,
            &LayoutOptions {
                kind,
                ..LayoutOptions::default()
            },
        );
        let images = laid_out
            .content
            .iter()
            .filter(|block| block.as_text().is_none())
            .count();
        let text = shown(&laid_out, Path::new("/nowhere"));
        assert_eq!(
            (images, text.matches("[Image not shown").count()),
            (3, 1),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn many_calls_are_counted_instead_of_listed() {
    let code =
        "for (let n = 0; n < 100; n++) await tools.echo(n); await tools.fail({message: 'last'});";
    let result = Lab::new().run_with(code, RunOptions::default()).await;
    let text = shown(
        &lay_out(&result, &LayoutOptions::default()),
        Path::new("/nowhere"),
    );
    assert!(
        text.trim_end()
            .ends_with("(they are not undone): echo (ok) ×100, fail (error) ×1"),
        "{text}"
    );
}
