//! One trial for each attempt, level and user.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use pirn_sandbox::Level;

use crate::attempt::{Attempt, Control, Outcome};
use crate::evil::{self, Evil, Needs};
use crate::stage::{RUNTIME_VARIABLE, SET_ID_PROGRAM, text};
use crate::{rows, run};

/// The user and group that tests of root become: nobody's, on every system.
const NOBODY: u32 = 65_534;
/// Stands for no confinement.
const OFF: &str = "off";
/// After this an attempt in a workspace that gets in the way is taken to hang.
const EVIL_SECONDS_MAX: &str = "300";
/// How this program is started for one attempt.
const INNER: &str = "--inner";

/// As whom an attempt is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Root,
    Ordinary,
}

impl User {
    fn as_str(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Ordinary => "ordinary",
        }
    }
}

pub(crate) fn main() -> ExitCode {
    let rows = rows::all();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [INNER, name, level, root] => return inner(&rows, name, level, root, None),
        [INNER, name, level, root, evil] => return inner(&rows, name, level, root, Some(evil)),
        ["--table"] => return table(&rows),
        _ => {}
    }
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows.len(), "a name stands for one attempt");
    let users: &[User] = if is_root() {
        &[User::Root, User::Ordinary]
    } else {
        &[User::Ordinary]
    };
    let mut trials = evil_trials(&rows, users);
    for row in &rows {
        let levels = Level::ALL.map(Level::as_str).into_iter();
        let control = match row.control {
            Control::No => None,
            Control::GetsThrough => Some(OFF),
        };
        for level in levels.chain(control) {
            for user in users {
                trials.push(trial(row.name, level, *user, None));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Each row in a workspace that gets in the way, taken in turn; with soak, in each of them.
fn evil_trials(rows: &[Attempt], users: &[User]) -> Vec<Trial> {
    let mut trials = Vec::new();
    let may = |evil: &&Evil, user: User| {
        evil::is_possible(evil) && (evil.needs == Needs::Nothing || user == User::Root)
    };
    for (index, row) in rows.iter().enumerate() {
        if evil::is_soak() {
            for user in users {
                for evil in evil::ALL.iter().filter(|evil| may(evil, *user)) {
                    let levels = Level::ALL.map(Level::as_str).into_iter();
                    trials.extend(levels.map(|level| trial(row.name, level, *user, Some(evil))));
                }
            }
            continue;
        }
        // Those that both can have, as both in turn.
        let user = users[(index / evil::ALL.len()) % users.len()];
        let possible: Vec<_> = evil::ALL.iter().filter(|evil| may(evil, user)).collect();
        let evil = possible[index % possible.len()];
        trials.push(trial(row.name, Level::Strict.as_str(), user, Some(evil)));
    }
    trials
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn trial(
    name: &'static str,
    level: &'static str,
    user: User,
    evil: Option<&'static Evil>,
) -> Trial {
    let mut title = format!("{name}/{level}/{}", user.as_str());
    if let Some(evil) = evil {
        title = format!("{title}/{}", evil.name);
    }
    Trial::test(title, move || {
        outer(name, level, user, evil).map_err(Failed::from)
    })
}

/// Starts this program again, as the user in question, with descriptors that whoever starts programs might leave open.
fn outer(name: &str, level: &str, user: User, evil: Option<&Evil>) -> Result<(), String> {
    let own = std::env::current_exe().map_err(text)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix("esc-");
    // An installed program lies where nobody may write.
    let folder = builder
        .tempdir_in(base(&own, user))
        .or_else(|_not_writable| builder.tempdir())
        .map_err(text)?;
    let root = make_place(folder.path(), user)?;
    let leaked = folder.path().join("leaked");
    fs::write(&leaked, "").map_err(text)?;
    let runtime = runtime_folder(user)?;
    let mut command = Command::new("/bin/sh");
    command
        .args([
            "-c",
            "exec 7>>\"$1\" 8</ 9</etc/passwd; shift; exec \"$@\"",
            "sh",
        ])
        .arg(&leaked);
    if evil.is_some() {
        // Far beyond what any takes: this is for what never ends.
        command.args(["timeout", "--signal=KILL", EVIL_SECONDS_MAX]);
    }
    if evil.is_some_and(|evil| evil.needs == Needs::Mounts) {
        command.args(["unshare", "--mount", "--propagation", "private"]);
    }
    match user {
        User::Root => {}
        User::Ordinary if !is_root() => {}
        User::Ordinary => {
            command.args(["setpriv", "--clear-groups"]);
            command.arg(format!("--reuid={NOBODY}"));
            command.arg(format!("--regid={NOBODY}"));
        }
    }
    let output = command
        // The program may lie in a folder that the other user cannot enter.
        .args(["/proc/self/fd/0", INNER, name, level])
        .arg(&root)
        .args(evil.map(|evil| evil.name))
        .stdin(File::open(own).map_err(text)?)
        .env("PIRN_ESCAPE_SECRET", crate::stage::SECRET)
        .envs(
            runtime
                .iter()
                .map(|folder| (RUNTIME_VARIABLE, folder.path())),
        )
        .output()
        .map_err(text)?;
    if evil.is_some() {
        // Or the folder could not be removed.
        let opened = Command::new("chmod")
            .args(["-Rf", "u+rwx"])
            .arg(&root)
            .status();
        opened.map_err(text)?;
    }
    if output.status.success() && fs::read(&leaked).map_err(text)?.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout)
    ))
}

/// Where attempts take place: in the folder of everything that is built, because the shared temporary folder is hidden from
/// confined programs, and what cannot be seen is no test; not beside this program, where thousands of files would each need a
/// rule. There all the same where the user cannot get at the program.
fn base(own: &Path, user: User) -> PathBuf {
    let beside = own.ancestors().nth(3).unwrap_or(own);
    let is_open = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0)
    };
    if user == User::Ordinary && is_root() && !beside.ancestors().all(is_open) {
        std::env::temp_dir()
    } else {
        beside.to_owned()
    }
}

