//! What models get back from `exec` and `wait`, against recorded cases of another agent: `PIRN_EXEC_CASES` names their folder,
//! with the driver `run_codex.py` and `cases`. A case that `tests/exec-deviations.json` lists differs, and says there why; every
//! other case that needs no tool of that agent's own agrees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Tools of the other agent that Pirn has in another form.
const OTHER_TOOLS: &str = "exec_command,apply_patch,view_image,update_plan";

#[test]
fn recorded_cases_of_scripts_in_a_turn_agree() {
    let Some(folder) = std::env::var_os("PIRN_EXEC_CASES").map(PathBuf::from) else {
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let agent = root.join("tests/exec-agent");
    let mut command = Command::new("python3");
    command
        .arg(folder.join("run_codex.py"))
        .arg("check")
        .arg(folder.join("cases"))
        .args(["--level", "contract", "--no-engine", "--jobs", "2"])
        .args(["--skip-needs", OTHER_TOOLS])
        .args(["--agent-cmd", &format!("{} {{run_json}}", agent.display())])
        .env("PIRN", env!("CARGO_BIN_EXE_pirn"));
    let superseded = folder.join("../superseded.json");
    if superseded.is_file() {
        command.arg("--superseded").arg(superseded);
    }
    let output = command.output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let named = |word: &str| -> BTreeSet<String> {
        let lines = output.lines().filter_map(|line| line.strip_prefix(word));
        lines
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect()
    };
    let (failed, agreed) = (named("FAIL "), named("ok "));
    assert!(failed.len() + agreed.len() > 30, "{output}");
    let listed = std::fs::read_to_string(root.join("tests/exec-deviations.json")).unwrap();
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let listed: BTreeMap<&str, &str> = listed
        .iter()
        .map(|row| {
            (
                row["case"].as_str().unwrap(),
                row["reason"].as_str().unwrap(),
            )
        })
        .collect();
    let unlisted: Vec<&String> = failed
        .iter()
        .filter(|case| !listed.contains_key(case.as_str()))
        .collect();
    assert!(unlisted.is_empty(), "{unlisted:?}\n{output}");
    let agreeing: Vec<&String> = agreed
        .iter()
        .filter(|case| listed.contains_key(case.as_str()))
        .collect();
    assert!(agreeing.is_empty(), "these agree by now: {agreeing:?}");
}
