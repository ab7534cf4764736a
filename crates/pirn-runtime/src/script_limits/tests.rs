use std::time::Duration;

use pirn_settings::CodemodeSettings;

use super::{engine_options, script_limits};

#[test]
fn limits_are_those_of_the_settings() {
    let settings = CodemodeSettings {
        memory_mb: 64,
        memory_total_mb: 32,
        cpu_seconds: 7,
        timeout_seconds: 90,
        calls_in_flight: 3,
        calls_max: 11,
        source_kb: 12,
        stack_kb: 128,
        output_characters: 13_000,
        output_items: 14,
        call_mb: 15,
        results_mb: 16,
        store_value_characters: 17,
        store_characters: 18,
        cells_max: 5,
        ..CodemodeSettings::default()
    };
    let limits = script_limits(&settings);
    assert_eq!(limits.vm.memory_bytes, 64 << 20);
    assert_eq!(limits.vm.cpu, Duration::from_secs(7));
    assert_eq!(limits.wall, Duration::from_secs(90));
    assert_eq!((limits.calls_in_flight_max, limits.calls_max), (3, 11));
    assert_eq!(limits.source_bytes_max, 12 << 10);
    assert_eq!(limits.vm.stack_bytes, 128 << 10);
    assert_eq!(
        (limits.vm.output_characters, limits.vm.output_items),
        (13_000, 14)
    );
    assert_eq!(
        (limits.call_bytes_max, limits.results_bytes_max),
        (15 << 20, 16 << 20)
    );
    let store = (
        limits.vm.store_value_characters,
        limits.vm.store_total_characters,
    );
    assert_eq!(store, (17, 18));
    assert_eq!(super::board_limits(&settings).cells_max, 5);
    let engine = engine_options(&settings, &limits);
    assert_eq!(engine.memory_bytes_max, 64 << 20);
    assert_eq!(
        engine.memory_total_bytes,
        64 << 20,
        "one script always fits"
    );
}

#[test]
fn settings_that_nobody_changed_are_the_limits_of_the_library() {
    assert_eq!(
        script_limits(&CodemodeSettings::default()),
        pirn_codemode::ScriptLimits::default()
    );
}
