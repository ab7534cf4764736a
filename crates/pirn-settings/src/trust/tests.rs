use std::path::{Path, PathBuf};

use super::store::PathCase;
use super::{
    Decision, DefaultTrust, HookAnswer, ProjectFile, ProjectFileKind, ProjectTrust, Reason, Trust,
    TrustAnswer, TrustHook, TrustStore, UserFolders, Verdict, project_folder,
};

struct Fixture {
    root: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        let (home, project) = (real.join("home/.pirn"), real.join("srv/project"));
        for folder in [&home, &project] {
            std::fs::create_dir_all(folder).unwrap();
        }
        Self {
            root,
            home,
            project,
        }
    }

    fn store(&self) -> TrustStore {
        TrustStore::new(Some(&self.home))
    }

    /// The file with `$` for the root.
    fn file(&self) -> Option<String> {
        let root = self.root.path().canonicalize().unwrap();
        let text = std::fs::read_to_string(self.home.join("trust.json")).ok()?;
        Some(text.replace(root.to_str().unwrap(), "$"))
    }

    fn write_file(&self, text: &str) {
        let root = self.root.path().canonicalize().unwrap();
        let text = text.replace('$', root.to_str().unwrap());
        std::fs::write(self.home.join("trust.json"), text).unwrap();
    }

    fn gate(&self) {
        std::fs::create_dir_all(self.project.join(".pirn")).unwrap();
        std::fs::write(self.project.join(".pirn/mcp.json"), "{}").unwrap();
    }

    fn gated(&self) -> Vec<ProjectFile> {
        ProjectFile::find(
            &self.project,
            &ProjectFileKind::ALL,
            &UserFolders::default(),
        )
    }

    fn project_trust(&self, flag: Option<Trust>, default_trust: DefaultTrust) -> ProjectTrust {
        ProjectTrust {
            folder: self.project.clone(),
            files: self.gated(),
            flag,
            hooks: Vec::new(),
            default_trust,
            store: self.store(),
        }
    }

    /// The verdict as one word and its reason, with `!` where the user was asked.
    fn verdict(
        &self,
        flag: Option<Trust>,
        default_trust: DefaultTrust,
        answer: Option<TrustAnswer>,
    ) -> String {
        let project = self.project_trust(flag, default_trust);
        let mut asked = "";
        let verdict = project.decide().and_then(|decision| match decision {
            Decision::Made(verdict) => Ok(verdict),
            Decision::Open => {
                asked = " !";
                answer.map_or(Ok(Verdict::UNDECIDED), |answer| project.answered(answer))
            }
        });
        match verdict {
            Ok(Verdict { trust, reason }) => {
                let is_own = reason == Reason::Saved(self.project.clone());
                let own = if is_own { " own" } else { "" };
                format!("{trust:?} {}{own}{asked}", reason.word())
            }
            Err(_) => format!("error{asked}"),
        }
    }
}

/// File, whether something needs trust, flag, setting, answer: verdict. `!` is where the user was asked.
const DECISIONS: &str = r#"
|                                               | no  |     | ask    |      | Trusted nothing-gated
|                                               | no  |     | never  |      | Trusted nothing-gated
|                                               | yes |     | ask    |      | Untrusted undecided !
|                                               | yes |     | never  |      | Untrusted setting
|                                               | yes |     | always |      | Trusted setting
|                                               | yes | yes | never  |      | Trusted flag
|                                               | yes | no  | always |      | Untrusted flag
|                                               | yes |     | ask    | yes  | Trusted answer !
|                                               | yes |     | ask    | no   | Untrusted answer !
| {"$/srv/project": false}                     | no  |     | ask    |      | Untrusted saved own
| {"$/srv/project": true}                      | yes |     | never  |      | Trusted saved own
| {"$/srv/project": false}                     | yes | yes | ask    |      | Trusted flag
| {"$/srv": true}                              | no  |     | ask    |      | Trusted saved
| {"$/srv": true}                              | yes |     | ask    |      | Untrusted undecided !
| {"$/srv": true}                              | yes |     | always |      | Trusted setting
| {"$/srv": true, "$/srv/project": false}     | yes |     | ask    |      | Untrusted saved own
| {"$/srv": true, "$/srv/project": null}      | yes |     | ask    |      | Untrusted undecided !
| {"$/srv": null}                              | yes |     | ask    |      | Untrusted undecided !
| {"/": false}                                  | no  |     | ask    |      | Untrusted saved
| {"$/srv/proj": true, "$/srv/project/x": true} | yes |   | ask    |      | Untrusted undecided !
| []                                            | yes |     | ask    |      | error
| []                                            | yes | yes | ask    |      | Trusted flag
| {                                             | no  |     | ask    |      | error
| {"$/other": "yes"}                            | yes |     | ask    |      | error
"#;

#[test]
fn the_order_of_what_decides() {
    for row in DECISIONS.trim().lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, file, gated, flag, setting, answer, expected] = cells[..] else {
            panic!("{row}");
        };
        let fixture = Fixture::new();
        if !file.is_empty() {
            fixture.write_file(file);
        }
        if gated == "yes" {
            fixture.gate();
        }
        let flag = match flag {
            "yes" => Some(Trust::Trusted),
            "no" => Some(Trust::Untrusted),
            _ => None,
        };
        let default_trust = match setting {
            "always" => DefaultTrust::Always,
            "never" => DefaultTrust::Never,
            _ => DefaultTrust::Ask,
        };
        let answer = match answer {
            "yes" => Some(TrustAnswer::TrustOnce),
            "no" => Some(TrustAnswer::DenyOnce),
            _ => None,
        };
        let verdict = fixture.verdict(flag, default_trust, answer);
        assert_eq!(verdict, expected, "{row}");
    }
}

