//! The engine: compiled code, memory image, pool of VMs, and the ticker, shared by all VMs of a process.

use std::sync::{Arc, OnceLock};

use wasmtime::{
    Enabled, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module,
    PoolingAllocationConfig, Store,
};

use crate::engine_config;
use crate::error::{Error, ErrorKind};
use crate::host::{self, Host};
use crate::room::{Budget, MemoryLimiter, Room};
use crate::ticker::Ticker;

/// Memory of the guest beyond the script's heap: what the allocator cannot hand out, and the buffer for results.
const MEMORY_SLACK_BYTES: u64 = 4 << 20;
/// Memory of a slot that stays mapped after a VM is dropped, which makes the next one start faster.
const KEEP_RESIDENT_BYTES: usize = 512 << 10;

/// What an engine is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineOptions {
    /// VMs alive at the same time. Address space is reserved for all of them at once; memory is only used by live ones.
    pub live_vms_max: u32,
    /// The most [`crate::Limits::memory_bytes`] a VM of this engine may ask for.
    pub memory_bytes_max: u32,
    /// Heap of all live VMs together. Each is sure of 16 MiB, or of its own limit where that is lower, and waits for its turn
    /// until there is so much; beyond that it grows as long as there is memory left.
    pub memory_total_bytes: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        // 128 live cells per process is the contract's number; a few more VMs may be on their way in or out.
        Self {
            live_vms_max: 144,
            memory_bytes_max: 1 << 30,
            // What 128 VMs are sure of.
            memory_total_bytes: 2 << 30,
        }
    }
}

/// Makes VMs. Cheap to clone; one per process is enough.
#[derive(Clone)]
pub struct VmEngine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) instance: InstancePre<Host>,
    pub(crate) options: EngineOptions,
    pub(crate) ticker: Ticker,
    pub(crate) engine: Engine,
    pub(crate) budget: Arc<Budget>,
    image: OnceLock<Image>,
    image_bytes: u64,
}

/// The memory every VM starts from.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    /// Bytes at the start that are stack, whose content means nothing between runs.
    pub(crate) stack_bytes: usize,
}

impl std::fmt::Debug for VmEngine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("VmEngine")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

impl VmEngine {
    /// Sets up an engine. Takes about a millisecond.
    ///
    /// # Errors
    /// When the machine lacks the processor features or the address space.
    pub fn new(options: EngineOptions) -> Result<Self, Error> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: wasmtime::Error| {
                Error::new(ErrorKind::Engine, format!("{what}: {error:#}"))
            }
        };
        let mut config = engine_config::base();
        let mut pool = PoolingAllocationConfig::new();
        // One more for the instance that the image is read from.
        let slots = options.live_vms_max.saturating_add(1);
        pool.total_core_instances(slots)
            .total_memories(slots)
            .total_tables(slots)
            .total_stacks(slots)
            .table_elements(TABLE_ELEMENTS_MAX)
            .max_memory_size(
                usize::try_from(u64::from(options.memory_bytes_max) + (64 << 20))
                    .unwrap_or(usize::MAX),
            )
            .max_unused_warm_slots(32)
            .async_stack_keep_resident(64 << 10);
        // Without the kernel's list of touched pages, keeping them would mean clearing the whole stack area at each drop.
        if PoolingAllocationConfig::is_pagemap_scan_available() {
            pool.pagemap_scan(Enabled::Yes)
                .linear_memory_keep_resident(KEEP_RESIDENT_BYTES);
        }
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).map_err(failed("the engine"))?;
        let module = load_module(&engine).map_err(failed("the guest"))?;
        let mut linker = Linker::new(&engine);
        host::link(&mut linker).map_err(failed("the imports"))?;
        let instance = linker
            .instantiate_pre(&module)
            .map_err(failed("the guest"))?;
        let image_bytes = match module.get_export("memory") {
            Some(wasmtime::ExternType::Memory(memory)) => memory.minimum() * memory.page_size(),
            _ => return Err(Error::new(ErrorKind::Engine, "the guest has no memory")),
        };
        let ticker = Ticker::start(engine.clone())?;
        Ok(Self {
            inner: Arc::new(Inner {
                instance,
                options,
                ticker,
                engine,
                budget: Arc::new(Budget::new(
                    options.live_vms_max,
                    options.memory_total_bytes,
                )),
                image: OnceLock::new(),
                image_bytes,
            }),
        })
    }

    /// The digest of the compiled guest; snapshots are bound to it.
    pub fn artifact() -> &'static str {
        env!("PIRN_VM_ARTIFACT")
    }
}

impl Inner {
    /// What bounds the linear memory of a VM whose heap may grow to `heap_bytes`.
    pub(crate) fn memory_limiter(&self, heap_bytes: u32, room: &Room) -> MemoryLimiter {
        let bytes = self.image_bytes + u64::from(heap_bytes) + MEMORY_SLACK_BYTES;
        MemoryLimiter::new(
            usize::try_from(bytes).unwrap_or(usize::MAX),
            usize::try_from(self.image_bytes + MEMORY_SLACK_BYTES).unwrap_or(usize::MAX),
            room,
        )
    }

    /// The memory image, read once from a fresh instance.
    pub(crate) fn image(&self) -> Result<&Image, Error> {
        if let Some(image) = self.image.get() {
            return Ok(image);
        }
        let failed =
            |error: wasmtime::Error| Error::new(ErrorKind::Exhausted, format!("{error:#}"));
        let mut store = Store::new(
            &self.engine,
            Host::new(MemoryLimiter::image_only(), &crate::Limits::default()),
        );
        store.set_epoch_deadline(u64::MAX / 2);
        let instance = self.instance.instantiate(&mut store).map_err(failed)?;
        let memory = instance
            .get_memory(&mut store, "memory")
            .ok_or_else(|| Error::new(ErrorKind::Engine, "the guest has no memory"))?;
        let bytes = memory.data(&store).to_vec();
        Ok(self.image.get_or_init(|| Image {
            bytes,
            stack_bytes: GUEST_STACK_BYTES,
        }))
    }
}

/// The guest's table holds its function pointers; it cannot grow.
const TABLE_ELEMENTS_MAX: usize = 4_000;
/// The size of the guest's stack, which lies at the start of its memory; set where the guest is linked (build/compile.rs).
const GUEST_STACK_BYTES: usize = 4 << 20;

fn load_module(engine: &Engine) -> wasmtime::Result<Module> {
    static CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vm.cwasm"));
    #[expect(
        unsafe_code,
        reason = "wasmtime trusts compiled code, and this is ours"
    )]
    // SAFETY: the bytes were made by this crate's build script with the same version and settings of wasmtime.
    unsafe {
        Module::deserialize(engine, CODE)
    }
}
