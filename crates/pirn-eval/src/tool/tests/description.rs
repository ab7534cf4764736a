//! What models and people are told.

use super::*;

#[test]
fn the_description_says_what_can_be_called_and_what_holds() {
    let bench = Bench::new([echo("look", Effects::READ), echo("change", Effects::WRITE)]);
    let registry = bench.pipeline.build().registry().clone();
    let changes = bench.eval.prepare_loadout(&Loadout::of(&registry));
    let description = &changes.descriptions[EVAL_TOOL_NAME];
    assert!(
        description.ends_with("\n- look (read): Echoes look."),
        "{description}"
    );
    assert!(description.contains("Programs are not confined: they have all rights of the user."));
    let spec = eval_tool(bench.eval).spec().clone();
    assert_eq!(spec.exposure, Exposure::ModelOnly);
    assert_eq!(
        spec.effects.names().collect::<Vec<_>>(),
        ["read", "write", "process", "network", "orchestration"]
    );
    assert_eq!(spec.guidelines.len(), 2);
}

#[test]
fn confinement_is_told_as_it_is() {
    use pirn_sandbox::{Layer, Level, MissingLayer, NetworkMode, Profile, SandboxReport};
    let report = SandboxReport {
        profile: Profile::WorkspaceWrite,
        network: NetworkMode::Off,
        level: Some(Level::Strict),
        layers: Vec::new(),
        missing: vec![MissingLayer {
            layer: Layer::CgroupMemory,
            reason: String::new(),
            remedy: None,
        }],
    };
    let all = Effects::READ | Effects::WRITE | Effects::PROCESS | Effects::NETWORK;
    let cases = [
        (
            report.clone(),
            Effects::READ | Effects::WRITE | Effects::PROCESS,
            "have no network; not in force on this machine: cgroup-memory.",
        ),
        (
            SandboxReport {
                profile: Profile::ReadOnly,
                missing: Vec::new(),
                ..report.clone()
            },
            Effects::READ | Effects::PROCESS,
            "write only to a private temporary folder, cannot read common places of credentials, and have no network.",
        ),
        (
            SandboxReport {
                network: NetworkMode::On,
                ..report.clone()
            },
            all,
            "can use the network",
        ),
        (
            SandboxReport {
                network: NetworkMode::AllowList,
                ..report.clone()
            },
            all,
            "reach only allowed hosts",
        ),
        (
            SandboxReport {
                level: None,
                ..report.clone()
            },
            all,
            "not confined",
        ),
        (
            SandboxReport {
                profile: Profile::Off,
                ..report
            },
            all,
            "not confined",
        ),
    ];
    for (report, effects, sentence) in cases {
        assert_eq!(confinement_effects(Some(&report)), effects, "{report:?}");
        let said = confinement_sentence(Some(&report));
        assert!(said.contains(sentence), "{said}");
    }
}

#[tokio::test]
async fn progress_is_told() {
    let bench = Bench::new([echo("look", Effects::READ)]);
    let pipeline = bench.pipeline.build();
    pipeline.registry().register(eval_tool(bench.eval));
    let updates = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&updates);
    let request = CallRequest {
        updates: Some(Arc::new(move |update| sink.lock().unwrap().push(update))),
        ..CallRequest::new(
            "1",
            EVAL_TOOL_NAME,
            json!({"language": "python", "code": "1"}),
        )
    };
    pipeline.call(request).await;
    let updates = updates.lock().unwrap();
    assert_eq!(updates[0].text, "printed");
    assert_eq!(
        updates[0].details,
        Some(json!({"callsStarted": 0, "callsEnded": 0, "running": []}))
    );
}

#[tokio::test]
async fn output_is_told_piece_by_piece() {
    let outputs = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&outputs);
    let mut bench = Bench::new([]);
    bench.pipeline = bench.pipeline.events(Arc::new(move |event| {
        if let (EventKind::Output(text), Some(call)) = (event.kind, event.call) {
            seen.lock()
                .unwrap()
                .push(format!("{} {}: {text}", call.call_id, call.tool_name));
        }
    }));
    bench
        .call(json!({"language": "python", "code": "[]"}))
        .await;
    assert_eq!(*outputs.lock().unwrap(), ["7 eval: printed"]);
}
