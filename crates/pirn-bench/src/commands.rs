//! Scripts and programs as people start them: the whole process, under the default settings.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::Options;
use crate::process::pirn;
use crate::report::Report;
use crate::stats::{Samples, sample};

/// Enough for a stable median of something that takes tens of milliseconds.
const RUNS: usize = 40;
/// For what takes longer.
const RUNS_FEW: usize = 10;
const FILES: usize = 1_000;
const COMMANDS: usize = 200;
const LOG_BYTES: usize = 200 * 1_024 * 1_024;
const PAGE_LINES: usize = 2_000;
const PAGES: usize = 200;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let pirn = pirn()?;
    let folder = tempfile::tempdir()?;
    let at = Place {
        pirn: &pirn,
        folder: folder.path(),
    };
    if options.wants("exec.bash_ms") {
        let times = sample(RUNS, || {
            at.script("return await tools.bash({command: 'true'})", &[])
        })?;
        report.add("exec.bash_ms", "ms", 35.0, &times);
    }
    if options.wants("bash.parallel") {
        let script = format!(
            "await Promise.all(Array.from({{length: {COMMANDS}}}, () => tools.bash({{command: 'true'}})))"
        );
        let ratios = sample(RUNS_FEW, || {
            let confined = at.script(&script, &[])?;
            anyhow::Ok(confined / at.script(&script, &["--sandbox", "off"])?)
        })?;
        report.add("bash.parallel", "x", 1.5, &ratios);
    }
    if options.wants("call.read_us") {
        report.add("call.read_us", "µs", 40.0, &at.small_files()?);
    }
    if options.wants("read.page_ms") {
        report.add("read.page_ms", "ms", 5.0, &at.pages()?);
    }
    if options.wants("eval.cold_ratio") {
        report.add("eval.cold_ratio", "x", 4.0, &at.cold_eval()?);
    }
    Ok(())
}

/// A folder in which commands are started.
#[derive(Clone, Copy)]
struct Place<'a> {
    pirn: &'a Path,
    folder: &'a Path,
}

impl Place<'_> {
    /// Milliseconds that a script takes, from the start of the process to its end.
    fn script(self, script: &str, flags: &[&str]) -> Result<f64> {
        let mut command = Command::new(self.pirn);
        command
            .args(["exec", "-q", "--yes=process"])
            .args(flags)
            .args(["-e", script]);
        self.timed(&mut command)
    }

    fn timed(self, command: &mut Command) -> Result<f64> {
        let at = Instant::now();
        let output = command
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()?;
        let time = at.elapsed().as_secs_f64() * 1e3;
        if !output.status.success() {
            bail!(
                "{command:?} ended with {}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(time)
    }

    /// What reading one of many small files at the same time adds to a script, in microseconds.
    #[expect(clippy::cast_precision_loss, reason = "a thousand files")]
    fn small_files(self) -> Result<Samples> {
        for number in 0..FILES {
            fs::write(
                self.folder.join(format!("file{number}.txt")),
                format!("file number {number}\n"),
            )?;
        }
        let script = format!(
            "const texts = await Promise.all(Array.from({{length: {FILES}}}, (_, i) => tools.read({{path: `file${{i}}.txt`}})));\n\
             if (texts.length !== {FILES} || !texts[7].startsWith('file number 7')) throw new Error('wrong text')"
        );
        sample(RUNS, || {
            let without = self.script("await tools.read({path: 'file0.txt'})", &[])?;
            anyhow::Ok((self.script(&script, &[])? - without) * 1e3 / FILES as f64)
        })
    }

    /// What one more page deep in a large log adds to a script that reads pages, in milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "two hundred pages")]
    fn pages(self) -> Result<Samples> {
        let mut log = String::with_capacity(LOG_BYTES + 100);
        let mut lines = 0_usize;
        while log.len() < LOG_BYTES {
            lines += 1;
            // Writing to a string cannot fail.
            let _infallible = writeln!(
                log,
                "{lines} info request served in {} ms by worker {}",
                lines % 977,
                lines % 31
            );
        }
        fs::write(self.folder.join("large.log"), &log)?;
        drop(log);
        let first = lines - (PAGES + 2) * PAGE_LINES;
        let script = |pages: usize| {
            format!(
                "for (let i = 0; i < {pages}; i += 1) {{\n\
                   const offset = {first} + i * {PAGE_LINES};\n\
                   const page = await tools.read({{path: 'large.log', offset, limit: {PAGE_LINES}}});\n\
                   if (!page.startsWith(`${{offset}} info`)) throw new Error('wrong page');\n\
                 }}"
            )
        };
        let (one, many) = (script(1), script(PAGES + 1));
        sample(RUNS_FEW, || {
            let first_page = self.script(&one, &[])?;
            anyhow::Ok((self.script(&many, &[])? - first_page) / PAGES as f64)
        })
    }

    /// A cold `1+1` in Python as a share of the interpreter's own start.
    fn cold_eval(self) -> Result<Samples> {
        let python = python()?;
        let program = ["-c", "1+1"];
        sample(RUNS, || {
            let mut eval = Command::new(self.pirn);
            eval.args(["eval", "-q", "--yes", "--python", "-e", "1+1"]);
            // The interpreter itself, not a version manager's script in front of it.
            if let Some(folder) = python.parent() {
                eval.env("PATH", folder);
            }
            let cold = self.timed(&mut eval)?;
            anyhow::Ok(cold / self.timed(Command::new(&python).args(program))?)
        })
    }
}

/// The interpreter that `python3` leads to.
fn python() -> Result<PathBuf> {
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .context("python3")?;
    Ok(PathBuf::from(
        String::from_utf8(output.stdout)?.trim().to_owned(),
    ))
}
