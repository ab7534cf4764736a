//! The first command in a large workspace, which is looked through before it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use pirn_sandbox::{Command, Sandbox, SandboxPolicy};

use crate::Options;
use crate::report::Report;
use crate::stats::Samples;

/// Enough for a median; each run looks through everything again.
const RUNS: usize = 10;
const FOLDERS: usize = 25_000;
const FILES_EACH: usize = 20;
const REPOSITORIES: usize = 400;

/// A large tree, and the figures of the commands in it.
struct Workspace {
    fill: fn(&Path) -> Result<()>,
    figures: [&'static str; COMMANDS.len()],
}

const WORKSPACES: [Workspace; 2] = [
    Workspace {
        fill: half_a_million_files,
        figures: [
            "sandbox.first.files_commit_ms",
            "sandbox.first.files_cargo_ms",
        ],
    },
    Workspace {
        fill: four_hundred_repositories,
        figures: [
            "sandbox.first.repositories_commit_ms",
            "sandbox.first.repositories_cargo_ms",
        ],
    },
];

/// What is run first.
const COMMANDS: [&[&str]; 2] = [
    &["git", "commit", "-q", "--allow-empty", "-m", "one more"],
    &["cargo", "check", "-q", "--offline"],
];

pub(crate) async fn measure(options: &Options, report: &mut Report) -> Result<()> {
    for Workspace { fill, figures } in WORKSPACES {
        if !figures.iter().any(|figure| options.wants(figure)) {
            continue;
        }
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        fill(&root)?;
        make_work(&root).await?;
        for (figure, command) in figures.into_iter().zip(COMMANDS) {
            let mut times = Vec::new();
            for _run in 0..RUNS {
                let at = Instant::now();
                let sandbox = Sandbox::prepare(SandboxPolicy {
                    home: std::env::home_dir(),
                    ..SandboxPolicy::new(&root, std::env::temp_dir())
                })?;
                run(&root, command, Some(&sandbox)).await?;
                times.push(at.elapsed().as_secs_f64() * 1e3);
            }
            report.add(figure, "ms", 500.0, &Samples::new(times));
        }
    }
    Ok(())
}

fn half_a_million_files(root: &Path) -> Result<()> {
    for number in 0..FOLDERS {
        let folder = root.join(format!("part{}/module{number}", number % 50));
        fs::create_dir_all(&folder)?;
        for file in 0..FILES_EACH {
            fs::write(folder.join(format!("file{file}.rs")), "")?;
        }
    }
    Ok(())
}

fn four_hundred_repositories(root: &Path) -> Result<()> {
    for number in 0..REPOSITORIES {
        let git = root.join(format!("project{number}/.git"));
        for folder in ["objects", "refs/heads", "hooks"] {
            fs::create_dir_all(git.join(folder))?;
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        fs::write(git.join("config"), "[core]\n\tbare = false\n")?;
    }
    Ok(())
}

/// A repository and a package at the top.
async fn make_work(root: &Path) -> Result<()> {
    run(root, &["git", "init", "-q"], None).await?;
    for (key, value) in [("user.name", "Bench"), ("user.email", "bench@localhost")] {
        run(root, &["git", "config", key, value], None).await?;
    }
    fs::create_dir_all(root.join("src"))?;
    fs::write(root.join("src/lib.rs"), "")?;
    let package = "[package]\nname = \"first\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(root.join("Cargo.toml"), package)?;
    for command in COMMANDS {
        run(root, command, None).await?;
    }
    Ok(())
}

async fn run(root: &Path, command: &[&str], sandbox: Option<&Sandbox>) -> Result<()> {
    let (program, arguments) = command.split_first().context("a command has a program")?;
    let mut command = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .envs(std::env::vars_os());
    if let Some(sandbox) = sandbox {
        command = command.sandbox(sandbox);
    }
    let child = command.spawn()?;
    let status = child.wait().await;
    if !status.is_success() {
        bail!("{program} {arguments:?} ended with {status}");
    }
    Ok(())
}
