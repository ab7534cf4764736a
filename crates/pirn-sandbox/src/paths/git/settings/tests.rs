use super::harmless_settings;

fn check(file: &str, kept: Option<&str>) {
    let found = harmless_settings(file.as_bytes()).map(|kept| String::from_utf8(kept).unwrap());
    assert_eq!(found.as_deref(), kept, "{file}");
}

#[test]
fn what_git_itself_writes_is_harmless() {
    check("", None);
    check(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
        None,
    );
    check(
        "[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
         [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n# a remark\n\n[user]\n\tname = A B\n",
        None,
    );
}

#[test]
fn what_may_run_something_is_dropped() {
    let core = "[core]\n\tbare = false\n";
    for line in [
        "\tfsmonitor = touch x",
        "\tFSMonitor = touch x",
        "\tfsmonitor=touch x",
        "\thooksPath = .",
        "\tsshCommand = x",
        "\tpager = x",
        "\teditor = x",
        "\tattributesFile = x",
        "\tbare = \"a\\\n\tfsmonitor = x",
        "\tbare = true \\",
        "bare",
        "[include] path = x",
        "[core] fsmonitor = x",
        "[include]\n\tpath = x",
        "[filter \"x\"]\n\tclean = x",
        "[alias]\n\tx = !x",
        "[remote \"x\"]\n\tuploadpack = x",
        "[diff]\n\texternal = x",
        "[credential]\n\thelper = x",
        "[gpg]\n\tprogram = x",
        "[includeIf \"gitdir:/\"]\n\tpath = x",
        "[core\"]\n\tfsmonitor = x",
        "[core.x]\n\tfsmonitor = x",
        "\u{feff}[core]\n\tfsmonitor = x",
        "\tfsmonitor\u{b}= x",
        "\tfsmonitor = x\r",
    ] {
        let file = format!("{core}{line}\n");
        let kept = harmless_settings(file.as_bytes()).unwrap_or_else(|| panic!("{file}"));
        let kept = String::from_utf8(kept).unwrap();
        assert!(kept.starts_with(core), "{kept}");
        let lower = kept.to_lowercase();
        for word in ["fsmonitor", "= x", "=x", "touch", "path"] {
            assert!(!lower.contains(word), "{file} -> {kept}");
        }
    }
    check(
        "[remote \"x\"]\n\turl = ext::sh -c x\n",
        Some("[remote \"x\"]\n"),
    );
    check(
        "[remote \"x\"]\n\turl = -oProxyCommand=x\n",
        Some("[remote \"x\"]\n"),
    );
    // Without its end, the last line could go on.
    check("[core]\n\tbare = true", Some("[core]\n\tbare = true\n"));
}
