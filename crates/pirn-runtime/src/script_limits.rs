//! What the settings say that scripts may use.

use std::time::Duration;

use pirn_codemode::{BoardLimits, EngineOptions, ScriptLimits};
use pirn_settings::CodemodeSettings;

const BYTES_PER_KB: u64 = 1 << 10;
const BYTES_PER_MB: u64 = 1 << 20;
/// VMs besides those of cells: scripts on their way in or out, and programs.
const VMS_BESIDE_CELLS: u32 = 16;

/// The limits of one script as the user wants them; what no setting names is the contract's.
pub fn script_limits(settings: &CodemodeSettings) -> ScriptLimits {
    let bytes = |count: u64, unit: u64| usize::try_from(count * unit).unwrap_or(usize::MAX);
    let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let mut limits = ScriptLimits {
        wall: Duration::from_secs(settings.timeout_seconds),
        calls_in_flight_max: usize::try_from(settings.calls_in_flight).unwrap_or(usize::MAX),
        calls_max: count(settings.calls_max),
        source_bytes_max: bytes(settings.source_kb, BYTES_PER_KB),
        call_bytes_max: bytes(settings.call_mb, BYTES_PER_MB),
        results_bytes_max: bytes(settings.results_mb, BYTES_PER_MB),
        ..ScriptLimits::default()
    };
    limits.vm.cpu = Duration::from_secs(settings.cpu_seconds);
    limits.vm.memory_bytes = count(settings.memory_mb * BYTES_PER_MB);
    limits.vm.stack_bytes = count(settings.stack_kb * BYTES_PER_KB);
    limits.vm.output_characters = count(settings.output_characters);
    limits.vm.output_items = count(settings.output_items);
    limits.vm.store_value_characters = count(settings.store_value_characters);
    limits.vm.store_total_characters = count(settings.store_characters);
    limits
}

/// How many scripts there may be at once, of all callers or of one: who serves several callers gives each less.
pub(crate) fn board_limits(settings: &CodemodeSettings) -> BoardLimits {
    let cells_max = usize::try_from(settings.cells_max).unwrap_or(usize::MAX);
    BoardLimits {
        cells_max,
        caller_cells_max: cells_max,
    }
}

/// The bounds of the engine that runs scripts with `limits`; a script may always use what its own limits say.
pub fn engine_options(settings: &CodemodeSettings, limits: &ScriptLimits) -> EngineOptions {
    let own = limits.vm.memory_bytes;
    EngineOptions {
        live_vms_max: u32::try_from(settings.cells_max)
            .unwrap_or(u32::MAX)
            .saturating_add(VMS_BESIDE_CELLS),
        memory_bytes_max: own,
        memory_total_bytes: (settings.memory_total_mb * BYTES_PER_MB).max(u64::from(own)),
    }
}

#[cfg(test)]
mod tests;