/// A decision about a folder above covers what was there when it was given, and nothing that came later.
#[test]
fn a_decision_above_covers_the_files_it_was_given_for() {
    let fixture = Fixture::new();
    fixture.gate();
    let verdict = || fixture.verdict(None, DefaultTrust::Ask, None);
    assert_eq!(verdict(), "Untrusted undecided !");
    let above = fixture.project.parent().unwrap();
    TrustAnswer::Trust.save(above, &fixture.store()).unwrap();
    assert_eq!(verdict(), "Trusted saved");
    std::fs::write(
        fixture.project.join(".pirn/mcp.json"),
        "{\"mcpServers\": {}}",
    )
    .unwrap();
    assert_eq!(verdict(), "Untrusted undecided !");
    TrustAnswer::TrustParent
        .save(&fixture.project, &fixture.store())
        .unwrap();
    assert_eq!(verdict(), "Trusted saved");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc", fixture.project.join(".pirn/extensions")).unwrap();
        assert_eq!(verdict(), "Untrusted undecided !");
    }
}

#[test]
fn answers_are_kept() {
    let before = r#"{"$/zoo": false, "$/srv/project": false, "$/a": null}"#;
    let cases = [
        (
            TrustAnswer::Trust,
            "{\n  \"$/a\": null,\n  \"$/srv/project\": true,\n  \"$/zoo\": false\n}\n",
        ),
        (
            TrustAnswer::TrustParent,
            "{\n  \"$/a\": null,\n  \"$/srv\": true,\n  \"$/zoo\": false\n}\n",
        ),
        (
            TrustAnswer::Deny,
            "{\n  \"$/a\": null,\n  \"$/srv/project\": false,\n  \"$/zoo\": false\n}\n",
        ),
        (TrustAnswer::TrustOnce, before),
        (TrustAnswer::DenyOnce, before),
    ];
    for (answer, after) in cases {
        let fixture = Fixture::new();
        fixture.write_file(before);
        answer.save(&fixture.project, &fixture.store()).unwrap();
        assert_eq!(fixture.file().as_deref(), Some(after), "{answer:?}");
    }
}

#[test]
fn what_cannot_be_understood_is_never_replaced() {
    for text in ["", "{", "[]", r#"{"a": 1}"#, "\u{feff}{}", "null"] {
        let fixture = Fixture::new();
        fixture.write_file(text);
        let error = TrustAnswer::Trust
            .save(&fixture.project, &fixture.store())
            .unwrap_err();
        assert!(error.to_string().contains("trust.json"), "{error}");
        assert_eq!(fixture.file().as_deref(), Some(text));
    }
    // A folder in its place cannot be read.
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.home.join("trust.json")).unwrap();
    assert!(fixture.store().nearest(&fixture.project).is_err());
}

#[test]
fn the_first_decision_makes_the_folder() {
    let fixture = Fixture::new();
    std::fs::remove_dir(&fixture.home).unwrap();
    TrustAnswer::Deny
        .save(&fixture.project, &fixture.store())
        .unwrap();
    assert_eq!(
        fixture.file().as_deref(),
        Some("{\n  \"$/srv/project\": false\n}\n")
    );
    let nowhere = TrustStore::new(None);
    assert_eq!(nowhere.nearest(&fixture.project).unwrap(), None);
    assert!(TrustAnswer::Trust.save(&fixture.project, &nowhere).is_err());
}

#[test]
fn a_held_lock_is_an_error_in_the_end() {
    let fixture = Fixture::new();
    let lock = std::fs::File::create(fixture.home.join("trust.json.lock")).unwrap();
    lock.lock().unwrap();
    let save = || TrustAnswer::Trust.save(&fixture.project, &fixture.store());
    assert!(save().unwrap_err().to_string().contains("another process"));
    assert_eq!(fixture.file(), None);
    lock.unlock().unwrap();
    save().unwrap();
}

