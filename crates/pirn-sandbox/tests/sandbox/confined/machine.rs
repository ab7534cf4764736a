//! Processes, limits, network, and what is said about them.

use std::path::PathBuf;

use pirn_sandbox::{
    ErrorKind, Layer, Level, LevelChoice, Network, NetworkOptions, NetworkProxy, NetworkRules,
    Profile, Sandbox, levels_here,
};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{Place, also_as_ordinary_user, levels, levels_with_namespaces};
use crate::support::{run, shell};

#[tokio::test]
async fn sees_its_own_processes_only() {
    also_as_ordinary_user("confined::machine::sees_its_own_processes_only");
    let place = Place::new();
    for level in levels_with_namespaces() {
        let sandbox = place.sandbox(level);
        // The supervisor, the shell, and what it starts.
        let (_, text) = place
            .run(
                &sandbox,
                "ps -A -o pid= | wc -l; echo $PPID; kill -9 1; echo still",
            )
            .await;
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            matches!(lines.first(), Some(&("3" | "4"))),
            "{level:?} {text}"
        );
        assert_eq!(lines.get(1), Some(&"1"), "{level:?} {text}");
        assert_eq!(lines.last(), Some(&"still"), "{level:?} {text}");
    }
}

#[tokio::test]
async fn the_supervisor_inside_gives_nothing_away() {
    also_as_ordinary_user("confined::machine::the_supervisor_inside_gives_nothing_away");
    let place = Place::new();
    for level in levels_with_namespaces() {
        let sandbox = place.sandbox(level);
        // It is a copy of this process.
        let script = "tr -d '\\0' < /proc/1/cmdline | wc -c; cat /proc/1/comm; \
                      cat /proc/1/environ /proc/1/maps /proc/1/mem 2>/dev/null | wc -c; readlink /proc/1/fd/3 /proc/1/cwd /proc/1/exe";
        let (_, text) = place.run(&sandbox, script).await;
        assert_eq!(text, "0\npirn-supervisor\n0\n", "{level:?}");
    }
}

#[tokio::test]
async fn root_has_a_bound_on_processes_without_a_cgroup() {
    let place = Place::new();
    for level in levels_with_namespaces() {
        let mut policy = place.policy(level);
        policy.limits.processes = Some(400);
        let sandbox = Sandbox::prepare(policy).unwrap();
        let before = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
        let forks = "import os\nfor n in range(600):\n  try: p = os.fork()\n  except OSError: print(n < 400, flush=True); os.killpg(0, 9)\n  if p == 0: import time; time.sleep(100)";
        let (_, text) = place.run(&sandbox, &format!("python3 -c '{forks}'")).await;
        assert_eq!(text, "True\n", "{level:?}");
        let after = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
        assert_eq!(before, after);
    }
}

#[tokio::test]
async fn has_no_capabilities() {
    also_as_ordinary_user("confined::machine::has_no_capabilities");
    let place = Place::new();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        let script = "grep -E '^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | cut -f2 | sort -u";
        place
            .check(&sandbox, script, "0000000000000000\n1\n2\n")
            .await;
    }
}

#[tokio::test]
async fn counts_memory_and_processes() {
    let place = Place::new();
    for level in levels() {
        let mut policy = place.policy(*level);
        policy.limits.memory_bytes = Some(100_000_000);
        policy.limits.processes = Some(40);
        let sandbox = Sandbox::prepare(policy).unwrap();
        let has = |layer| sandbox.report().unwrap().layers.contains(&layer);
        let bomb = "python3 -c 'b = bytearray(400_000_000); print(len(b))'";
        let child = place.shell(&sandbox, bomb).spawn().unwrap();
        assert!(!child.wait().await.is_success(), "{level:?}");
        assert_eq!(
            child.was_out_of_memory(),
            has(Layer::CgroupMemory),
            "{level:?}"
        );
        let child = place.shell(&sandbox, "true").spawn().unwrap();
        assert!(child.wait().await.is_success(), "{level:?}");
        assert!(!child.was_out_of_memory());
        let survivor = format!("{bomb} || echo over; exec sleep 1000");
        let mut child = place.shell(&sandbox, &survivor).spawn().unwrap();
        let mut lines = BufReader::new(child.take_output().unwrap()).lines();
        while lines.next_line().await.unwrap().as_deref() != Some("over") {}
        let counted = has(Layer::CgroupMemory).then_some(1);
        assert_eq!(child.memory_kills(), counted, "{level:?}");
        child.kill_all().await;
        if has(Layer::CgroupProcesses) {
            let forks = "import os\nfor n in range(200):\n  try: p = os.fork()\n  except OSError: print(n < 60, flush=True); os.killpg(0, 9)\n  if p == 0: import time; time.sleep(100)";
            let (_, text) = place.run(&sandbox, &format!("python3 -c '{forks}'")).await;
            assert_eq!(text, "True\n", "{level:?}");
        }
    }
}

