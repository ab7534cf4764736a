//! The table of settings.

mod kind;

use std::path::{Path, PathBuf};

use pirn_sandbox::{Level, NetworkMode, Profile};

use crate::trust::DefaultTrust;
use crate::values::{CodemodeMode, EvalEngine, ReadableMode, TuiMode};
use kind::{unbounded, whole};

pub(crate) use kind::{Form, Kind, ProjectRule, Row};

/// The groups, with what they are about.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    (
        "sandbox",
        "Confinement of the commands that scripts and models run",
    ),
    ("bash", "The tool `bash`, which runs commands"),
    ("codemode", "Bounds of the scripts that models write"),
    ("eval", "The tool `eval`, which runs Python and JavaScript"),
    ("tui", "The terminal interface"),
];

/// Words that had other names before: the setting, the former word, and today's.
pub(crate) const FORMER_WORDS: &[(&str, &str, &str)] = &[
    ("sandbox.require", "lite", "basic"),
    ("sandbox.require", "full", "standard"),
    ("sandbox.require", "min", "strict"),
];

/// Variables of the environment that stand for a setting in one run, with what they stand for.
pub(crate) const VARIABLES: &[(&str, &str)] = &[("PIRN_SHELL", "bash.shell")];

/// Values of modes of the network.
const NETWORKS: &[&str] = &["off", "allow-list", "on"];

