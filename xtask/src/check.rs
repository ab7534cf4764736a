//! `cargo xtask check`: every check that a change must pass, the quick ones first.

use crate::{command, tidy};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What the caller wants to leave out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    fast: bool,
    no_tests: bool,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--fast" => options.fast = true,
                "--no-tests" => options.no_tests = true,
                unknown => bail!("`check` knows --fast and --no-tests, not `{unknown}`"),
            }
        }
        Ok(options)
    }

    fn leave_out(&self, step: &Step) -> bool {
        match step.kind {
            Kind::Quick => false,
            Kind::Slow => self.fast,
            Kind::Tests => self.no_tests,
            Kind::SlowTests => self.fast || self.no_tests,
        }
    }
}

/// How a step ended when it did not fail.
enum Outcome {
    Passed,
    Skipped(String),
}

enum Kind {
    Quick,
    Slow,
    Tests,
    SlowTests,
}

struct Step {
    name: &'static str,
    kind: Kind,
    run: fn(&Path) -> Result<Outcome>,
}

const STEPS: &[Step] = &[
    Step {
        name: "tidy",
        kind: Kind::Quick,
        run: |root| tidy::run(root).map(|()| Outcome::Passed),
    },
    Step {
        name: "formatting",
        kind: Kind::Quick,
        run: |root| cargo(root, &["fmt", "--all", "--check"]),
    },
    Step {
        name: "spelling",
        kind: Kind::Quick,
        run: spelling,
    },
    Step {
        name: "clippy",
        kind: Kind::Quick,
        run: |root| {
            let arguments = "clippy --workspace --all-targets --locked -- -D warnings";
            cargo(root, &arguments.split(' ').collect::<Vec<_>>())
        },
    },
    Step {
        name: "tests",
        kind: Kind::Tests,
        run: run_tests,
    },
    Step {
        name: "documentation tests",
        kind: Kind::SlowTests,
        run: |root| cargo(root, &["test", "--workspace", "--doc", "--locked"]),
    },
    Step {
        name: "documentation",
        kind: Kind::Slow,
        run: documentation,
    },
    Step {
        name: "guest digest",
        kind: Kind::Slow,
        run: |root| crate::vm::run(root, &["--check".to_owned()]).map(|()| Outcome::Passed),
    },
    Step {
        name: "fuzz targets",
        kind: Kind::Slow,
        run: fuzz_targets,
    },
];

pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let started = Instant::now();
    let steps: Vec<&Step> = STEPS
        .iter()
        .filter(|step| !options.leave_out(step))
        .collect();
    for (index, step) in steps.iter().enumerate() {
        println!("==> [{}/{}] {}", index + 1, steps.len(), step.name);
        let step_started = Instant::now();
        let outcome = (step.run)(root).with_context(|| format!("check failed: {}", step.name))?;
        let seconds = step_started.elapsed().as_secs_f32();
        match outcome {
            Outcome::Passed => println!("    ok in {seconds:.1} s"),
            Outcome::Skipped(reason) => println!("    skipped: {reason}"),
        }
    }
    let seconds = started.elapsed().as_secs_f32();
    println!("==> {} checks passed in {seconds:.1} s", steps.len());
    Ok(())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<Outcome> {
    command::run(command::cargo(root).args(arguments))?;
    Ok(Outcome::Passed)
}

/// `typos` is optional on a developer's machine and required where `CI` is set.
fn spelling(root: &Path) -> Result<Outcome> {
    let advice = "typos is not installed; `python3 -m pip install typos` adds it";
    let Some(typos) = command::find_program(root, "typos") else {
        if std::env::var_os("CI").is_some() {
            bail!(advice);
        }
        return Ok(Outcome::Skipped(advice.to_owned()));
    };
    command::run(std::process::Command::new(typos).current_dir(root))?;
    Ok(Outcome::Passed)
}

fn run_tests(root: &Path) -> Result<Outcome> {
    if command::find_program(root, "cargo-nextest").is_some() {
        cargo(root, &["nextest", "run", "--workspace", "--locked"])
    } else {
        let arguments = "test --workspace --lib --bins --tests --locked";
        cargo(root, &arguments.split(' ').collect::<Vec<_>>())
    }
}

fn documentation(root: &Path) -> Result<Outcome> {
    command::run(
        command::cargo(root)
            .args(["doc", "--workspace", "--no-deps", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    Ok(Outcome::Passed)
}

/// Compiles fuzz targets. They are workspaces of their own, since running them needs a nightly
/// compiler, but a target that no longer compiles is noticed here.
fn fuzz_targets(root: &Path) -> Result<Outcome> {
    let manifests = fuzz_manifests(root)?;
    if manifests.is_empty() {
        return Ok(Outcome::Skipped("there are none".to_owned()));
    }
    // Their dependencies are those of the workspace, so they share what is built.
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    for manifest in manifests {
        command::run(
            command::cargo(root)
                .args(["check", "--locked", "--bins", "--manifest-path"])
                .arg(manifest)
                .env("CARGO_TARGET_DIR", &target),
        )?;
    }
    Ok(Outcome::Passed)
}

fn fuzz_manifests(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![root.to_path_buf()];
    for entry in std::fs::read_dir(root.join("crates")).context("cannot list crates/")? {
        folders.push(entry?.path());
    }
    folders.sort();
    Ok(folders
        .into_iter()
        .map(|folder| folder.join("fuzz/Cargo.toml"))
        .filter(|manifest| manifest.is_file())
        .collect())
}

#[cfg(test)]
mod tests;
