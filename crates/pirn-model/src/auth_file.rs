//! `auth.json`: keys of providers, for nobody but their owner.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pirn_file::FileLock;
use serde_json::{Value, json};

use crate::config_value::ConfigValue;
use crate::credentials::CredentialError;

/// The file's name in Pirn's folder. Its form is pi's, so that it can be copied over.
const FILE_NAME: &str = "auth.json";
/// Far beyond what anybody writes by hand.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// A change takes milliseconds; who waits longer waits for a process that hangs.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// What `auth.json` says of a provider.
#[derive(Debug, Clone)]
pub enum AuthEntry {
    /// A key, as a text or as where it is found.
    ApiKey {
        /// The key as written.
        key: ConfigValue,
        /// Variables that the key's own `$NAME` is looked up in first.
        variables: BTreeMap<String, String>,
    },
    /// A sign-in that another program made and that only it can renew.
    SignIn,
}

/// The place of `auth.json`.
#[derive(Debug, Clone)]
pub struct AuthFile {
    path: PathBuf,
}

impl AuthFile {
    /// The file in Pirn's folder. Nothing is read yet.
    pub fn new(folder: &Path) -> Self {
        Self {
            path: folder.join(FILE_NAME),
        }
    }

    /// Where the file is, there or not.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says, by provider; nothing where there is no file. The error never holds a key. A file that somebody else can
    /// read or that belongs to somebody else is refused: its keys are known to others.
    pub fn read(&self) -> Result<BTreeMap<String, AuthEntry>, CredentialError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(self.error(format!("cannot be read: {error}"))),
        };
        self.check_owner(&file)?;
        let text = pirn_jsonc::read_file(&file, FILE_BYTES_MAX)
            .map_err(|error| self.error(format!("cannot be read: {error}")))?;
        let root = pirn_jsonc::parse(&text).map_err(|error| self.error(error.to_string()))?;
        let Some(root) = root else {
            return Ok(BTreeMap::new());
        };
        if !root.is_object() {
            return Err(self.error("must hold an object of providers"));
        }
        let entries = root.members().iter().map(|member| {
            let entry = self.entry(&member.name, &member.node.to_json())?;
            Ok((member.name.clone(), entry))
        });
        entries.collect()
    }

    fn entry(&self, provider: &str, entry: &Value) -> Result<AuthEntry, CredentialError> {
        let word = |key: &str| entry.get(key).and_then(Value::as_str);
        match word("type") {
            Some("oauth") => return Ok(AuthEntry::SignIn),
            Some("api_key") => {}
            _ => {
                let problem = format!("{provider}: `type` must be \"api_key\" or \"oauth\"");
                return Err(self.error(problem));
            }
        }
        let Some(key) = word("key").filter(|key| !key.trim().is_empty()) else {
            return Err(self.error(format!("{provider} has no `key`")));
        };
        let variables = match entry.get("env") {
            None => BTreeMap::new(),
            Some(variables) => serde_json::from_value(variables.clone()).map_err(|_| {
                self.error(format!("{provider}: `env` must hold texts by their names"))
            })?,
        };
        Ok(AuthEntry::ApiKey {
            key: ConfigValue::new(key),
            variables,
        })
    }

    /// Keeps a key. Everything else in the file stays; a new file is readable by its owner only.
    pub fn store(&self, provider: &str, key: &str) -> Result<(), CredentialError> {
        let _lock = self.lock()?;
        // Nothing is added to a file that others read.
        self.read()?;
        let entry = json!({ "type": "api_key", "key": key });
        pirn_jsonc::set_value(&self.path, FILE_BYTES_MAX, &[provider], |_| entry.clone())
            .map_err(|error| CredentialError::new(error.to_string()))
    }

    /// Takes what is kept for a provider out; whether there was something.
    pub fn remove(&self, provider: &str) -> Result<bool, CredentialError> {
        let _lock = self.lock()?;
        pirn_jsonc::remove_value(&self.path, FILE_BYTES_MAX, &[provider])
            .map_err(|error| CredentialError::new(error.to_string()))
    }

    fn lock(&self) -> Result<FileLock, CredentialError> {
        let path = self.path.with_extension("json.lock");
        let unusable = |error: io::Error| self.error(format!("cannot be locked: {error}"));
        if let Some(folder) = self.path.parent() {
            pirn_file::make_private_folder(folder).map_err(unusable)?;
        }
        FileLock::acquire(&path, LOCK_TIMEOUT)
            .map_err(unusable)?
            .ok_or_else(|| {
                let seconds = LOCK_TIMEOUT.as_secs();
                self.error(format!("is locked by another process since {seconds} s"))
            })
    }

    #[cfg(unix)]
    fn check_owner(&self, file: &File) -> Result<(), CredentialError> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = file
            .metadata()
            .map_err(|error| self.error(format!("cannot be read: {error}")))?;
        if !metadata.is_file() {
            return Err(self.error("is not a file"));
        }
        let mode = metadata.mode() & 0o777;
        let path = self.path.display();
        if mode & 0o077 != 0 {
            return Err(self
                .error(format!(
                    "can be used by others (mode {mode:o}), so its keys are not used"
                ))
                .with_hint(format!(
                    "`chmod 600 {path}`; keys that others may have read should be replaced"
                )));
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(self.error("belongs to another user, so its keys are not used"));
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn check_owner(&self, _file: &File) -> Result<(), CredentialError> {
        Ok(())
    }

    fn error(&self, problem: impl AsRef<str>) -> CredentialError {
        CredentialError::new(format!("{} {}", self.path.display(), problem.as_ref()))
    }
}

#[cfg(test)]
mod tests;
