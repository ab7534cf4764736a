//! What scripts may use, as settings.

use std::time::Duration;

/// Limits of one script. The defaults are the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Limits inside the VM: memory, stack, processor time, output, store.
    pub vm: pirn_vm::Limits,
    /// How many bytes of source a script may have.
    pub source_bytes_max: usize,
    /// Time from start to end, waiting for tools included; it stands still while all open calls wait for a person.
    pub wall: Duration,
    /// Calls that run at the same time; more wait in order.
    pub calls_in_flight_max: usize,
    /// Calls in all; further ones reject.
    pub calls_max: u32,
    /// Bytes of JSON of one call's argument, and of one call's result.
    pub call_bytes_max: usize,
    /// Bytes of results that wait until the script reads them, while it computes; no further call starts meanwhile.
    pub results_bytes_max: usize,
    /// How long calls may take to confirm that they stopped, once the script is over.
    pub cancel_grace: Duration,
    /// How long calls that have begun may go on before they are cancelled, when the script is suspended.
    pub suspend_grace: Duration,
}

/// A limit, as errors about it name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Source,
    Memory,
    MemoryTotal,
    Cpu,
    Wall,
    Stack,
    Output,
    CallsMax,
    CallBytes,
    StoreValue,
    StoreTotal,
    Cells,
}

impl Limit {
    /// Says how to change it, in a sentence.
    pub(crate) fn advice(self) -> String {
        let (setting, besides) = self.changed_by();
        let besides = besides
            .map(|flag| format!(", or {flag}"))
            .unwrap_or_default();
        format!("To change this limit: the setting {setting}{besides}.")
    }

    /// The setting, and what else changes it.
    fn changed_by(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Source => ("codemode.sourceKb", None),
            Self::Memory => ("codemode.memoryMb", Some("pirn exec --memory-mb")),
            Self::MemoryTotal => ("codemode.memoryTotalMb", None),
            Self::Cpu => ("codemode.cpuSeconds", Some("pirn exec --cpu-ms")),
            Self::Wall => (
                "codemode.timeoutSeconds",
                Some("timeout_ms in the options line, or pirn exec --timeout-ms"),
            ),
            Self::Stack => ("codemode.stackKb", None),
            Self::Output => (
                "codemode.outputCharacters or codemode.outputItems",
                Some("pirn exec --output-characters"),
            ),
            Self::CallsMax => ("codemode.callsMax", Some("pirn exec --calls-max")),
            Self::CallBytes => ("codemode.callMb", Some("pirn exec --call-mb")),
            Self::StoreValue => ("codemode.storeValueCharacters", None),
            Self::StoreTotal => ("codemode.storeCharacters", None),
            Self::Cells => ("codemode.cellsMax", None),
        }
    }
}

/// Long enough for most calls to end by themselves, short enough for a shutdown.
const SUSPEND_GRACE: Duration = Duration::from_secs(10);

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            vm: pirn_vm::Limits::default(),
            source_bytes_max: 1 << 20,
            wall: Duration::from_mins(30),
            calls_in_flight_max: 64,
            calls_max: 100_000,
            call_bytes_max: 16 << 20,
            results_bytes_max: 256 << 20,
            // Less than a pipeline gives the call that runs the script, which has to tell how they ended.
            cancel_grace: Duration::from_secs(2),
            suspend_grace: SUSPEND_GRACE,
        }
    }
}
