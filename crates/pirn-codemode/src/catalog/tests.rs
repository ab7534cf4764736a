use std::sync::Arc;

use pirn_tool::{Exposure, Loadout, Namespace, Registry, Tool, ToolResult, ToolSpec};

use super::collation::SortKey;
use super::{CatalogMode, CatalogOptions, prepare_loadout};

fn registry(specs: Vec<ToolSpec>) -> Registry {
    let registry = Registry::new();
    for spec in specs {
        registry.register(Tool::from_fn(spec, |_arguments, _context| async {
            ToolResult::default()
        }));
    }
    registry
}

fn description(specs: Vec<ToolSpec>, options: &CatalogOptions) -> String {
    let mut changes = prepare_loadout(&Loadout::of(&registry(specs)), options);
    changes.descriptions.remove("exec").unwrap()
}

#[test]
fn the_description_is_the_same_for_the_same_tools_and_names_every_global() {
    let specs = || {
        let namespace = Arc::new(Namespace {
            name: "docs".to_owned(),
            ..Namespace::default()
        });
        vec![
            ToolSpec::new("read", "Reads"),
            ToolSpec::new("find-it", "Finds")
                .exposure(Exposure::Codemode)
                .namespace(namespace),
        ]
    };
    let options = CatalogOptions::default();
    let text = description(specs(), &options);
    assert_eq!(text, description(specs(), &options));
    for global in [
        "tools.ID",
        "ALL_TOOLS",
        "searchTools",
        "text(",
        "image(",
        "audio(",
        "exit()",
        "store(",
        "notify(",
        "yield_control()",
        "setTimeout",
    ] {
        assert!(text.contains(global), "{global}");
    }
    assert!(text.ends_with("declare const tools: { find_it(args: { [key: string]: unknown; }): Promise<string>; };\n```"));
}

#[test]
fn deferred_tools_do_not_change_the_description() {
    let options = CatalogOptions {
        mode: CatalogMode::Only,
        ..CatalogOptions::default()
    };
    let one = vec![ToolSpec::new("read", "Reads")];
    let two = vec![
        ToolSpec::new("read", "Reads"),
        ToolSpec::new("later", "Later").exposure(Exposure::Deferred),
    ];
    assert_eq!(description(one, &options), description(two, &options));
}

#[test]
fn colliding_identifiers_are_told_apart() {
    let specs = ["a-b", "a_b"]
        .map(|name| ToolSpec::new(name, name).exposure(Exposure::Codemode))
        .to_vec();
    let text = description(specs, &CatalogOptions::default());
    assert!(text.contains("### `a_b_d44362d6` (`a-b`)\n"), "{text}");
    assert!(text.contains("tools: { a_b_648fa9b3(args"), "{text}");
}

#[test]
fn globals_of_the_host_are_listed() {
    let extra_globals = vec![(
        "models.classify(model, input)".to_owned(),
        "asks a classifier.".to_owned(),
    )];
    let text = description(
        Vec::new(),
        &CatalogOptions {
            extra_globals,
            ..CatalogOptions::default()
        },
    );
    assert!(
        text.ends_with("- `models.classify(model, input)`: asks a classifier."),
        "{text}"
    );
}

#[test]
fn names_are_sorted_as_people_do() {
    let mut names = [
        "zeta", "alpha", "Beta", "ä", "a-b", "a_b", "a1", "Alpha", "mcp__b", "mcp__a",
    ];
    names.sort_by_key(|name| SortKey::new(name));
    assert_eq!(
        names,
        [
            "ä", "a_b", "a-b", "a1", "alpha", "Alpha", "Beta", "mcp__a", "mcp__b", "zeta"
        ]
    );
}