#[tokio::test]
async fn reaches_the_network_as_the_policy_says() {
    also_as_ordinary_user("confined::machine::reaches_the_network_as_the_policy_says");
    let place = Place::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let connect =
        format!("import socket; socket.create_connection((\"127.0.0.1\", {port})); print(\"in\")");
    for level in levels() {
        for (network, wanted) in [(Network::On, true), (Network::Off, false)] {
            let mut policy = place.policy(*level);
            policy.network = network;
            let sandbox = Sandbox::prepare(policy).unwrap();
            let (status, text) = place
                .run(&sandbox, &format!("python3 -c '{connect}'"))
                .await;
            assert_eq!(status.is_success(), wanted, "{level:?} {text}");
        }
    }
    drop(server);
}

#[tokio::test]
async fn an_allow_list_leads_to_the_proxy() {
    also_as_ordinary_user("confined::machine::an_allow_list_leads_to_the_proxy");
    let place = Place::new();
    for level in levels() {
        let proxy = NetworkProxy::new(NetworkRules::default(), NetworkOptions::default());
        let mut policy = place.policy(*level);
        policy.network = Network::AllowList(proxy.clone());
        let sandbox = Sandbox::prepare(policy).unwrap();
        let has_proxy = sandbox
            .report()
            .unwrap()
            .layers
            .contains(&Layer::NetworkProxy);
        assert_eq!(has_proxy, *level > Level::Basic);
        let ask = "import os, urllib.request as r\ntry: r.urlopen(\"http://blocked.example/\", timeout=5)\nexcept Exception as e: print(getattr(e, \"code\", \"none\"))";
        let (_, text) = place
            .run(&sandbox, &format!("python3 -c '{ask}'; echo $https_proxy"))
            .await;
        let wanted = if has_proxy {
            "403\nhttp://127.0.0.1:3128\n"
        } else {
            "none\n\n"
        };
        assert_eq!(text, wanted, "{level:?}");
        assert_eq!(
            proxy.decisions_since(0).len(),
            usize::from(has_proxy),
            "{level:?}"
        );
    }
}

#[tokio::test]
async fn says_what_is_in_force() {
    also_as_ordinary_user("confined::machine::says_what_is_in_force");
    let place = Place::new();
    for (level, report) in levels_here(&place.policy(Level::Strict)) {
        let Ok(report) = report else { continue };
        assert_eq!(report.level, Some(level));
        let has = |layer| report.layers.contains(&layer);
        assert!(has(Layer::NoNewPrivileges) && has(Layer::ResourceLimits));
        assert_eq!(has(Layer::ProcessNamespace), level > Level::Basic);
        assert_eq!(has(Layer::PrivateRoot), level == Level::Strict);
        for missing in &report.missing {
            assert!(missing.reason.ends_with('.'), "{missing:?}");
        }
    }
    let mut policy = place.policy(Level::Basic);
    policy.require = Some(Level::Strict);
    let error = Sandbox::prepare(policy).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Confinement);
    assert!(error.to_string().contains("`strict`"), "{error}");
    let mut policy = place.policy(Level::Strict);
    policy.level = LevelChoice::Strongest;
    policy.profile = Profile::Off;
    let sandbox = Sandbox::prepare(policy).unwrap();
    assert_eq!(
        (
            sandbox.report().unwrap().level,
            sandbox.private_temp().unwrap()
        ),
        (None, None)
    );
    let (status, _) = run(shell("true").sandbox(&sandbox)).await;
    assert!(status.is_success());
}

#[tokio::test]
async fn leaves_no_cgroups() {
    let place = Place::new();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        let child = place.shell(&sandbox, "sleep 0.1 & exit 0").spawn().unwrap();
        child.wait_all().await;
    }
    let ours = format!("pirn-{}-", std::process::id());
    let found: Vec<PathBuf> = [
        "/sys/fs/cgroup/pids",
        "/sys/fs/cgroup/memory",
        "/sys/fs/cgroup",
    ]
    .into_iter()
    .filter_map(|base| std::fs::read_dir(base).ok())
    .flat_map(Iterator::flatten)
    .map(|entry| entry.path())
    .filter(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&ours))
    })
    .collect();
    // Others of this process may run at the same time.
    assert!(found.len() <= 8, "{found:?}");
}
