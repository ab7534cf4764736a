//! What is active, what is callable, and what registering again changes.

use std::sync::Arc;

use pirn_tool::{Exposure, Loadout, LoadoutChanges, LoadoutHook, Registry, Tool};

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
fn an_extended_registry_has_more_and_changes_nothing_beneath() {
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
    assert!(second.get("later").is_some());
}

#[test]
fn a_view_is_live_filtered_and_has_a_list_of_its_own() {
    let (first, second) = (Registry::new(), Registry::new());
    first.register(exposed("a", Exposure::Direct));
    second.register(exposed("a", Exposure::Hidden));
    second.register(exposed("b", Exposure::Direct));
    let view = Registry::joined([first.clone(), second.clone()])
        .filtered(|spec| !spec.name.starts_with("secret"));
    assert_eq!(names(&view.registered()), ["a", "b"]);
    assert_eq!(names(&view.active()), ["a", "b"]);
    assert_eq!(view.get("a").unwrap().spec().exposure, Exposure::Direct);

    let mut generation = view.generation();
    let mut changed = |what: &str| {
        assert!(view.generation() > generation, "{what}");
        generation = view.generation();
    };
    second.register(exposed("c", Exposure::Direct));
    first.register(exposed("secret", Exposure::Direct));
    changed("registered beneath");
    assert_eq!(names(&view.callable()), ["a", "b", "c"]);
    assert!(view.get("secret").is_none());

    first.set_active(&[]);
    changed("deactivated beneath");
    assert_eq!(names(&view.active()), ["b", "c"]);

    view.set_active(&["c", "later"]);
    changed("a list of its own");
    second.set_active(&["b"]);
    assert_eq!(names(&view.active()), ["c"]);
    assert_eq!(names(&second.active()), ["b"]);
    first.register(exposed("later", Exposure::Deferred));
    assert_eq!(names(&view.active()), ["c", "later"]);
}

#[test]
fn tools_start_inactive_or_pending() {
    let registry = Registry::new();
    registry.register_inactive(exposed("quiet", Exposure::Direct));
    registry.register(exposed("direct", Exposure::Direct));
    assert_eq!(names(&registry.active()), ["direct"]);
    assert_eq!(names(&registry.callable()), ["direct"]);

    registry.activate(&["later", "quiet", "hidden"]);
    assert_eq!(names(&registry.active()), ["direct", "quiet"]);
    registry.register_inactive(exposed("later", Exposure::Deferred));
    registry.register(exposed("hidden", Exposure::Hidden));
    assert_eq!(names(&registry.active()), ["direct", "quiet", "later"]);
    registry.register(exposed("hidden", Exposure::Codemode));
    assert_eq!(
        names(&registry.active()),
        ["direct", "quiet", "later", "hidden"]
    );
    // What is left out of a new list is not pending any more.
    registry.set_active(&["direct", "never"]);
    registry.set_active(&["direct"]);
    registry.register(exposed("never", Exposure::Codemode));
    assert_eq!(names(&registry.active()), ["direct"]);
}

/// Describes and hides by its own name.
struct Reshaping(&'static str);

impl LoadoutHook for Reshaping {
    fn prepare_loadout(&self, loadout: &Loadout) -> LoadoutChanges {
        assert_ne!(self.0, "broken", "bug");
        LoadoutChanges {
            descriptions: loadout
                .declared
                .iter()
                .map(|tool| (tool.spec().name.clone(), format!("by {}", self.0)))
                .take(2)
                .collect(),
            hidden_declarations: vec![format!("hidden by {}", self.0)],
        }
    }
}

#[test]
fn loadout_hooks_run_in_order_while_their_tool_is_declared() {
    let registry = Registry::new();
    for name in ["first", "second", "broken", "asleep"] {
        let tool = exposed(name, Exposure::ModelOnly);
        registry.register(tool.with_loadout_hook(Arc::new(Reshaping(name))));
        registry.register(exposed(&format!("hidden by {name}"), Exposure::Direct));
    }
    let active = |left_out: &str| {
        let names: Vec<_> = registry
            .registered()
            .iter()
            .map(|tool| tool.spec().name.clone())
            .filter(|name| name != left_out)
            .collect();
        registry.set_active(&names.iter().map(String::as_str).collect::<Vec<_>>());
    };
    active("asleep");
    let loadout = registry.loadout();
    let declared: Vec<_> = loadout
        .declarations
        .iter()
        .map(|one| (one.tool.spec().name.as_str(), one.description.as_str()))
        .collect();
    assert_eq!(
        declared,
        [
            ("first", "by second"),
            ("second", ""),
            ("broken", ""),
            ("hidden by broken", ""),
            ("hidden by asleep", ""),
        ]
    );
    let problem = "The loadout hook of broken panicked, which is a bug in it";
    assert!(
        loadout.problems[0].starts_with(problem),
        "{:?}",
        loadout.problems
    );
}
