//! What a confinement says about commands that failed because of it: real programs, at every level.

use pirn_sandbox::{
    Denial, Evidence, Level, Network, NetworkOptions, NetworkProxy, NetworkRules, Sandbox,
};

use crate::confined::{Place, also_as_ordinary_user, levels};
use crate::support::run;

/// A script, and the notes that it is to get, at levels with mounts and at the lowest.
struct Case {
    script: &'static str,
    mounted: &'static [&'static str],
    basic: &'static [&'static str],
}

const FILES: &[Case] = &[
    Case {
        script: "touch /etc/pirn-new",
        mounted: &["/etc/pirn-new sandbox.writeRoots /etc"],
        basic: &["/etc/pirn-new sandbox.writeRoots /etc"],
    },
    Case {
        script: "mkdir /usr/local/pirn-new",
        mounted: &["/usr/local/pirn-new sandbox.writeRoots /usr/local"],
        basic: &["/usr/local/pirn-new sandbox.writeRoots /usr/local"],
    },
    Case {
        script: "/usr/bin/python3 -c 'open(\"/etc/pirn-new\", \"w\")'",
        mounted: &["/etc/pirn-new sandbox.writeRoots /etc"],
        basic: &["/etc/pirn-new sandbox.writeRoots /etc"],
    },
    Case {
        script: "echo x > \"$HOME/.cache-file\"",
        mounted: &["HOME/.cache-file sandbox.writeRoots ~/.cache-file"],
        basic: &["HOME/.cache-file sandbox.writeRoots ~/.cache-file"],
    },
    Case {
        script: "cat \"$HOME/.ssh/key\"",
        mounted: &["HOME/.ssh/key sandbox.unreadable ~/.ssh"],
        basic: &["HOME/.ssh/key sandbox.unreadable ~/.ssh"],
    },
    Case {
        script: "cat .env",
        mounted: &[".env sandbox.unreadable WORK/.env"],
        // Here and below: the lowest level cannot keep it, so nothing fails.
        basic: &[],
    },
    Case {
        script: "echo x > .git/hooks/pre-commit && exit 1",
        mounted: &[".git/hooks/pre-commit sandbox.profile off"],
        basic: &[],
    },
    Case {
        script: "mv .git gone && exit 1",
        mounted: &[".git sandbox.profile off"],
        basic: &[],
    },
    Case {
        script: "cd /etc && touch pirn-new",
        mounted: &["pirn-new sandbox.writeRoots"],
        basic: &[],
    },
    // Nothing that the confinement did.
    Case {
        script: "cat missing; cat /missing; ls /missing; ./file",
        mounted: &[],
        basic: &[],
    },
    Case {
        script: "touch x && chmod 000 x && cat x",
        mounted: &[],
        basic: &[],
    },
    Case {
        script: "echo \"touch: cannot touch '/etc/x': Read-only file system\"",
        mounted: &[],
        basic: &[],
    },
];