/// A folder below `/run` for the user's sockets, where we may make one.
fn runtime_folder(user: User) -> Result<Option<tempfile::TempDir>, String> {
    if !is_root() {
        return Ok(None);
    }
    let folder = tempfile::Builder::new()
        .prefix("pirn-escape-")
        .tempdir_in("/run")
        .map_err(text)?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).map_err(text)?;
    match user {
        User::Root => {}
        User::Ordinary => chown(folder.path(), Some(NOBODY), Some(NOBODY)).map_err(text)?,
    }
    Ok(Some(folder))
}

/// The folder of the attempt, which belongs to the user.
fn make_place(folder: &Path, user: User) -> Result<PathBuf, String> {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(text)?;
    let root = folder.join("root");
    let work = root.join("work");
    fs::create_dir_all(&work).map_err(text)?;
    if is_root() {
        let program = work.join(SET_ID_PROGRAM);
        fs::copy("/usr/bin/id", &program).map_err(text)?;
        fs::set_permissions(&program, Permissions::from_mode(0o4755)).map_err(text)?;
        if user == User::Ordinary {
            for place in [&root, &work] {
                chown(place, Some(NOBODY), Some(NOBODY)).map_err(text)?;
            }
        }
    }
    Ok(root)
}

/// Makes one attempt, in a process of its own.
fn inner(rows: &[Attempt], name: &str, level: &str, root: &str, evil: Option<&str>) -> ExitCode {
    let Some(row) = rows.iter().find(|row| row.name == name) else {
        return ExitCode::FAILURE;
    };
    let root = Path::new(root);
    let made = match (Level::from_name(level), evil) {
        (Some(level), None) => run::attempt(row, level, root),
        (Some(level), Some(evil)) => {
            Evil::named(evil).and_then(|evil| run::attempt_in(row, level, root, evil))
        }
        (None, _) => run::control(row, root),
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the rows for the documentation.
fn table(rows: &[Attempt]) -> ExitCode {
    println!("| attempt | what stops it | not stopped at | test |\n| --- | --- | --- | --- |");
    for row in rows {
        let mut open = Vec::new();
        for (level, outcome) in [
            (Level::Basic, row.expect.basic),
            (Level::Standard, row.expect.standard),
            (Level::Strict, row.expect.strict),
        ] {
            match outcome {
                Outcome::Denied(_) | Outcome::Contained => {}
                Outcome::Through(layer) => {
                    open.push(format!("{} (reported: {})", level.as_str(), layer.as_str()));
                }
                Outcome::Needs(layer, _) | Outcome::Unless(layer, _) => {
                    open.push(format!("{} without {}", level.as_str(), layer.as_str()));
                }
            }
        }
        println!(
            "| {} | {} | {} | `{}`{} |",
            row.name.replace('-', " "),
            row.stopped_by,
            open.join(", "),
            row.name,
            match row.control {
                Control::No => "",
                Control::GetsThrough => ", control",
            }
        );
    }
    ExitCode::SUCCESS
}