/// Every setting, in the order of the reference.
pub(crate) const ROWS: &[Row] = &[
    Row {
        key: "defaultProjectTrust",
        kind: Kind::Word(
            &["ask", "always", "never"],
            |settings, word| {
                settings.default_project_trust = DefaultTrust::from_name(word)?;
                Some(())
            },
            |settings| Some(settings.default_project_trust.as_str()),
        ),
        default: "\"ask\"",
        help: "What happens to a project that brings files of its own and that nobody has decided about: the question is asked, \
               the project is trusted, or it is not.",
        project: ProjectRule::User,
    },
    Row {
        key: "sandbox.profile",
        kind: Kind::Word(
            &["off", "workspace-write", "read-only"],
            |settings, word| {
                settings.sandbox.profile = Profile::from_name(word)?;
                Some(())
            },
            |settings| Some(settings.sandbox.profile.as_str()),
        ),
        default: "\"workspace-write\"",
        help: "What commands may write: everything (off), the working folder and a private temporary folder (workspace-write), \
               or only the latter (read-only).",
        project: ProjectRule::Strictness(|settings| match settings.sandbox.profile {
            Profile::Off => 0,
            Profile::WorkspaceWrite => 1,
            Profile::ReadOnly => 2,
        }),
    },
    Row {
        key: "sandbox.network",
        kind: Kind::Word(
            NETWORKS,
            |settings, word| {
                settings.sandbox.network = NetworkMode::from_name(word)?;
                Some(())
            },
            |settings| Some(settings.sandbox.network.as_str()),
        ),
        default: "\"on\"",
        help: "What commands may reach: nothing (off), the hosts of sandbox.allowedHosts (allow-list), or everything (on).",
        project: ProjectRule::Strictness(|settings| network_rank(settings.sandbox.network)),
    },
    Row {
        key: "sandbox.require",
        kind: Kind::Word(
            &["basic", "standard", "strict"],
            |settings, word| {
                settings.sandbox.require = Some(Level::from_name(word)?);
                Some(())
            },
            |settings| settings.sandbox.require.map(Level::as_str),
        ),
        default: "null",
        help: "The weakest level of confinement that is good enough. Where the machine cannot give it, commands are not run. \
               Without it, the strongest there is counts; `pirn doctor` tells which.",
        project: ProjectRule::Strictness(|settings| match settings.sandbox.require {
            None => 0,
            Some(Level::Basic) => 1,
            Some(Level::Standard) => 2,
            Some(Level::Strict) => 3,
        }),
    },
    Row {
        key: "sandbox.writeRoots",
        kind: Kind::Paths(|settings| &mut settings.sandbox.write_roots),
        default: "[]",
        help: "Further folders and files that may be written with workspace-write. Missing ones are left out.",
        project: ProjectRule::Covered(|settings, path| {
            is_below(path, &settings.sandbox.write_roots)
        }),
    },
    Row {
        key: "sandbox.readable",
        kind: Kind::Word(
            &["everything", "listed"],
            |settings, word| {
                settings.sandbox.readable = ReadableMode::from_name(word)?;
                Some(())
            },
            |settings| Some(settings.sandbox.readable.as_str()),
        ),
        default: "\"everything\"",
        help: "What commands may read: everything but sandbox.unreadable, or only the system's programs, what they may write, \
               and sandbox.readRoots (listed).",
        project: ProjectRule::Strictness(|settings| match settings.sandbox.readable {
            ReadableMode::Everything => 0,
            ReadableMode::Listed => 1,
        }),
    },
    Row {
        key: "sandbox.readRoots",
        kind: Kind::Paths(|settings| &mut settings.sandbox.read_roots),
        default: "[]",
        help: "Further folders and files that may be read where sandbox.readable is listed.",
        project: ProjectRule::Covered(|settings, path| {
            // Whatever a project lists is less than everything.
            settings.sandbox.readable == ReadableMode::Everything
                || is_below(path, &settings.sandbox.read_roots)
        }),
    },
    Row {
        key: "sandbox.unreadable",
        kind: Kind::Texts(Form::Pattern, |settings| &mut settings.sandbox.unreadable),
        default: "[\"...\"]",
        help: "Places that commands cannot read: absolute paths, paths below ~, and **/NAME for names at any depth, where * \
               stands for any characters. The entry ... stands for the default list; without it the list replaces that.",
        project: ProjectRule::Adds,
    },
    Row {
        key: "sandbox.unwritable",
        kind: Kind::Texts(Form::Pattern, |settings| &mut settings.sandbox.unwritable),
        default: "[\"...\"]",
        help: "Files and folders inside writable places that commands cannot write, because other programs start something by them; \
               written as in sandbox.unreadable, with ... for the default list.",
        project: ProjectRule::Adds,
    },
    Row {
        key: "sandbox.homeReadable",
        kind: Kind::Texts(Form::Pattern, |settings| {
            &mut settings.sandbox.home_readable
        }),
        default: "[\"...\"]",
        help: "Dotfiles and dot-folders of the home folder that commands can read; all others are closed to them. The entry ... \
               stands for the default list: toolchains, caches and settings that builds need.",
        project: ProjectRule::User,
    },
    Row {
        key: "sandbox.environment",
        kind: Kind::Texts(Form::Variable, |settings| &mut settings.sandbox.environment),
        default: "[]",
        help: "Variables that commands, programs and confined servers get though their names say that they hold secrets: those of \
               providers, and names with KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL in them.",
        project: ProjectRule::User,
    },
    Row {
        key: "sandbox.filesMax",
        kind: whole(1_000, 1_000_000_000, |settings| {
            &mut settings.sandbox.files_max
        }),
        default: "2000000",
        help: "How many files and folders of writable places are looked through for what must be protected. With more, no command \
               is run.",
        project: ProjectRule::User,
    },
    Row {
        key: "sandbox.placesMax",
        kind: whole(100, 50_000, |settings| &mut settings.sandbox.places_max),
        default: "20000",
        help: "How many places can be protected, and how many hidden. With more, no command is run.",
        project: ProjectRule::User,
    },
    Row {
        key: "sandbox.allowedHosts",
        kind: Kind::Texts(Form::Host, |settings| &mut settings.sandbox.allowed_hosts),
        default: "[]",
        help: "Hosts that commands may reach where sandbox.network is allow-list: a name, *. and a name for all hosts below it, \
               an address, or * for all; each with or without :PORT.",
        project: ProjectRule::Covered(|settings, host| {
            settings
                .sandbox
                .allowed_hosts
                .iter()
                .any(|allowed| Path::new(allowed) == host)
        }),
    },
    Row {
        key: "sandbox.deniedHosts",
        kind: Kind::Texts(Form::Host, |settings| &mut settings.sandbox.denied_hosts),
        default: "[]",
        help: "Hosts that are refused even where sandbox.allowedHosts or an answer allows them; written in the same way.",
        project: ProjectRule::Adds,
    },
    Row {
        key: "sandbox.privateNetworks",
        kind: Kind::Flag(|settings| &mut settings.sandbox.private_networks),
        default: "false",
        help: "Whether the name of an allowed host may lead to an address of a private network. This machine, its local link \
               and metadata services are never reached by name.",
        project: ProjectRule::Strictness(|settings| u64::from(!settings.sandbox.private_networks)),
    },
    Row {
        key: "sandbox.memoryMb",
        kind: unbounded(16, 1 << 24, |settings| &mut settings.sandbox.memory_mb),
        default: "null",
        help: "Memory of a command with all that it starts, in MiB. Needs a cgroup; without the setting there is no bound.",
        project: ProjectRule::Strictness(|settings| {
            settings
                .sandbox
                .memory_mb
                .map_or(0, |number| u64::MAX - number)
        }),
    },
    Row {
        key: "sandbox.processes",
        kind: whole(8, 1 << 22, |settings| &mut settings.sandbox.processes),
        default: "4096",
        help: "Processes and threads of a command at once.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.sandbox.processes),
    },
    Row {
        key: "bash.shell",
        kind: Kind::Program(|settings| &mut settings.bash.shell),
        default: "null",
        help: "The shell that runs commands: a path, or a name on the PATH. Without it /bin/bash, then bash and sh on the PATH.",
        project: ProjectRule::User,
    },
    Row {
        key: "bash.timeoutSeconds",
        kind: whole(1, 86_400, |settings| &mut settings.bash.timeout_seconds),
        default: "600",
        help: "Seconds after which a command is stopped whose call names no `timeout`.",
        project: ProjectRule::Free,
    },
    Row {
        key: "codemode.mode",
        kind: Kind::Word(
            &["off", "on", "only"],
            |settings, word| {
                settings.codemode.mode = CodemodeMode::from_name(word)?;
                Some(())
            },
            |settings| Some(settings.codemode.mode.as_str()),
        ),
        default: "\"on\"",
        help: "Whether the model of pirn -p writes scripts: not at all (off), beside calling tools itself (on), or as the only way \
               to call them (only).",
        project: ProjectRule::Free,
    },
    Row {
        key: "codemode.inlineBudget",
        kind: whole(0, 1_000_000, |settings| {
            &mut settings.codemode.inline_budget
        }),
        default: "3000",
        help: "Tokens, estimated, that tools may take in the description of exec; the others are named or found by searching. 0 names \
               namespaces only.",
        project: ProjectRule::Free,
    },
    Row {
        key: "codemode.memoryMb",
        kind: whole(8, 2_048, |settings| &mut settings.codemode.memory_mb),
        default: "256",
        help: "Memory of one script, in MiB.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.memory_mb),
    },
    Row {
        key: "codemode.memoryTotalMb",
        kind: whole(8, 1_048_576, |settings| {
            &mut settings.codemode.memory_total_mb
        }),
        default: "1024",
        help: "Memory of all scripts together, in MiB. A script that does not fit waits until another has ended.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.memory_total_mb),
    },
    Row {
        key: "codemode.cpuSeconds",
        kind: whole(1, 86_400, |settings| &mut settings.codemode.cpu_seconds),
        default: "60",
        help: "Processor time of one script, in seconds. Waiting for tools takes none.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.cpu_seconds),
    },
    Row {
        key: "codemode.timeoutSeconds",
        kind: whole(1, 86_400, |settings| &mut settings.codemode.timeout_seconds),
        default: "1800",
        help: "Seconds that a script may take in all. While only questions are open, they do not pass.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.timeout_seconds),
    },
    Row {
        key: "codemode.callsInFlight",
        kind: whole(1, 1_024, |settings| &mut settings.codemode.calls_in_flight),
        default: "64",
        help: "Calls of one script that run at the same time; further ones wait.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.calls_in_flight),
    },
    Row {
        key: "codemode.callsMax",
        kind: whole(1, 10_000_000, |settings| &mut settings.codemode.calls_max),
        default: "100000",
        help: "Calls that one script may make.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.calls_max),
    },
    Row {
        key: "codemode.sourceKb",
        kind: whole(1, 16_384, |settings| &mut settings.codemode.source_kb),
        default: "1024",
        help: "Size of a script's text, in KiB.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.source_kb),
    },
    Row {
        key: "codemode.stackKb",
        kind: whole(64, 2_048, |settings| &mut settings.codemode.stack_kb),
        default: "1024",
        help: "Stack of one script, in KiB: how deep its functions may call each other.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.stack_kb),
    },
    Row {
        key: "codemode.outputCharacters",
        kind: whole(1_000, 1 << 28, |settings| {
            &mut settings.codemode.output_characters
        }),
        default: "16777216",
        help: "Characters that one script may show in all.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.output_characters),
    },
    Row {
        key: "codemode.outputItems",
        kind: whole(1, 10_000_000, |settings| {
            &mut settings.codemode.output_items
        }),
        default: "100000",
        help: "Texts, console lines, images and sounds that one script may show in all.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.output_items),
    },
    Row {
        key: "codemode.callMb",
        kind: whole(1, 2_048, |settings| &mut settings.codemode.call_mb),
        default: "16",
        help: "Argument or result of one call of a script, in MiB of JSON.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.call_mb),
    },
    Row {
        key: "codemode.resultsMb",
        kind: whole(1, 65_536, |settings| &mut settings.codemode.results_mb),
        default: "256",
        help: "Results that wait until a script that computes reads them, in MiB. Where there is more, its further calls wait.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.results_mb),
    },
    Row {
        key: "codemode.storeValueCharacters",
        kind: whole(1, 1 << 20, |settings| {
            &mut settings.codemode.store_value_characters
        }),
        default: "262144",
        help: "Characters of JSON of one value that a script stores.",
        project: ProjectRule::Strictness(|settings| {
            u64::MAX - settings.codemode.store_value_characters
        }),
    },
    Row {
        key: "codemode.storeCharacters",
        kind: whole(1, 1 << 20, |settings| {
            &mut settings.codemode.store_characters
        }),
        default: "1048576",
        help: "Characters of JSON of all values together that scripts store.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.store_characters),
    },
    Row {
        key: "codemode.cellsMax",
        kind: whole(1, 1_024, |settings| &mut settings.codemode.cells_max),
        default: "128",
        help: "Scripts at the same time, in the background too. Of those that have ended, the oldest are dropped first; where all \
               run, no further one starts.",
        project: ProjectRule::Strictness(|settings| u64::MAX - settings.codemode.cells_max),
    },
    Row {
        key: "eval.python",
        kind: Kind::Program(|settings| &mut settings.eval.python),
        default: "null",
        help: "The Python to use: a path, or a name on the PATH. Without it the project's virtual environment, then python3.",
        project: ProjectRule::User,
    },
    Row {
        key: "eval.node",
        kind: Kind::Program(|settings| &mut settings.eval.node),
        default: "null",
        help: "The Node.js to use: a path, or a name on the PATH. Without it node; where that is missing, Pirn's own engine.",
        project: ProjectRule::User,
    },
    Row {
        key: "eval.engine",
        kind: Kind::Word(
            &["fresh", "persistent"],
            |settings, word| {
                settings.eval.engine = EvalEngine::from_name(word)?;
                Some(())
            },
            |settings| Some(settings.eval.engine.as_str()),
        ),
        default: "\"fresh\"",
        help: "What Python keeps between calls: a state of JSON values (fresh), or everything, in one process (persistent).",
        project: ProjectRule::Free,
    },
    Row {
        key: "eval.allowNonInteractive",
        kind: Kind::Flag(|settings| &mut settings.eval.allow_non_interactive),
        default: "false",
        help: "Whether code runs where there is nobody to ask.",
        project: ProjectRule::Strictness(|settings| {
            u64::from(!settings.eval.allow_non_interactive)
        }),
    },
    Row {
        key: "eval.requireConfirmation",
        kind: Kind::Flag(|settings| &mut settings.eval.require_confirmation),
        default: "true",
        help: "Whether all code is shown and asked about before it runs.",
        project: ProjectRule::Strictness(|settings| u64::from(settings.eval.require_confirmation)),
    },
    Row {
        key: "eval.rememberApprovals",
        kind: Kind::Flag(|settings| &mut settings.eval.remember_approvals),
        default: "false",
        help: "Whether the very same code with the same effects is asked about only once in a session.",
        project: ProjectRule::Strictness(|settings| u64::from(!settings.eval.remember_approvals)),
    },
    Row {
        key: "eval.effects",
        kind: Kind::Texts(
            Form::Word(&["read", "write", "process", "network"]),
            |settings| &mut settings.eval.effects,
        ),
        default: "[\"read\", \"process\"]",
        help: "Code may call tools that have no other effects than these.",
        project: ProjectRule::Covered(|settings, effect| {
            settings
                .eval
                .effects
                .iter()
                .any(|allowed| Path::new(allowed) == effect)
        }),
    },
    Row {
        key: "eval.network",
        kind: Kind::Word(
            NETWORKS,
            |settings, word| {
                settings.eval.network = NetworkMode::from_name(word)?;
                Some(())
            },
            |settings| Some(settings.eval.network.as_str()),
        ),
        default: "\"off\"",
        help: "What code may reach; the hosts of an allow-list are those of sandbox.allowedHosts.",
        project: ProjectRule::Strictness(|settings| network_rank(settings.eval.network)),
    },
    Row {
        key: "eval.timeoutSeconds",
        kind: whole(1, 120, |settings| &mut settings.eval.timeout_seconds),
        default: "30",
        help: "Seconds that a call may take when it names no time-out.",
        project: ProjectRule::Free,
    },
    Row {
        key: "tui.mode",
        kind: Kind::Word(
            &["inline", "fullscreen", "plain"],
            |settings, word| {
                settings.tui.mode = TuiMode::from_name(word)?;
                Some(())
            },
            |settings| Some(settings.tui.mode.as_str()),
        ),
        default: "\"inline\"",
        help: "How the interface shows the conversation: below the shell's history (inline), on a screen of its own (fullscreen), \
               or as lines that a screen reader reads (plain).",
        project: ProjectRule::User,
    },
];

/// The row of this key.
pub(crate) fn row(key: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.key == key)
}

/// Whether settings lie in the group of this key.
pub(crate) fn is_group(key: &str) -> bool {
    ROWS.iter().any(|row| {
        row.key
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

fn network_rank(mode: NetworkMode) -> u64 {
    match mode {
        NetworkMode::On => 0,
        NetworkMode::AllowList => 1,
        NetworkMode::Off => 2,
    }
}

fn is_below(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}
