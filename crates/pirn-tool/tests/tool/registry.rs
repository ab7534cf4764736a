//! What is active, what is callable, and what registering again changes.

use pirn_tool::{Exposure, Loadout, Registry, Tool};

use crate::support::exposed;

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.spec().name.as_str()).collect()
}

fn registry() -> Registry {
    let registry = Registry::new();
    for (name, exposure) in [
        ("direct", Exposure::Direct),
        ("model", Exposure::ModelOnly),
        ("script", Exposure::Codemode),
        ("deferred", Exposure::Deferred),
        ("hidden", Exposure::Hidden),
    ] {
        registry.register(exposed(name, exposure));
    }
    registry
}

#[test]
fn exposure_decides_what_is_active_and_callable() {
    let registry = registry();
    let loadout = Loadout::of(&registry);
    assert_eq!(names(&loadout.declared), ["direct", "model"]);
    assert_eq!(names(&loadout.callable), ["direct", "script", "deferred"]);
    assert_eq!(
        names(&loadout.registered),
        ["direct", "model", "script", "deferred", "hidden"]
    );
    assert!(registry.get("hidden").is_some() && registry.get("unknown").is_none());
}

#[test]
fn setting_the_active_tools_keeps_the_order_of_those_that_stay() {
    let registry = registry();
    let cases: [(&[&str], &[&str]); 5] = [
        (
            &["deferred", "model", "direct"],
            &["direct", "model", "deferred"],
        ),
        (
            &["script", "hidden", "unknown", "deferred", "script"],
            &["deferred", "script"],
        ),
        (
            &["direct", "script", "deferred"],
            &["deferred", "script", "direct"],
        ),
        (&[], &[]),
        (&["model", "direct"], &["model", "direct"]),
    ];
    for (wanted, active) in cases {
        registry.set_active(wanted);
        assert_eq!(names(&registry.active()), active);
        let generation = registry.generation();
        registry.set_active(wanted);
        assert_eq!(
            registry.generation(),
            generation,
            "no change, no new generation"
        );
    }
    registry.set_active(&[]);
    assert_eq!(
        names(&registry.callable()),
        ["script", "deferred"],
        "an inactive direct tool is not callable"
    );
}

#[test]
fn registering_again_keeps_the_place_and_what_was_chosen() {
    use Exposure::{Codemode, Deferred, Direct, Hidden, ModelOnly};
    // From, active before, to, active after.
    let cases = [
        (Direct, true, Direct, true),
        (Direct, false, Direct, false),
        (Direct, true, ModelOnly, true),
        (Direct, true, Deferred, false),
        (Deferred, true, Deferred, true),
        (Deferred, true, Codemode, true),
        (Deferred, false, Codemode, false),
        (Deferred, false, Direct, true),
        (Direct, true, Hidden, false),
        (Deferred, true, Hidden, false),
        (Hidden, false, Direct, true),
        (Hidden, false, Deferred, false),
    ];
    for (from, active_before, to, active_after) in cases {
        let registry = Registry::new();
        registry.register(exposed("tool", from));
        registry.register(exposed("other", Direct));
        registry.set_active(if active_before {
            &["tool", "other"]
        } else {
            &["other"]
        });
        let generation = registry.generation();
        registry.register(exposed("tool", to));
        assert!(registry.generation() > generation);
        assert_eq!(names(&registry.registered()), ["tool", "other"]);
        assert_eq!(
            names(&registry.active()).contains(&"tool"),
            active_after,
            "{from:?} {active_before} {to:?}"
        );
        assert_eq!(registry.get("tool").unwrap().spec().exposure, to);
    }
}

#[test]
fn clones_share_their_tools() {
    let registry = registry();
    let clone = registry.clone();
    clone.register(exposed("late", Exposure::Direct));
    drop(clone);
    assert_eq!(names(&registry.active()), ["direct", "model", "late"]);
}

#[test]
fn an_extended_registry_has_more_and_changes_nothing_else() {
    let first = registry();
    let second = first.extended([
        exposed("more", Exposure::Codemode),
        exposed("hidden", Exposure::Direct),
    ]);
    assert_eq!(
        names(&second.callable()),
        ["direct", "script", "deferred", "more"]
    );
    second.register(exposed("late", Exposure::Direct));
    assert!(first.get("more").is_none() && first.get("late").is_none());
    first.register(exposed("later", Exposure::Direct));
    assert!(second.get("later").is_none());
}
