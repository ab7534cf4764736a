//! Places that are the same for everybody.

/// Programs, libraries and data of the system: readable even where only chosen places are.
pub(super) const READ_ROOTS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    // Package managers with a tree of their own.
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/System",
    "/Library",
];

/// What ordinary programs read from `/etc`; the rest may hold secrets of services.
pub(super) const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "bash_completion.d",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "environment",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "java",
    "java-8-openjdk",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "login.defs",
    "lsb-release",
    "machine-id",
    "magic",
    "mailcap",
    "maven",
    "mime.types",
    "mke2fs.conf",
    "netconfig",
    "networks",
    "npmrc",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pip.conf",
    "pki",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "python3.9",
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
    "redhat-release",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "skel",
    "ssl",
    "static",
    "terminfo",
    "timezone",
    "xattr.conf",
    "zsh",
];

/// Never writable, whatever the policy says: the kernel's own folders, and everything at once.
pub(super) const NEVER_WRITABLE: &[&str] = &["/proc", "/sys", "/dev"];

/// What runs at the user's next login or command, by its path in the home folder.
pub(super) const STARTUP_FILES: &[StartupFile] = &[
    // With a missing `.bash_profile`, a login shell reads the next one; so does what stands in for it.
    StartupFile::file_that_passes_on(".bash_profile", &[".bash_login", ".profile"]),
    StartupFile::file(".bash_login"),
    StartupFile::file(".bash_logout"),
    StartupFile::file(".bashrc"),
    StartupFile::file(".profile"),
    StartupFile::file(".zshenv"),
    StartupFile::file(".zprofile"),
    StartupFile::file(".zshrc"),
    StartupFile::file(".zlogin"),
    StartupFile::file(".zlogout"),
    StartupFile::file(".gitconfig"),
    StartupFile::file(".pam_environment"),
    StartupFile::file(".xprofile"),
    StartupFile::file(".xsessionrc"),
    StartupFile::folder(".ssh"),
    StartupFile::folder(".pirn"),
    StartupFile::folder(".config/autostart"),
    StartupFile::folder(".config/environment.d"),
    StartupFile::folder(".config/fish"),
    StartupFile::folder(".config/git"),
    StartupFile::folder(".config/systemd"),
];

/// A file or folder of [`STARTUP_FILES`].
pub(super) struct StartupFile {
    /// Below the home folder.
    pub(super) path: &'static str,
    pub(super) is_folder: bool,
    /// The files that are read instead when this one is missing, first one first.
    pub(super) instead: &'static [&'static str],
}

impl StartupFile {
    const fn file(path: &'static str) -> Self {
        Self::file_that_passes_on(path, &[])
    }

    const fn file_that_passes_on(path: &'static str, instead: &'static [&'static str]) -> Self {
        Self {
            path,
            is_folder: false,
            instead,
        }
    }

    const fn folder(path: &'static str) -> Self {
        Self {
            path,
            is_folder: true,
            instead: &[],
        }
    }
}

/// What stands in for a file after which this one in the home folder is not read any more.
pub(super) fn passing_on(name: &str) -> Vec<u8> {
    format!(". ~/{name}\n").into_bytes()
}

/// A file or folder by which another program starts something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherProgram {
    /// The place, written as in [`crate::Protection::unwritable`].
    pub pattern: &'static str,
    /// What it would start, for people.
    pub reason: &'static str,
}

const fn other(pattern: &'static str, reason: &'static str) -> OtherProgram {
    OtherProgram { pattern, reason }
}

