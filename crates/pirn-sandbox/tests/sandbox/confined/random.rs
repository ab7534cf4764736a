//! Random trees and random policies: a command tries every path, and what it reached is what the policy says.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pirn_sandbox::{Level, Profile, Readable, Sandbox};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{Place, levels_with_namespaces};

/// Cases by default; each is a sandbox with a command in it, which takes a tenth of a second.
const CASES: u32 = 12;
/// The variable with another number of cases.
const CASES_VARIABLE: &str = "PIRN_SANDBOX_TEST_CASES";

/// Names of folders and files, some of which mean something.
const NAMES: &[&str] = &[
    "a",
    "b",
    ".env",
    ".env.d",
    ".vscode",
    ".pirn",
    "node_modules",
    "hidden",
    ".dot",
];

/// A policy and the files it is about, by their paths below the place.
#[derive(Debug, Clone)]
struct Case {
    files: Vec<String>,
    write_roots: Vec<&'static str>,
    is_read_only: bool,
    is_listed: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let name = prop::sample::select(NAMES);
    let top = prop::sample::select(vec!["work", "home", "extra", "other", "work/root"]);
    let file = (top, prop::collection::vec(name, 0..3)).prop_map(|(top, names)| {
        let mut path = vec![top];
        path.extend(names);
        path.push("file");
        path.join("/")
    });
    let root = prop::sample::select(vec!["extra", "work/root", "home/.dot", "missing"]);
    (
        prop::collection::vec(file, 1..12),
        prop::collection::vec(root, 0..3),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.3),
    )
        .prop_map(|(files, write_roots, is_read_only, is_listed)| Case {
            files,
            write_roots,
            is_read_only,
            is_listed,
        })
}

/// What a path allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    reads: bool,
    writes: bool,
}

impl Case {
    /// What the policy says, by rules of its own: as the manual tells them, and not as the sandbox works them out.
    fn wanted(&self, file: &str) -> Access {
        let parts: Vec<&str> = file.split('/').collect();
        let is_below = |root: &str| file.starts_with(&format!("{root}/"));
        let roots = self
            .write_roots
            .iter()
            .filter(|root| !self.is_read_only && **root != "missing");
        let is_work = is_below("work");
        let is_in_root = is_work || roots.clone().any(|root| is_below(root));
        let is_searched = is_work || roots.clone().any(|root| is_below(root));
        // Which part of the path comes first as somebody else's, who has it by the thousand.
        let foreign = parts.iter().position(|part| *part == "node_modules");
        let is_named =
            |part: &str, at: usize| foreign.is_none_or(|foreign| at < foreign) && parts[at] == part;
        let inside = |names: &[&str]| {
            is_searched && (1..parts.len()).any(|at| names.iter().any(|name| is_named(name, at)))
        };
        let is_dotted_at_home = is_below("home")
            && parts.get(1).is_some_and(|part| part.starts_with('.'))
            && !roots
                .clone()
                .any(|root| is_below(root) && root.starts_with("home/"));
        let is_hidden =
            is_dotted_at_home || inside(&[".env", ".env.d"]) || is_below("other/hidden");
        let is_shown = !self.is_listed || is_in_root || is_work;
        let is_pirn = (1..parts.len()).any(|at| parts[at] == ".pirn");
        let is_protected = inside(&[".vscode"]) || is_searched && is_pirn;
        let writes = !self.is_read_only && is_in_root && !is_hidden && !is_protected;
        Access {
            reads: is_shown && !is_hidden,
            writes,
        }
    }
}

async fn reached(case: &Case, level: Level) -> BTreeMap<String, Access> {
    // Below the shared temporary folder only some of it would be there.
    let place = Place::in_folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    let root = place.folder.path().canonicalize().unwrap();
    for file in &case.files {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "content\n").unwrap();
    }
    let mut policy = place.policy(level);
    policy
        .unreadable
        .push(root.join("other/hidden").display().to_string());
    policy.write_roots = case
        .write_roots
        .iter()
        .map(|path| root.join(path))
        .collect();
    if case.is_read_only {
        policy.profile = Profile::ReadOnly;
    }
    if case.is_listed {
        policy.readable = Readable::Only(Vec::<PathBuf>::new());
    }
    let sandbox = Sandbox::prepare(policy).unwrap();
    let probe = |file: &String| {
        let path = root.join(file).display().to_string();
        format!(
            "r=no; w=no; [ \"$(cat '{path}' 2>/dev/null)\" = content ] && r=yes; (: >> '{path}') 2>/dev/null && w=yes; \
             echo \"{file} $r $w\"\n"
        )
    };
    let script: String = case.files.iter().map(probe).collect::<Vec<_>>().concat();
    let (_status, text) = place.run(&sandbox, &script).await;
    text.lines()
        .map(|line| {
            let mut fields = line.rsplitn(3, ' ');
            let (writes, reads) = (fields.next() == Some("yes"), fields.next() == Some("yes"));
            (fields.next().unwrap().to_owned(), Access { reads, writes })
        })
        .collect()
}

#[test]
fn what_a_command_reaches_is_what_the_policy_says() {
    let cases = std::env::var(CASES_VARIABLE)
        .ok()
        .and_then(|text| text.parse().ok());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for level in levels_with_namespaces() {
        let mut runner = TestRunner::new(Config {
            cases: cases.unwrap_or(CASES),
            failure_persistence: None,
            ..Config::default()
        });
        let result = runner.run(&case(), |case| {
            let reached = runtime.block_on(reached(&case, level));
            for file in &case.files {
                prop_assert_eq!(
                    reached.get(file).copied(),
                    Some(case.wanted(file)),
                    "{:?}: {}: {:?}",
                    level,
                    file,
                    &case
                );
            }
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
    }
}
