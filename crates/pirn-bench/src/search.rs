//! Searching and reading files as a user's scripts do it, confined as by default: against ripgrep and fd, and by the clock of the
//! script.

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

/// Small files that are read side by side, and their size.
const READ_FILES: u32 = 1_000;
const READ_FILE_BYTES: usize = 2_000;
/// The file that is paged through, and the pages that are read deep in it.
const PAGED_BYTES: usize = 200_000_000;
const PAGES: u32 = 50;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    measure_search(options, report)?;
    measure_read(options, report)
}

fn measure_search(options: &Options, report: &mut Report) -> Result<()> {
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

fn measure_read(options: &Options, report: &mut Report) -> Result<()> {
    if options.wants("call.read_us") {
        let folder = tempfile::tempdir()?;
        for number in 0..READ_FILES {
            let path = folder.path().join(format!("{number}.txt"));
            fs::write(
                path,
                "a line of a small file\n".repeat(READ_FILE_BYTES / 23),
            )?;
        }
        let script = format!(
            "const at = Date.now();
             await Promise.all(Array.from({{length: {READ_FILES}}}, (_, n) => tools.read({{path: `${{n}}.txt`}})));
             return Date.now() - at;"
        );
        let each = script_times(folder.path(), &script, 1e3 / f64::from(READ_FILES))?;
        report.add("call.read_us", "µs", 40.0, &each);
    }
    if options.wants("read.page_ms") {
        let folder = tempfile::tempdir()?;
        let line = "2026-11-30T12:00:00Z INFO request served in 12 ms by worker 7\n";
        let lines = PAGED_BYTES / line.len();
        fs::write(folder.path().join("large.log"), line.repeat(lines))?;
        let script = format!(
            "const page = (n) => tools.read({{path: 'large.log', offset: {lines} - 2000 * (n + 1), limit: 1000}});
             await page(0);
             const at = Date.now();
             for (let n = 1; n <= {PAGES}; n++) await page(n);
             return Date.now() - at;"
        );
        let page = script_times(folder.path(), &script, 1.0 / f64::from(PAGES))?;
        report.add("read.page_ms", "ms", 5.0, &page);
    }
    Ok(())
}

/// The milliseconds that a script returns, times `factor`.
fn script_times(folder: &Path, script: &str, factor: f64) -> Result<Samples> {
    let pirn = pirn()?;
    let times = (0..RUNS)
        .map(|_| {
            let output = Command::new(&pirn)
                .args(["exec", "-q", "-e", script])
                .current_dir(folder)
                .stdin(Stdio::null())
                .output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            let milliseconds: f64 = text
                .trim()
                .parse()
                .with_context(|| format!("{text}{}", String::from_utf8_lossy(&output.stderr)))?;
            Ok(milliseconds * factor)
        })
        .collect::<Result<Vec<f64>>>()?;
    Ok(Samples::new(times))
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
