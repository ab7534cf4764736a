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

fn attended(folder: &Path) -> AgentPolicy {
    AgentPolicy::new(EffectPolicy::new(Effects::NONE, Otherwise::Ask), folder)
}

fn reason(decision: Decision) -> String {
    match decision {
        Decision::Allow => panic!("it is allowed"),
        Decision::Ask { reason } | Decision::Deny { reason } => reason,
    }
}

/// The rows of the table about `eval`: with a person each program is shown; without one it takes the setting and the flag.
#[test]
fn programs_are_asked_about_and_without_a_person_need_two_words() {
    let folder = tempfile::tempdir().unwrap();
    let eval = ToolSpec::new(EVAL_TOOL_NAME, "Runs").effects(Effects::READ | Effects::PROCESS);
    let arguments = json!({"language": "python", "code": "1"});
    let asks = attended(folder.path());
    assert!(matches!(
        decide(&asks, &eval, &arguments),
        Decision::Ask { .. }
    ));
    let yes = EffectPolicy::new(Effects::PROCESS, Otherwise::deny("nobody"));
    for (effects, run_unattended, is_allowed) in [
        (yes.clone(), true, true),
        (yes, false, false),
        (
            EffectPolicy::new(Effects::NONE, Otherwise::deny("nobody")),
            true,
            false,
        ),
    ] {
        let policy = AgentPolicy::new(effects, folder.path()).programs(Programs {
            run_unattended,
            ..Programs::default()
        });
        let decision = decide(&policy, &eval, &arguments);
        assert_eq!(decision == Decision::Allow, is_allowed);
        if !is_allowed {
            let reason = reason(decision);
            assert!(
                reason.contains("eval.allowNonInteractive") && reason.contains("--yes=process"),
                "{reason}"
            );
        }
    }
    let input = PolicyInput {
        tool: &eval,
        arguments: &arguments,
        origin: Origin::Model,
    };
    assert_eq!(asks.offer(input).choices, [Choice::ONCE]);
    let remembers = asks.programs(Programs {
        are_remembered: true,
        ..Programs::default()
    });
    assert_eq!(
        remembers.offer(input).choices,
        [Choice::ONCE, Choice::new(Scope::Session, Covers::Arguments)]
    );
}

/// A change outside the writable folders is asked about as the very file that would be changed; Pirn's own folder is closed to
/// everybody.
#[cfg(unix)]
#[tokio::test]
async fn a_change_outside_is_shown_as_the_file_that_it_is() {
    // Not below /tmp, in whose place commands and file tools have a private folder.
    let program = std::env::current_exe().unwrap();
    let outer = tempfile::tempdir_in(program.ancestors().nth(3).unwrap()).unwrap();
    let outer = outer.path().canonicalize().unwrap();
    let folder = outer.join("project");
    std::fs::create_dir_all(&folder).unwrap();
    let home = outer.join("user-home");
    std::fs::create_dir_all(home.join(".pirn")).unwrap();
    std::os::unix::fs::symlink(&outer, folder.join("out")).unwrap();
    let env = crate::HostEnv {
        home: Some(home.clone()),
        pirn_home: Some(home.join(".pirn")),
        temp_dir: outer.join("temporary"),
        ..crate::HostEnv::default()
    };
    std::fs::create_dir_all(&env.temp_dir).unwrap();
    let runtime = Runtime::builder(env, &folder).build().unwrap();
    let write = ToolSpec::new("write", "Writes").effects(Effects::READ | Effects::WRITE);
    let asks = attended(&folder).confined_as(&runtime);
    let denies = policy(&folder).confined_as(&runtime);
    let linked = json!({"path": "out/c.txt"});
    let question = reason(decide(&asks, &write, &linked));
    assert!(question.contains("sandbox.writeRoots"), "{question}");
    let denial = reason(decide(&denies, &write, &linked));
    let flag = format!("--allow-write {} allows it", outer.display());
    assert!(denial.contains(&flag), "{denial}");
    let input = PolicyInput {
        tool: &write,
        arguments: &linked,
        origin: Origin::Model,
    };
    let offer = asks.offer(input);
    let path = outer.join("c.txt");
    assert_eq!(offer.target, Some(Target::Path { path }));
    assert_eq!(
        offer.choices,
        [
            Choice::ONCE,
            Choice::new(
                Scope::Run,
                Covers::Folder {
                    path: outer.clone()
                }
            )
        ]
    );
    for path in ["~/.pirn/auth.json", "../user-home/.pirn/auth.json"] {
        let decision = decide(&asks, &write, &json!({"path": path}));
        assert!(matches!(decision, Decision::Deny { .. }), "{decision:?}");
    }
    runtime.shutdown().await;
}
