//! What the rules look at: the packages as cargo sees them and the files as git sees them.

use crate::command;
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A snapshot of the repository.
#[derive(Debug)]
pub(crate) struct Repository {
    /// Where it lies on this machine.
    pub(crate) root: PathBuf,
    /// The packages of the workspace, by name.
    pub(crate) members: Vec<Package>,
    /// Everything in `Cargo.lock` that does not belong to the workspace.
    pub(crate) externals: Vec<Package>,
    /// Every file that git has or would add, by path.
    pub(crate) files: Vec<File>,
}

/// A package as `cargo metadata` describes it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Package {
    #[serde(default)]
    id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    #[serde(default)]
    pub(crate) dependencies: Vec<Dependency>,
    /// The registries it may go to; an empty list means that it is never published.
    pub(crate) publish: Option<Vec<String>>,
    #[serde(default)]
    manifest_path: PathBuf,
}

/// One dependency of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) kind: DependencyKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    #[default]
    Normal,
    Build,
    Dev,
}

impl<'de> Deserialize<'de> for DependencyKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<String>::deserialize(deserializer)?.as_deref() {
            None => Ok(Self::Normal),
            Some("build") => Ok(Self::Build),
            Some("dev") => Ok(Self::Dev),
            Some(kind) => Err(serde::de::Error::custom(format!(
                "unknown kind of dependency `{kind}`"
            ))),
        }
    }
}

/// A file of the repository.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Text(String),
    /// Not UTF-8, or with a zero byte.
    Binary,
}

impl File {
    /// The text, or nothing for a binary file.
    pub(crate) fn text(&self) -> &str {
        match &self.content {
            Content::Text(text) => text,
            Content::Binary => "",
        }
    }

    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        Path::new(&self.path)
            .extension()
            .and_then(std::ffi::OsStr::to_str)
            .is_some_and(|extension| extensions.contains(&extension))
    }

    /// True for a file that holds nothing but tests, benches or fuzz targets.
    pub(crate) fn is_test(&self) -> bool {
        let mut components: Vec<&str> = self.path.split('/').collect();
        let name = components.pop().unwrap_or_default();
        name == "tests.rs"
            || name.ends_with("_tests.rs")
            || components
                .iter()
                .any(|folder| ["tests", "benches", "fuzz"].contains(folder))
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
}

impl Repository {
    /// Reads packages and files.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let output = command::capture(command::cargo(root).args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--all-features",
        ]))?;
        let metadata: Metadata =
            serde_json::from_str(&output).context("cannot read the output of cargo metadata")?;
        let (mut members, externals): (Vec<_>, Vec<_>) = metadata
            .packages
            .into_iter()
            .partition(|package| metadata.workspace_members.contains(&package.id));
        members.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(Self {
            root: root.to_path_buf(),
            members,
            externals,
            files: files(root)?,
        })
    }

    /// The file with exactly this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The manifest of a member, relative to the root.
    pub(crate) fn manifest_of(&self, package: &Package) -> String {
        let path = &package.manifest_path;
        slashed(path.strip_prefix(&self.root).unwrap_or(path))
    }
}

fn files(root: &Path) -> Result<Vec<File>> {
    let output = command::capture(
        Command::new("git")
            .current_dir(root)
            // The clone of a CI machine often belongs to another user; only names are read here.
            .args(["-c", "safe.directory=*", "ls-files", "-z"])
            .args(["--cached", "--others", "--exclude-standard"]),
    )?;
    let paths: BTreeSet<&str> = output.split('\0').filter(|path| !path.is_empty()).collect();
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let absolute = root.join(path);
        // A deleted file stays in the index until the next commit.
        if !absolute.is_file() {
            continue;
        }
        let bytes = std::fs::read(&absolute).with_context(|| format!("cannot read {path}"))?;
        let content = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Content::Text(text),
            Ok(_) | Err(_) => Content::Binary,
        };
        files.push(File {
            path: path.to_owned(),
            content,
        });
    }
    Ok(files)
}

fn slashed(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Content, File, Package, Repository};
    use std::path::PathBuf;

    /// A repository that holds these files and nothing else.
    pub(crate) fn with_files(files: &[(&str, &str)]) -> Repository {
        Repository {
            root: PathBuf::from("/somewhere/checkout"),
            members: Vec::new(),
            externals: Vec::new(),
            files: files
                .iter()
                .map(|&(path, text)| File {
                    path: path.to_owned(),
                    content: Content::Text(text.to_owned()),
                })
                .collect(),
        }
    }

    /// A package with these direct dependencies.
    pub(crate) fn package(name: &str, dependencies: serde_json::Value) -> Package {
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            dependencies: serde_json::from_value(dependencies).unwrap(),
            ..Package::default()
        }
    }
}
