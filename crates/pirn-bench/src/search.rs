//! `grep` and `find` over a large tree as a user's scripts do it, confined as by default, against ripgrep and fd.

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

const FILES: usize = 110_000;
/// About 0.9 GB in all.
const FILE_BYTES: usize = 8_000;
const NEEDLE: &str = "needle_in_the_haystack";
const RUNS: usize = 9;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let wants_grep = options.wants("grep.ratio");
    let wants_find = options.wants("find.ratio");
    if !(wants_grep || wants_find) {
        return Ok(());
    }
    let tree = tempfile::tempdir()?;
    make_tree(tree.path())?;
    if wants_grep {
        let script = format!("return (await tools.grep({{pattern: '{NEEDLE}'}})).length");
        let arguments = ["--no-config", "--hidden", "-n", NEEDLE];
        match installed(&["rg"]) {
            Some(program) => {
                let ratios = ratios(tree.path(), &script, program, &arguments)?;
                report.add("grep.ratio", "x", 1.3, &ratios);
            }
            None => report.note(
                "grep.ratio is left out: ripgrep (`rg`), which it compares with, is not installed",
            ),
        }
    }
    if wants_find {
        let script = "return (await tools.find({pattern: '*77.txt'})).length";
        let arguments = ["--hidden", "--glob", "*77.txt"];
        match installed(&["fdfind", "fd"]) {
            Some(program) => {
                let ratios = ratios(tree.path(), script, program, &arguments)?;
                report.add("find.ratio", "x", 1.3, &ratios);
            }
            None => report.note(
                "find.ratio is left out: fd (`fdfind`), which it compares with, is not installed",
            ),
        }
    }
    Ok(())
}

/// The first of the programs that is there.
fn installed(programs: &[&'static str]) -> Option<&'static str> {
    programs
        .iter()
        .copied()
        .find(|program| Command::new(program).arg("--version").output().is_ok())
}

/// How much longer our script takes than another program, both as whole processes.
fn ratios(tree: &Path, script: &str, program: &str, arguments: &[&str]) -> Result<Samples> {
    let pirn = pirn()?;
    let ours = || {
        timed(
            Command::new(&pirn)
                .args(["exec", "-e", script])
                .current_dir(tree),
        )
    };
    let theirs = || timed(Command::new(program).args(arguments).current_dir(tree));
    // Both once, so that the tree is in memory for both.
    ours()?;
    theirs()?;
    let ratios = (0..RUNS)
        .map(|_| Ok(ours()? / theirs()?))
        .collect::<Result<Vec<f64>>>()?;
    Ok(Samples::new(ratios))
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
        let folder = root.join(format!("part{}/module{}", number % 50, number % 5_000));
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
