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