#[test]
fn decisions_of_many_at_once_are_all_kept() {
    let fixture = Fixture::new();
    let folders: Vec<PathBuf> = (0..8)
        .map(|index| PathBuf::from(format!("/{index}")))
        .collect();
    std::thread::scope(|scope| {
        for folder in &folders {
            let store = fixture.store();
            scope.spawn(move || while TrustAnswer::Trust.save(folder, &store).is_err() {});
        }
    });
    for folder in &folders {
        assert!(fixture.store().nearest(folder).unwrap().is_some());
    }
}

#[test]
fn windows_compares_without_case() {
    let fixture = Fixture::new();
    std::fs::write(fixture.home.join("trust.json"), r#"{"/Srv/PROJECT": true}"#).unwrap();
    let (exact, loose) = (
        fixture.store().with_path_case(PathCase::Matters),
        fixture.store().with_path_case(PathCase::Ignored),
    );
    let project = Path::new("/srv/project");
    assert_eq!(exact.nearest(project).unwrap(), None);
    assert_eq!(
        loose.nearest(project).unwrap(),
        Some((project.to_owned(), Trust::Trusted))
    );
    TrustAnswer::Deny.save(project, &loose).unwrap();
    assert_eq!(
        fixture.file().as_deref(),
        Some("{\n  \"/srv/project\": false\n}\n")
    );
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_is_not_taken_for_another() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = Fixture::new();
    let folder = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff"));
    assert!(TrustAnswer::Trust.save(folder, &fixture.store()).is_err());
    std::fs::write(fixture.home.join("trust.json"), "{\"/a\u{fffd}\": true}").unwrap();
    assert_eq!(fixture.store().nearest(folder).unwrap(), None);
}

#[test]
fn what_needs_trust() {
    let fixture = Fixture::new();
    let work = fixture.project.parent().unwrap().to_owned();
    std::fs::create_dir_all(fixture.project.join(".pirn/skills")).unwrap();
    assert_eq!(
        ProjectFile::find(
            &fixture.project,
            &[ProjectFileKind::McpServers],
            &UserFolders::default()
        ),
        []
    );
    for path in [
        ".pirn/mcp.json",
        ".pirn/SYSTEM.md",
        ".pirn/trust.json",
        "AGENTS.md",
    ] {
        std::fs::write(fixture.project.join(path), "").unwrap();
    }
    std::fs::create_dir_all(work.join(".agents/skills")).unwrap();
    let find = |owner: &UserFolders<'_>| -> Vec<String> {
        ProjectFile::find(&fixture.project, &ProjectFileKind::ALL, owner)
            .iter()
            .map(|gated| {
                let shown = gated.path_from(&fixture.project).display().to_string();
                shown.replace(work.to_str().unwrap(), "^")
            })
            .collect()
    };
    let own = fixture.project.join(".pirn");
    let project = [".pirn/mcp.json", ".pirn/skills", ".pirn/SYSTEM.md"];
    assert_eq!(
        find(&UserFolders::default()),
        [&project[..], &["^/.agents/skills"]].concat()
    );
    assert_eq!(
        find(&UserFolders {
            home: Some(&work),
            pirn_home: Some(&fixture.home)
        }),
        project
    );
    assert_eq!(
        find(&UserFolders {
            home: Some(&work),
            pirn_home: Some(&own)
        }),
        Vec::<String>::new()
    );
    assert_eq!(project_folder(&fixture.project, Some(&own)), None);
}

#[test]
fn hooks_come_before_what_was_kept_and_after_flags() {
    let hook = |answer| -> TrustHook { Box::new(move |_, _| answer) };
    let fixture = Fixture::new();
    fixture.gate();
    fixture.write_file("{\"$/srv/project\": false}");
    let decided = |flag, hooks| {
        let mut project = fixture.project_trust(flag, DefaultTrust::Never);
        project.hooks = hooks;
        let Verdict { trust, reason } = project.known().unwrap();
        (trust, reason.word())
    };
    let undecided = || hook(HookAnswer::Undecided);
    assert_eq!(
        decided(None, vec![undecided(), hook(HookAnswer::Trusted)]),
        (Trust::Trusted, "hook")
    );
    assert_eq!(
        decided(
            None,
            vec![hook(HookAnswer::Untrusted), hook(HookAnswer::Trusted)]
        ),
        (Trust::Untrusted, "hook")
    );
    assert_eq!(
        decided(None, vec![undecided()]),
        (Trust::Untrusted, "saved")
    );
    assert_eq!(
        decided(Some(Trust::Untrusted), vec![hook(HookAnswer::Trusted)]),
        (Trust::Untrusted, "flag")
    );
}
