//! Which way of speaking each server understood last time, in a small file, so that it is not asked at every start.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pirn_file::Access;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::Protocol;
use crate::config::{ServerEntry, TransportEntry};

/// Servers that are remembered; the oldest go first.
const SERVERS_MAX: usize = 256;
/// A file larger than this is not ours.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Digits that tell two servers of one name apart.
const HASH_BYTES: usize = 8;

/// The memory. Cheap to clone; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProtocolCache {
    file: Option<Arc<Mutex<PathBuf>>>,
}

/// One server in the memory: its name and what it is, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProtocolCacheKey(pub(super) String);

/// What is remembered of one server. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ServerMemory {
    pub(super) cache: ProtocolCache,
    pub(super) key: ProtocolCacheKey,
}

impl ServerMemory {
    /// What it spoke last time.
    pub(super) async fn get(&self) -> Option<Protocol> {
        self.cache.get(&self.key).await
    }

    /// Remembers what it speaks.
    pub(crate) async fn set(&self, protocol: Protocol) {
        self.cache.set(&self.key, Some(protocol)).await;
    }

    /// Forgets it: the next attempt asks.
    pub(super) async fn forget(&self) {
        self.cache.set(&self.key, None).await;
    }
}

impl ProtocolCacheKey {
    fn new(entry: &ServerEntry) -> Self {
        let mut hash = Sha256::new();
        match &entry.transport {
            TransportEntry::Stdio(stdio) => {
                for word in std::iter::once(&stdio.command).chain(&stdio.args) {
                    hash.update(word.as_bytes());
                    hash.update([0]);
                }
            }
            TransportEntry::Http(http) => hash.update(http.url.as_bytes()),
        }
        let mut key = format!("{}:", entry.name);
        for byte in hash.finalize().iter().take(HASH_BYTES) {
            let _infallible = write!(key, "{byte:02x}");
        }
        Self(key)
    }
}

impl ProtocolCache {
    /// A memory in `file`, which need not exist; `None` remembers nothing.
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self {
            file: file.map(|file| Arc::new(Mutex::new(file))),
        }
    }

    /// What is remembered of one server.
    pub(crate) fn of(&self, entry: &ServerEntry) -> ServerMemory {
        ServerMemory {
            cache: self.clone(),
            key: ProtocolCacheKey::new(entry),
        }
    }

    /// What the server understood last time.
    async fn get(&self, key: &ProtocolCacheKey) -> Option<Protocol> {
        let key = key.clone();
        self.with_file(move |file| parse(read(file).get(&key.0)?.as_str()?))
            .await
    }

    /// Remembers what the server understands; `None` forgets it. A file that cannot be written costs a probe, nothing more.
    async fn set(&self, key: &ProtocolCacheKey, protocol: Option<Protocol>) {
        let key = key.clone();
        self.with_file(move |file| {
            // Read again each time, because other sessions write it too.
            let mut protocols = read(file);
            let known = protocols
                .get(&key.0)
                .and_then(Value::as_str)
                .and_then(parse);
            if known == protocol {
                return None;
            }
            protocols.shift_remove(&key.0);
            if let Some(protocol) = protocol {
                protocols.insert(key.0, name(protocol).into());
            }
            let excess = protocols.len().saturating_sub(SERVERS_MAX);
            let kept: Map<String, Value> = protocols.into_iter().skip(excess).collect();
            write(file, &kept).ok()
        })
        .await;
    }

    async fn with_file<T: Send + 'static>(
        &self,
        action: impl FnOnce(&Path) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let file = Arc::clone(self.file.as_ref()?);
        tokio::task::spawn_blocking(move || {
            // One of this session's servers at a time.
            action(&file.lock().unwrap_or_else(PoisonError::into_inner))
        })
        .await
        .ok()?
    }
}

fn read(file: &Path) -> Map<String, Value> {
    let is_small = std::fs::metadata(file).is_ok_and(|facts| facts.len() <= FILE_BYTES_MAX);
    let bytes = if is_small {
        std::fs::read(file).unwrap_or_default()
    } else {
        Vec::new()
    };
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn write(file: &Path, protocols: &Map<String, Value>) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    pirn_file::replace(
        file,
        &serde_json::to_vec_pretty(protocols)?,
        Access::KeptOrPrivate,
    )
}

fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Legacy => "legacy",
        Protocol::Modern => "modern",
    }
}

fn parse(name: &str) -> Option<Protocol> {
    [Protocol::Legacy, Protocol::Modern]
        .into_iter()
        .find(|protocol| self::name(*protocol) == name)
}
