//! `grep` over a large tree, against ripgrep itself.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::Options;
use crate::process::pirn;
use crate::report::Report;
use crate::stats::Samples;

const FILES: usize = 20_000;
/// About 1 GB in all.
const FILE_BYTES: usize = 53_687;
const NEEDLE: &str = "needle_in_the_haystack";
const RUNS: usize = 9;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants("grep.ratio") {
        return Ok(());
    }
    if Command::new("rg").arg("--version").output().is_err() {
        report.note(
            "grep.ratio is left out: ripgrep (`rg`), which it compares with, is not installed",
        );
        return Ok(());
    }
    let tree = tempfile::tempdir()?;
    make_tree(tree.path())?;
    let pirn = pirn()?;
    let script = format!("return (await tools.grep({{pattern: '{NEEDLE}'}})).split('\\n').length;");
    let ours = |tree: &Path| {
        timed(
            Command::new(&pirn)
                .args(["exec", "-e", &script])
                .current_dir(tree),
        )
    };
    let theirs = |tree: &Path| {
        timed(
            Command::new("rg")
                .args(["--no-config", "--hidden", "-n", NEEDLE])
                .current_dir(tree),
        )
    };
    // Both once, so that the tree is in memory for both.
    ours(tree.path())?;
    theirs(tree.path())?;
    let ratios = (0..RUNS)
        .map(|_| Ok(ours(tree.path())? / theirs(tree.path())?))
        .collect::<Result<Vec<f64>>>()?;
    report.add("grep.ratio", "x", 1.3, &Samples::new(ratios));
    Ok(())
}

fn timed(command: &mut Command) -> Result<f64> {
    let at = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(at.elapsed().as_secs_f64())
}

/// Text that looks like source, the same every time; a few files hold the needle.
fn make_tree(root: &Path) -> Result<()> {
    let mut line = 0_u64;
    for number in 0..FILES {
        let folder = root.join(format!("part{}/module{}", number % 40, number % 400));
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("file{number}.txt"));
        let mut file =
            BufWriter::new(fs::File::create(&path).with_context(|| path.display().to_string())?);
        let mut written = 0;
        while written < FILE_BYTES {
            line = line
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let text = format!(
                "fn value_{:x}(input: &str) -> Result<u64, Error> {{ input.parse() }}\n",
                line >> 33
            );
            file.write_all(text.as_bytes())?;
            written += text.len();
        }
        if number % 1_000 == 7 {
            writeln!(file, "// {NEEDLE} {number}")?;
        }
    }
    Ok(())
}
