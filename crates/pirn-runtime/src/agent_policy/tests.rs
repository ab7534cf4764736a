use pirn_tool::Origin;
use serde_json::{Value, json};

use super::*;
use crate::effect_policy::Otherwise;

fn policy(folder: &Path) -> AgentPolicy {
    let otherwise = Otherwise::Deny {
        because: "nobody can be asked".into(),
        allowed_by: Some("--yes".into()),
    };
    AgentPolicy::new(EffectPolicy::new(Effects::NONE, otherwise), folder)
}

fn decide(policy: &AgentPolicy, tool: &ToolSpec, arguments: &Value) -> Decision {
    policy.decide(PolicyInput {
        tool,
        arguments,
        origin: Origin::Model,
    })
}

#[test]
fn files_may_be_changed_in_the_project_only() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("project");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outer.path(), folder.join("out")).unwrap();
        std::os::unix::fs::symlink(outer.path().join("new"), folder.join("dangling")).unwrap();
    }
    let write = ToolSpec::new("write", "Writes").effects(Effects::READ | Effects::WRITE);
    let policy = policy(&folder);
    for (path, is_allowed) in [
        ("a.txt", true),
        ("src/new/deep.txt", true),
        ("src/../b.txt", true),
        ("../c.txt", false),
        ("none/../../c.txt", false),
        ("/etc/passwd", false),
        ("out/c.txt", false),
        ("dangling", false),
        ("~/x", false),
        ("file:///etc/passwd", false),
        (".git/hooks/post-checkout", false),
        (".pirn/settings.json", false),
    ] {
        let decision = decide(&policy, &write, &json!({"path": path}));
        assert_eq!(
            decision == Decision::Allow,
            is_allowed,
            "{path}: {decision:?}"
        );
    }
    assert!(matches!(
        decide(&policy, &write, &json!({})),
        Decision::Deny { .. }
    ));
}

#[test]
fn what_is_denied_names_the_flags_that_allow_it() {
    let policy = policy(Path::new("/"));
    let mut tool = ToolSpec::new("mcp__web__fetch", "Fetches").effects(Effects::NETWORK);
    tool.namespace = Some(std::sync::Arc::new(pirn_tool::Namespace {
        name: "mcp__web".into(),
        ..pirn_tool::Namespace::default()
    }));
    let Decision::Deny { reason } = decide(&policy, &tool, &json!({})) else {
        panic!();
    };
    assert_eq!(
        reason,
        "effect: network; nobody can be asked, --yes=network allows it; --allow-tool mcp__web__fetch allows this tool"
    );
    let allowed = policy.allow_tools(vec!["mcp__web__*".into()]);
    assert_eq!(decide(&allowed, &tool, &json!({})), Decision::Allow);
}

#[test]
fn commands_run_where_something_holds_them() {
    let bash = ToolSpec::new("bash", "Runs").effects(Effects::PROCESS | Effects::WRITE);
    for (commands, is_allowed) in [(Commands::Confined, true), (Commands::Unconfined, false)] {
        let policy = policy(Path::new("/")).commands(commands);
        let decision = decide(&policy, &bash, &json!({"command": "ls"}));
        assert_eq!(decision == Decision::Allow, is_allowed);
    }
}

#[test]
fn a_denial_wins_over_everything() {
    let effects =
        EffectPolicy::new(Effects::PROCESS, Otherwise::deny("no")).deny(Effects::WRITE, "--deny");
    let policy = AgentPolicy::new(effects, "/").allow_tools(vec!["*".into()]);
    let write = ToolSpec::new("write", "Writes").effects(Effects::WRITE);
    assert!(matches!(
        decide(&policy, &write, &json!({"path": "/a"})),
        Decision::Deny { .. }
    ));
}