/// What other agents, editors and shells start programs by, at any depth of writable folders.
pub const UNWRITABLE_DEFAULT: &[OtherProgram] = &[
    other(
        "**/.vscode",
        "tasks, debuggers and settings that name programs",
    ),
    other(
        "**/*.code-workspace",
        "the same for Visual Studio Code's workspaces",
    ),
    other("**/.idea", "run configurations and startup tasks"),
    other("**/.zed", "tasks and language servers"),
    other("**/.fleet", "run configurations"),
    other("**/.nova", "tasks"),
    other(
        "**/.devcontainer",
        "containers that an editor starts, with commands",
    ),
    other("**/.devcontainer.json", "the same in a file"),
    other("**/.claude", "hooks, permissions and commands of an agent"),
    other("**/.codex", "hooks, servers and permissions of an agent"),
    other("**/.cursor", "servers and hooks of an agent"),
    other("**/.gemini", "servers and commands of an agent"),
    other("**/.windsurf", "servers and hooks of an agent"),
    other("**/.opencode", "plugins and commands of an agent"),
    other("**/.continue", "servers of an agent"),
    other("**/.roo", "servers of an agent"),
    other("**/.pi", "extensions of an agent"),
    other("**/.mcp.json", "servers that agents start"),
    other(
        "**/.envrc",
        "a script that direnv runs on entering the folder",
    ),
    other("**/mise.toml", "hooks and tools on entering the folder"),
    other("**/.mise.toml", "hooks and tools on entering the folder"),
    other("**/.mise", "hooks and tools on entering the folder"),
    other("**/.exrc", "commands of vi"),
    other("**/.nvimrc", "commands of an editor"),
    other("**/.nvim.lua", "commands of an editor"),
    other("**/.vimrc", "commands of an editor"),
    other("**/.lvimrc", "commands of an editor"),
    other(
        "**/.dir-locals.el",
        "settings of Emacs that may be commands",
    ),
    other("**/.helix", "language servers of an editor"),
    other("**/.autoenv", "a script on entering the folder"),
];

/// What of a home folder's dotfiles can be read: what builds and their tools need. Not written: caches are written where the
/// user makes them writable.
pub const HOME_READABLE_DEFAULT: &[&str] = &[
    // Settings of git and what it knows about hosts.
    "~/.gitconfig",
    "~/.gitignore",
    "~/.gitignore_global",
    "~/.gitattributes",
    "~/.config/git",
    "~/.ssh/known_hosts",
    // Programs and libraries that users install for themselves.
    "~/.local/bin",
    "~/.local/lib",
    "~/.local/pipx",
    "~/.local/share/mise",
    "~/.local/share/uv",
    "~/.local/share/pipx",
    "~/.local/share/pnpm",
    "~/.local/share/fnm",
    "~/.local/share/rtx",
    "~/.local/share/virtualenvs",
    "~/.local/share/gem",
    "~/.local/share/man",
    "~/.local/share/fonts",
    "~/.local/share/mime",
    "~/.local/state/nix",
    // Toolchains and what they keep.
    "~/.asdf",
    "~/.bun",
    "~/.cabal",
    "~/.cache",
    "~/.cargo",
    "~/.conda",
    "~/.deno",
    "~/.dotnet",
    "~/.elan",
    "~/.fnm",
    "~/.gem",
    "~/.ghcup",
    "~/.goenv",
    "~/.gradle",
    "~/.ivy2",
    "~/.jabba",
    "~/.jdks",
    "~/.jenv",
    "~/.julia",
    "~/.konan",
    "~/.luarocks",
    "~/.m2",
    "~/.mix",
    "~/.n",
    "~/.nix-defexpr",
    "~/.nix-profile",
    "~/.npm",
    "~/.nuget",
    "~/.nvm",
    "~/.nodenv",
    "~/.opam",
    "~/.phpenv",
    "~/.pkgx",
    "~/.pub-cache",
    "~/.pyenv",
    "~/.pnpm-store",
    "~/.rbenv",
    "~/.rustup",
    "~/.rvm",
    "~/.sbt",
    "~/.sdkman",
    "~/.stack",
    "~/.swiftpm",
    "~/.tfenv",
    "~/.tool-versions",
    "~/.virtualenvs",
    "~/.volta",
    "~/.yarn",
    "~/.zig",
    // What every program with a window or a terminal reads.
    "~/.fonts",
    "~/.fontconfig",
    "~/.config/fontconfig",
    "~/.terminfo",
    "~/.inputrc",
    "~/.hushlogin",
];
