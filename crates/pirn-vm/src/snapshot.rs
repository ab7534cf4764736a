//! A waiting script as bytes, to be resumed later or elsewhere.
//!
//! Between polls a VM has no stack, so its memory and a short list of open calls and timers are all there is. Layout, version 1:
//! magic, version, digest of the compiled guest, digest of the rest, length of the rest uncompressed, then the rest, compressed
//! with zstd: length and JSON of what lives outside the memory, length and bytes of the owner's data, length of the memory,
//! then each page that differs from the image, with its number.
//!
//! A snapshot is as confidential as what the script has seen, and as untrusted as any guest memory: a forged one can do what a
//! script can do, and no more.

use std::io::Read as _;

use sha2::{Digest as _, Sha256};

use crate::engine::VmEngine;
use crate::error::{Error, ErrorKind};
use crate::room::Room;
use crate::vm::{MEMORY_PAGE_BYTES, Page, Vm, Waiting};

const MAGIC: &[u8; 6] = b"PIRNVM";
const VERSION: u16 = 1;
const DIGEST_BYTES: usize = 32;
/// One of zstd's fast levels: the pages are mostly pointers, and more effort gains little for its time.
const COMPRESSION_LEVEL: i32 = -1;
/// Bytes of a snapshot beyond the largest memory: the lists, and the owner's data.
const OVERHEAD_BYTES_MAX: u64 = 64 << 20;

impl Vm {
    /// Saves a waiting script. `owner_data` comes back from [`Vm::restore`]. The VM itself can go on or be dropped.
    ///
    /// # Errors
    /// When the script does not wait, or its events have not been taken.
    pub fn snapshot(&self, owner_data: &[u8]) -> Result<Vec<u8>, Error> {
        let waiting = self.waiting()?;
        let image = self.engine.inner.image()?;
        let memory = self.memory();
        let mut body = Vec::with_capacity(memory.len() / 4);
        let json = serde_json::to_vec(&waiting)
            .map_err(|error| Error::new(ErrorKind::Snapshot, error.to_string()))?;
        put_block(&mut body, &json);
        put_block(&mut body, owner_data);
        body.extend_from_slice(&(memory.len() as u64).to_le_bytes());
        let blank = [0; MEMORY_PAGE_BYTES];
        for (number, page) in memory.chunks(MEMORY_PAGE_BYTES).enumerate() {
            let at = number * MEMORY_PAGE_BYTES;
            if at < image.stack_bytes {
                continue;
            }
            let original = image.bytes.get(at..at + page.len()).unwrap_or(&blank);
            if page != original {
                body.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
                body.extend_from_slice(page);
            }
        }
        let compressed = zstd::bulk::compress(&body, COMPRESSION_LEVEL)
            .map_err(|error| Error::new(ErrorKind::Snapshot, error.to_string()))?;
        let mut bytes = Vec::with_capacity(compressed.len() + 128);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&artifact_digest());
        bytes.extend_from_slice(&Sha256::digest(&compressed));
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&compressed);
        Ok(bytes)
    }

    /// Resumes a script that was saved, without waiting for room. See [`Vm::restore_in_room`].
    ///
    /// # Errors
    /// As there, and when the engine is full.
    pub fn restore(engine: &VmEngine, bytes: &[u8]) -> Result<(Self, Vec<u8>), Error> {
        Self::read(engine, None, bytes)
    }

    /// Resumes a script that was saved, in this or another process. Gives the VM and the owner's data. Open calls are still
    /// open, with the same numbers; timers go on with the time they had left. A deadline has to be set anew.
    ///
    /// # Errors
    /// When the bytes are no snapshot, are damaged, or belong to another build of the guest.
    pub fn restore_in_room(
        engine: &VmEngine,
        room: Room,
        bytes: &[u8],
    ) -> Result<(Self, Vec<u8>), Error> {
        Self::read(engine, Some(room), bytes)
    }

    fn read(engine: &VmEngine, room: Option<Room>, bytes: &[u8]) -> Result<(Self, Vec<u8>), Error> {
        let mut reader = Reader { rest: bytes };
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(refused("it does not start like one"));
        }
        let version = u16::from_le_bytes(reader.array()?);
        if version != VERSION {
            return Err(refused(format!(
                "it has version {version}, this build reads version {VERSION}"
            )));
        }
        if reader.take(DIGEST_BYTES)? != artifact_digest() {
            return Err(refused("another build of Pirn made it"));
        }
        let digest: [u8; DIGEST_BYTES] = reader.array()?;
        let length = u64::from_le_bytes(reader.array()?);
        let length_max = u64::from(engine.inner.options.memory_bytes_max) + OVERHEAD_BYTES_MAX;
        if length > length_max {
            return Err(refused(format!(
                "it claims {length} bytes, more than a VM can have"
            )));
        }
        if Sha256::digest(reader.rest).as_slice() != digest {
            return Err(refused("it is damaged"));
        }
        let length = usize::try_from(length).map_err(|_| refused("it is too large"))?;
        let body = decompress(reader.rest, length)?;
        let mut reader = Reader { rest: &body };
        let waiting: Waiting =
            serde_json::from_slice(reader.block()?).map_err(|error| refused(error.to_string()))?;
        let owner_data = reader.block()?.to_vec();
        let (memory_bytes, pages) = reader.memory()?;
        Ok((
            Self::resume(engine, room, waiting, memory_bytes, &pages)?,
            owner_data,
        ))
    }
}

fn refused(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Snapshot, why)
}

/// Decompresses to exactly `length` bytes. Memory is taken as they come, since the length is only claimed.
fn decompress(compressed: &[u8], length: usize) -> Result<Vec<u8>, Error> {
    let decoder = zstd::stream::read::Decoder::with_buffer(compressed)
        .map_err(|error| refused(error.to_string()))?;
    let mut body = Vec::new();
    decoder
        .take(length as u64 + 1)
        .read_to_end(&mut body)
        .map_err(|error| refused(error.to_string()))?;
    if body.len() != length {
        return Err(refused("it has another length than it claims"));
    }
    Ok(body)
}

fn artifact_digest() -> [u8; DIGEST_BYTES] {
    Sha256::digest(VmEngine::artifact()).into()
}

fn put_block(body: &mut Vec<u8>, block: &[u8]) {
    body.extend_from_slice(&(block.len() as u64).to_le_bytes());
    body.extend_from_slice(block);
}

/// Reads foreign bytes from the front.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| refused("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take(N)?
            .try_into()
            .map_err(|_| refused("it ends too early"))
    }

    fn block(&mut self) -> Result<&'a [u8], Error> {
        let length = u64::from_le_bytes(self.array()?);
        self.take(usize::try_from(length).map_err(|_| refused("a part of it is too large"))?)
    }

    /// The length of the memory, and the pages that differ from the image, each with its place.
    fn memory(&mut self) -> Result<(usize, Vec<Page<'a>>), Error> {
        let length = u64::from_le_bytes(self.array()?);
        let length =
            usize::try_from(length).map_err(|_| refused("its memory has a size no VM has"))?;
        let mut pages = Vec::new();
        while !self.rest.is_empty() {
            let number = u32::from_le_bytes(self.array()?) as usize;
            let at = number.saturating_mul(MEMORY_PAGE_BYTES);
            let size = length.saturating_sub(at).min(MEMORY_PAGE_BYTES);
            if size == 0 {
                return Err(refused("a page of it lies outside its memory"));
            }
            pages.push((at, self.take(size)?));
        }
        Ok((length, pages))
    }
}