#[tokio::test]
async fn refused_files_are_named_with_their_setting() {
    for level in levels() {
        let place = Place::new();
        std::fs::create_dir_all(place.home.join(".ssh")).unwrap();
        std::fs::write(place.home.join(".ssh/key"), "secret").unwrap();
        std::fs::write(place.work.join(".env"), "secret").unwrap();
        std::fs::write(place.work.join("file"), "").unwrap();
        std::fs::create_dir_all(place.work.join(".git/hooks")).unwrap();
        std::fs::create_dir_all(place.work.join(".git/objects")).unwrap();
        std::fs::create_dir_all(place.work.join(".git/refs")).unwrap();
        std::fs::write(place.work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(place.work.join(".git/config"), "").unwrap();
        let sandbox = place.sandbox(*level);
        for case in FILES {
            let wanted = match level {
                Level::Basic => case.basic,
                Level::Standard | Level::Strict => case.mounted,
            };
            let (status, output) = place.run(&sandbox, case.script).await;
            let denials = sandbox.explain(&output, status, &[]);
            let found: Vec<String> = denials.iter().map(|denial| shown(&place, denial)).collect();
            assert_eq!(found, wanted, "{level:?}: {}: {output}", case.script);
            for denial in denials {
                assert_eq!(denial.evidence, Evidence::Likely);
                let setting = denial.setting.unwrap();
                assert!(denial.sentence.contains(setting), "{}", denial.sentence);
            }
        }
    }
    also_as_ordinary_user("explained::refused_files_are_named_with_their_setting");
}

/// What exists in the shared temporary folder is not there for commands; each script, and whether only its text tells.
const ABSENT: &[(&str, &str)] = &[
    ("cat OUT/x", "OUT/x sandbox.writeRoots OUT"),
    ("cat OUT/x | head -n 1", "OUT/x sandbox.writeRoots OUT"),
    (
        "cat OUT/x 2>/dev/null | wc -l",
        "OUT/x sandbox.writeRoots OUT",
    ),
    ("[ -e OUT/x ] || echo none", "OUT/x sandbox.writeRoots OUT"),
    ("ls OUT >/dev/null 2>&1; true", "OUT sandbox.writeRoots OUT"),
    (
        ".venv/bin/tool",
        ".venv/bin/tool sandbox.writeRoots OUT/venv/bin",
    ),
    (
        ".venv/bin/tool 2>&1 | tail -n 3",
        ".venv/bin/tool sandbox.writeRoots OUT/venv/bin",
    ),
    ("./link", "./link sandbox.writeRoots OUT"),
    (
        "/usr/bin/python3 -c 'open(\"OUT/x\")'",
        "OUT/x sandbox.writeRoots OUT",
    ),
    ("mkdir -p OUT && echo > OUT/x && cat OUT/x", ""),
    ("cat OUT/missing; ls .venv-missing/bin", ""),
    ("cat file WORK/file && mkdir -p sub/x && ls HOME", ""),
];

#[tokio::test]
async fn what_exists_outside_alone_is_named_whatever_became_of_the_output() {
    for level in levels() {
        let place = Place::new();
        let out = place.folder.path().canonicalize().unwrap().join("out");
        std::fs::create_dir_all(out.join("venv/bin")).unwrap();
        std::fs::write(out.join("x"), "outside").unwrap();
        std::fs::write(out.join("venv/bin/tool"), "").unwrap();
        std::fs::write(place.work.join("file"), "").unwrap();
        std::os::unix::fs::symlink(out.join("venv"), place.work.join(".venv")).unwrap();
        std::os::unix::fs::symlink(out.join("x"), place.work.join("link")).unwrap();
        for (script, wanted) in ABSENT {
            let sandbox = place.sandbox(*level);
            let put = |text: &str| {
                [(&out, "OUT"), (&place.work, "WORK"), (&place.home, "HOME")]
                    .iter()
                    .fold(text.to_owned(), |text, (path, name)| {
                        text.replace(name, path.to_str().unwrap())
                    })
            };
            let script = put(script);
            let (status, output) = place.run(&sandbox, &script).await;
            let mut denials = sandbox.explain(&output, status, &[]);
            denials.extend(sandbox.explain_source(&script, &place.work));
            denials.dedup_by(|one, other| one.subject == other.subject);
            let found: Vec<String> = denials
                .iter()
                .filter(|denial| denial.evidence == Evidence::Certain)
                .map(|denial| shown(&place, denial).replace(out.to_str().unwrap(), "OUT"))
                .collect();
            let wanted = match level {
                Level::Basic => "",
                Level::Standard | Level::Strict => wanted,
            };
            assert_eq!(
                found.join(" + "),
                wanted,
                "{level:?}: {script}: {output}: {denials:?}"
            );
        }
    }
    also_as_ordinary_user(
        "explained::what_exists_outside_alone_is_named_whatever_became_of_the_output",
    );
}

/// The subject, the setting and the suggestion, with names for the folders.
fn shown(place: &Place, denial: &Denial) -> String {
    let mut text = format!(
        "{} {}",
        denial.subject,
        denial.setting.unwrap_or("no setting")
    );
    if let Some(suggested) = &denial.suggested {
        text = format!("{text} {suggested}");
    }
    for (path, name) in [(&place.work, "WORK"), (&place.home, "HOME")] {
        text = text.replace(path.to_str().unwrap(), name);
    }
    text
}

const REACHING: &[(&str, &str)] = &[
    (
        "curl -sS --max-time 5 http://refused.example/ --fail",
        "refused.example",
    ),
    (
        "curl -sS --max-time 5 https://refused.example/",
        "refused.example",
    ),
    (
        "curl -sS --noproxy '*' --max-time 5 https://direct.example/",
        "direct.example",
    ),
    ("git ls-remote https://refused.example/a", "refused.example"),
    (
        "/usr/bin/python3 -c 'import urllib.request as u; u.urlopen(\"http://refused.example/\")'",
        "refused.example or network",
    ),
    (
        "/usr/bin/python3 -c 'import socket as s; s.create_connection((\"203.0.113.5\", 80), 5)'",
        "network",
    ),
];

#[tokio::test]
async fn refused_hosts_are_named_with_their_setting() {
    for level in levels() {
        for is_listed in [false, true] {
            let place = Place::new();
            let mut policy = place.policy(*level);
            let proxy = NetworkProxy::new(NetworkRules::default(), NetworkOptions::default());
            policy.network = if is_listed {
                Network::AllowList(proxy.clone())
            } else {
                Network::Off
            };
            let sandbox = Sandbox::prepare(policy).unwrap();
            for (script, host) in REACHING {
                let cursor = proxy.decision_cursor();
                let (status, captured) = run(place.shell(&sandbox, script)).await;
                let output = String::from_utf8(captured.bytes).unwrap();
                let decisions = proxy.decisions_since(cursor);
                let denials = sandbox.explain(&output, status, &decisions);
                let [denial] = &denials[..] else {
                    panic!("{level:?}, {is_listed}: {script}: {output}: {denials:?}");
                };
                let subject = denial.subject.to_string();
                assert!(
                    host.split(" or ").any(|host| host == subject),
                    "{script}: {denial:?}"
                );
                let is_certain = *level > Level::Basic && is_listed && subject == "refused.example";
                let (evidence, setting) = if is_certain {
                    (Evidence::Certain, "sandbox.allowedHosts")
                } else {
                    (Evidence::Likely, "sandbox.network")
                };
                assert_eq!(denial.evidence, evidence, "{script}: {denial:?}");
                assert_eq!(denial.setting, Some(setting), "{script}: {denial:?}");
            }
        }
    }
}
