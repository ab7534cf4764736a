use super::arguments::{fill_in, split};
use super::*;

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn skills_are_found_told_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let skills = root.join("skills");
    file(
        &skills,
        "pdf/SKILL.md",
        "---\nname: pdf\ndescription: >\n  Reads <PDF>\n  files\n---\n\nUse scripts/read.py.\n",
    );
    file(
        &skills,
        "pdf/deeper/SKILL.md",
        "---\ndescription: never\n---\n",
    );
    file(
        &skills,
        "group/log/SKILL.md",
        "---\ndescription: \"Reads logs\" \ndisable-model-invocation: true\n---\nTail.",
    );
    file(
        &skills,
        "single.md",
        "---\ndescription: One file\n---\nText",
    );
    file(&skills, "README.md", "No skill");
    file(&skills, "broken/SKILL.md", "---\ndescription: x\n");
    file(&skills, ".hidden/SKILL.md", "---\ndescription: x\n---\n");
    let other = root.join("other");
    file(&other, "pdf/SKILL.md", "---\ndescription: Later\n---\n");
    file(&other, "Bad_Name/SKILL.md", "---\ndescription: Odd\n---\n");
    let resources = Resources::read(&ResourcePlaces {
        skills: vec![skills.clone(), other],
        ..ResourcePlaces::default()
    });
    let names: Vec<&str> = resources
        .skills()
        .iter()
        .map(|skill| skill.name.as_str())
        .collect();
    assert_eq!(names, ["log", "pdf", "single", "Bad_Name"]);
    let problems = resources.problems().join("\n");
    for told in ["has no end", "has the same name", "Bad_Name"] {
        assert!(problems.contains(told), "{problems}");
    }
    let section = resources.skills_section("read");
    assert!(
        section.contains("<description>Reads &lt;PDF&gt; files</description>"),
        "{section}"
    );
    assert!(
        section.contains("`read`") && !section.contains("Reads logs"),
        "{section}"
    );
    let said = resources.expand("/skill:pdf the second page").unwrap();
    let path = skills.join("pdf");
    assert_eq!(
        said,
        format!(
            "<skill name=\"pdf\" location=\"{0}/SKILL.md\">\nPaths in this skill are relative to {0}.\n\nUse scripts/read.py.\n</skill>\n\nthe second page",
            path.display()
        )
    );
    assert!(resources.expand("/skill:nothing").is_err());
    assert_eq!(
        resources.expand("/etc is a folder").unwrap(),
        "/etc is a folder"
    );
}

#[test]
fn templates_are_filled_in_once() {
    let folder = tempfile::tempdir().unwrap();
    let prompts = folder.path().join("prompts");
    file(
        &prompts,
        "review.md",
        "---\nargument-hint: FILE\n---\n\nReview $1 for ${2:-bugs}: $@ ($3) costs $ and $x\n",
    );
    file(&prompts, "deep/not.md", "never");
    let resources = Resources::read(&ResourcePlaces {
        templates: vec![prompts],
        ..ResourcePlaces::default()
    });
    let [template] = resources.templates() else {
        panic!("{resources:?}")
    };
    assert_eq!(template.argument_hint.as_deref(), Some("FILE"));
    assert_eq!(
        template.description,
        "Review $1 for ${2:-bugs}: $@ ($3) costs $ and $x"
    );
    assert_eq!(
        resources.expand("/review \"a $2 b\" style").unwrap(),
        "Review a $2 b for style: a $2 b style () costs $ and $x"
    );
    assert_eq!(
        resources.expand("/review").unwrap(),
        "Review  for bugs:  () costs $ and $x"
    );
    assert_eq!(resources.expand("/other x").unwrap(), "/other x");
}

#[test]
fn arguments_are_taken_apart_as_they_are_typed() {
    for (line, expected) in [
        ("a  b", &["a", "b"][..]),
        ("\"a b\" c", &["a b", "c"]),
        (r#""say \"hi\"" x"#, &["say \"hi\"", "x"]),
        ("it's five o'clock", &["it's", "five", "o'clock"]),
        ("\"open end", &["\"open", "end"]),
        ("'' x", &["", "x"]),
        ("", &[]),
    ] {
        assert_eq!(split(line), expected, "{line}");
    }
    let arguments: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    for (body, expected) in [
        ("$ARGUMENTS|$2|$9|", "a b c|b||"),
        ("${@:2}", "b c"),
        ("${@:2:1}", "b"),
        ("${@:9}", ""),
        ("${@:-none}", "a b c"),
        ("${4:-d}", "d"),
        ("${x} ${", "${x} ${"),
        ("$$1", "$a"),
    ] {
        assert_eq!(fill_in(body, &arguments), expected, "{body}");
    }
    assert_eq!(fill_in("${@:-none}", &[]), "none");
}
