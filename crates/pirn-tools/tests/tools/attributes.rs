//! What belongs to a file besides its content stays.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Bench;

/// Calls that change `f`.
fn changes() -> [(&'static str, Value); 2] {
    [
        (
            "edit",
            json!({"path": "f", "edits": [{"oldText": "old", "newText": "longer than before"}]}),
        ),
        ("write", json!({"path": "f", "content": "new"})),
    ]
}

#[tokio::test]
async fn hard_links_stay_one_file() {
    for (tool, arguments) in changes() {
        let bench = Bench::new();
        let path = bench.put("f", "old and more\n");
        std::fs::hard_link(&path, bench.path("other")).unwrap();
        let before = std::fs::metadata(&path).unwrap().ino();
        bench.ok(tool, arguments).await;
        assert_eq!(bench.get("f"), bench.get("other"), "{tool}");
        assert_ne!(bench.get("f"), "old and more\n");
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), before);
    }
}

#[tokio::test]
async fn owner_and_mode_stay() {
    for (tool, arguments) in changes() {
        let bench = Bench::new();
        let path = bench.put("f", "old\n");
        // Only the superuser can give a file away; everybody else keeps it.
        let _not_allowed = std::os::unix::fs::chown(&path, Some(12_345), Some(12_346));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4751)).unwrap();
        let facts = |path: &Path| {
            let metadata = std::fs::metadata(path).unwrap();
            (metadata.uid(), metadata.gid(), metadata.mode())
        };
        let before = facts(&path);
        bench.ok(tool, arguments).await;
        assert_eq!(facts(&path), before, "{tool}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn extended_attributes_stay() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    for (tool, arguments) in changes() {
        let bench = Bench::new();
        let path = bench.put("f", "old\n");
        let attributes = [
            ("user.origin", "web"),
            ("user.empty", ""),
            ("user.\u{e9}", "\0\u{1}"),
        ];
        for (name, value) in attributes {
            match setxattr(&path, name, value.as_bytes(), XattrFlags::CREATE) {
                Err(rustix::io::Errno::NOTSUP) => return,
                set => set.unwrap(),
            }
        }
        bench.ok(tool, arguments).await;
        for (name, value) in attributes {
            let mut found = [0; 16];
            let length = getxattr(&path, name, &mut found[..]).unwrap();
            assert_eq!(&found[..length], value.as_bytes(), "{tool} {name}");
        }
    }
}
