//! A waiting VM taken apart for a snapshot, and put together again.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Fresh, State, Vm, block_on};
use crate::engine::VmEngine;
use crate::error::{Error, ErrorKind};
use crate::event::{CallId, CallTarget};
use crate::host::Clock;
use crate::limits::Limits;
use crate::room::Room;

/// A piece of memory: where it begins, and its bytes.
pub(crate) type Page<'a> = (usize, &'a [u8]);

/// What of a waiting VM lives outside its memory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) memory_bytes: u32,
    pub(crate) stack_bytes: u32,
    pub(crate) cpu_ms: u64,
    pub(crate) cpu_used_ms: u64,
    pub(crate) output_characters: u32,
    pub(crate) output_items: u32,
    pub(crate) store_value_characters: u32,
    pub(crate) store_total_characters: u32,
    /// Output so far: characters, items.
    pub(crate) output_so_far: (usize, usize),
    pub(crate) buffer_at: (u32, u32),
    /// Number, whether it is a tool, and name of each open call.
    pub(crate) open_calls: Vec<(u32, bool, String)>,
    /// Number of each timer and the time it has left; exact, since it is also the order they fire in.
    pub(crate) timers_ns: Vec<(i32, u64)>,
    /// What the script's clock shows.
    pub(crate) clock_ns: u64,
}

impl Vm {
    /// What a snapshot needs beside the memory.
    ///
    /// # Errors
    /// When the script does not wait, or something is still on its way to or from it.
    pub(crate) fn waiting(&self) -> Result<Waiting, Error> {
        let host = self.store.data();
        let is_waiting = self.state == State::Started && self.queue.is_empty() && !self.is_in_run;
        if !is_waiting || !host.events.is_empty() {
            return Err(Error::new(
                ErrorKind::State,
                "only a script that waits, with all events taken, can be saved",
            ));
        }
        if host.watch.interrupt.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::State,
                "a script that is to be stopped cannot be saved",
            ));
        }
        let now = Instant::now();
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(Waiting {
            memory_bytes: self.limits.memory_bytes,
            stack_bytes: self.limits.stack_bytes,
            cpu_ms: milliseconds(self.limits.cpu),
            cpu_used_ms: milliseconds(host.watch.cpu.used()),
            output_characters: self.limits.output_characters,
            output_items: self.limits.output_items,
            store_value_characters: self.limits.store_value_characters,
            store_total_characters: self.limits.store_total_characters,
            output_so_far: host.output_so_far(),
            buffer_at: self.buffer_at,
            open_calls: host
                .open_calls
                .iter()
                .map(|(id, (target, name))| (id.0, *target == CallTarget::Tool, name.clone()))
                .collect(),
            timers_ns: host
                .timers
                .iter()
                .map(|(id, at)| (*id, nanoseconds(at.saturating_duration_since(now))))
                .collect(),
            clock_ns: nanoseconds(host.clock.now()),
        })
    }

    /// A VM with the memory of a waiting one: as long as that, and with these pages where it differs from the image.
    pub(crate) fn resume(
        engine: &VmEngine,
        room: Option<Room>,
        waiting: Waiting,
        memory_bytes: usize,
        pages: &[Page<'_>],
    ) -> Result<Self, Error> {
        let limits = Limits {
            memory_bytes: waiting.memory_bytes,
            stack_bytes: waiting.stack_bytes,
            cpu: Duration::from_millis(waiting.cpu_ms),
            output_characters: waiting.output_characters,
            output_items: waiting.output_items,
            store_value_characters: waiting.store_value_characters,
            store_total_characters: waiting.store_total_characters,
        };
        let room = match room {
            Some(room) => room,
            None => engine.room_now(limits.memory_bytes)?,
        };
        let mut vm = Self::instantiate(engine, room, limits, Fresh::No)?;
        vm.set_memory(memory_bytes, pages)?;
        // The guest's own code runs here, on what may be forged.
        vm.apply_limits(Fresh::No).map_err(|error| {
            Error::new(
                ErrorKind::Snapshot,
                format!("its memory does not work: {error}"),
            )
        })?;
        vm.state = State::Started;
        vm.buffer_at = waiting.buffer_at;
        let now = Instant::now();
        let host = vm.store.data_mut();
        host.set_output_so_far(waiting.output_so_far);
        host.watch
            .cpu
            .add(Duration::from_millis(waiting.cpu_used_ms));
        for (id, is_tool, name) in waiting.open_calls {
            let target = if is_tool {
                CallTarget::Tool
            } else {
                CallTarget::Global
            };
            host.open_calls.insert(CallId(id), (target, name));
        }
        for (id, left_ns) in waiting.timers_ns {
            // The longest delay is 25 days, so a time that cannot be reached is forged.
            let at = now
                .checked_add(Duration::from_nanos(left_ns))
                .unwrap_or(now);
            host.clear_timer(id);
            host.set_timer(id, at);
        }
        host.clock = Clock::from(Duration::from_nanos(waiting.clock_ns));
        Ok(vm)
    }

    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    fn set_memory(&mut self, length: usize, pages: &[Page<'_>]) -> Result<(), Error> {
        let refused = |why: String| Error::new(ErrorKind::Snapshot, why);
        let have = self.memory.data_size(&self.store);
        if length < have || !length.is_multiple_of(WASM_PAGE_BYTES) {
            return Err(refused("its memory has a size no VM has".into()));
        }
        let missing_pages = ((length - have) / WASM_PAGE_BYTES) as u64;
        if missing_pages > 0 {
            block_on(self.memory.grow_async(&mut self.store, missing_pages)).map_err(|error| {
                refused(format!("its memory is larger than its limit: {error:#}"))
            })?;
        }
        let data = self.memory.data_mut(&mut self.store);
        for (at, page) in pages {
            data.get_mut(*at..at.saturating_add(page.len()))
                .ok_or_else(|| refused("a page of it lies outside its memory".into()))?
                .copy_from_slice(page);
        }
        Ok(())
    }
}

const WASM_PAGE_BYTES: usize = 64 << 10;
/// The unit in which memory is compared and saved.
pub(crate) const MEMORY_PAGE_BYTES: usize = 4 << 10;
