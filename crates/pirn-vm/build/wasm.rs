//! Just enough of WebAssembly's binary format to give a module another memory to start with.

const HEADER: &[u8] = b"\0asm\x01\0\0\0";

const SECTION_MEMORY: u8 = 5;
const SECTION_GLOBAL: u8 = 6;
const SECTION_EXPORT: u8 = 7;
const SECTION_START: u8 = 8;
const SECTION_DATA: u8 = 11;
const SECTION_DATA_COUNT: u8 = 12;

const KIND_GLOBAL: u8 = 3;
/// A memory that has a smallest size and no largest one.
const LIMITS_OPEN: u8 = 0;
/// A data segment of memory 0 that is copied at the start.
const DATA_ACTIVE: u8 = 0;
const OP_I32_CONST: u8 = 0x41;
const OP_END: u8 = 0x0b;

/// What a module is to start with.
pub(crate) struct Image<'bytes> {
    /// Size of its memory, in pages of 64 KiB.
    pub(crate) pages: u64,
    /// Everything in it that is not zero.
    pub(crate) data: Vec<Data<'bytes>>,
    /// Exports that are of no use any more.
    pub(crate) removed_exports: &'bytes [&'bytes str],
}

/// Bytes at a place of the memory.
pub(crate) struct Data<'bytes> {
    pub(crate) offset: u32,
    pub(crate) bytes: &'bytes [u8],
}

/// The module with its only global exported by this name. Refuses a module with more than one: their values are not kept by
/// [`with_image`].
pub(crate) fn with_global_export(module: &[u8], name: &str) -> Result<Vec<u8>, String> {
    rewrite(module, |section, body| match section {
        SECTION_GLOBAL => match Reader(body).number()? {
            1 => Ok(body.to_vec()),
            count => Err(format!("it has {count} globals instead of one")),
        },
        SECTION_EXPORT => {
            let mut reader = Reader(body);
            let count = reader.number()?;
            let mut new = Vec::new();
            put_number(&mut new, count + 1);
            new.extend_from_slice(reader.0);
            put_number(&mut new, name.len() as u64);
            new.extend_from_slice(name.as_bytes());
            new.push(KIND_GLOBAL);
            put_number(&mut new, 0);
            Ok(new)
        }
        _ => Ok(body.to_vec()),
    })
}

/// The module with another memory to start with, and without some of its exports.
pub(crate) fn with_image(module: &[u8], image: &Image<'_>) -> Result<Vec<u8>, String> {
    let segments = image.data.len() as u64;
    rewrite(module, |section, body| {
        let mut new = Vec::new();
        match section {
            SECTION_MEMORY => {
                if !matches!(body, [1, LIMITS_OPEN, ..]) {
                    return Err("it does not have one memory that can grow".to_owned());
                }
                new.extend_from_slice(&[1, LIMITS_OPEN]);
                put_number(&mut new, image.pages);
            }
            SECTION_EXPORT => new = without_exports(body, image.removed_exports)?,
            SECTION_START => return Err("it starts by itself".to_owned()),
            SECTION_DATA_COUNT => put_number(&mut new, segments),
            SECTION_DATA => {
                put_number(&mut new, segments);
                for data in &image.data {
                    new.extend_from_slice(&[DATA_ACTIVE, OP_I32_CONST]);
                    put_signed(&mut new, i64::from(data.offset.cast_signed()));
                    new.push(OP_END);
                    put_number(&mut new, data.bytes.len() as u64);
                    new.extend_from_slice(data.bytes);
                }
            }
            _ => new.extend_from_slice(body),
        }
        Ok(new)
    })
}

fn without_exports(body: &[u8], removed: &[&str]) -> Result<Vec<u8>, String> {
    let mut reader = Reader(body);
    let mut kept = Vec::new();
    let mut kept_count = 0;
    for _ in 0..reader.number()? {
        let start = reader.0;
        let length = reader.number()?;
        let name = reader.take(length)?;
        let _kind = reader.take(1)?;
        let _index = reader.number()?;
        if !removed.iter().any(|removed| removed.as_bytes() == name) {
            let length = start.len() - reader.0.len();
            kept.extend_from_slice(start.get(..length).unwrap_or_default());
            kept_count += 1;
        }
    }
    let mut new = Vec::new();
    put_number(&mut new, kept_count);
    new.extend_from_slice(&kept);
    Ok(new)
}

/// The module with the body of each section replaced by what `change` makes of it.
fn rewrite(
    module: &[u8],
    change: impl Fn(u8, &[u8]) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let unusable = |why: String| format!("the guest cannot be given its memory: {why}");
    let mut reader = Reader(module);
    if reader.take(HEADER.len() as u64).map_err(unusable)? != HEADER {
        return Err(unusable("it is not WebAssembly".to_owned()));
    }
    let mut new = HEADER.to_vec();
    while let [section, rest @ ..] = reader.0 {
        reader.0 = rest;
        let length = reader.number().map_err(unusable)?;
        let body = reader.take(length).map_err(unusable)?;
        let body = change(*section, body).map_err(unusable)?;
        new.push(*section);
        put_number(&mut new, body.len() as u64);
        new.extend_from_slice(&body);
    }
    Ok(new)
}

/// What is left to read.
struct Reader<'bytes>(&'bytes [u8]);

impl<'bytes> Reader<'bytes> {
    fn take(&mut self, length: u64) -> Result<&'bytes [u8], String> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (taken, rest) = self.0.split_at_checked(length).ok_or("it ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number without a sign, in LEB128.
    fn number(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = *self.take(1)?.first().ok_or("it ends too early")?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number in it is too long".to_owned())
    }
}

/// Appends a number without a sign, in LEB128.
fn put_number(bytes: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// Appends a number with a sign, in LEB128.
fn put_signed(bytes: &mut Vec<u8>, mut value: i64) {
    loop {
        let low = (value.cast_unsigned() & 0x7f) as u8;
        value >>= 7;
        // The rest is the sign, and the last byte's highest bit shows it.
        if (value == 0 && low & 0x40 == 0) || (value == -1 && low & 0x40 != 0) {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

// The build script is not tested; `cargo xtask` is, and has this module as well.
#[cfg(test)]
#[path = "wasm/tests.rs"]
mod tests;
