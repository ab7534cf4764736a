//! Compiles the guest: QuickJS-ng and the shim, to one WebAssembly module.
//!
//! Shared by the build script and by `cargo xtask vm`, which makes the artifact that the published package carries.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sha2::{Digest as _, Sha256};

/// The package whose `quickjs/` folder holds the C sources.
const SOURCES_PACKAGE: &str = "rquickjs-sys";
const SOURCES_VERSION: &str = "0.14.0";
/// The version of the `PyPI` package `ziglang` that makes the recorded artifact; other compilers work, but give other bytes.
pub(crate) const ZIG_VERSION: &str = "0.15.2";

/// The changes to the engine's source, in the guest's folder.
const EDITS_FILE: &str = "engine.edits";
/// The script's side of the contract, in the order in which it runs.
const PRELUDE_FILES: [&str; 7] = [
    "prelude/values.js",
    "prelude/errors.js",
    "prelude/console.js",
    "prelude/web.js",
    "prelude/url.js",
    "prelude/locale.js",
    "prelude.js",
];

/// The shim: the first file includes the others.
const SHIM_FILES: [&str; 4] = ["shim.c", "shim/json.c", "shim/tools.c", "shim/explain.c"];

/// A C compiler that can make WebAssembly, with the arguments that come before all others.
struct Compiler {
    program: PathBuf,
    arguments: Vec<String>,
}

/// Compiles the guest in `guest_folder` and returns the module's bytes. `work_folder` holds what is made on the way.
pub(crate) fn compile_guest(
    guest_folder: &Path,
    work_folder: &Path,
    workspace_folder: &Path,
) -> Result<Vec<u8>, String> {
    let compiler = find_compiler(workspace_folder)?;
    let sources = engine_sources(guest_folder)?;
    let engine = work_folder.join("engine");
    fs::create_dir_all(&engine).map_err(|error| format!("{}: {error}", engine.display()))?;
    copy_sources(&sources, &engine)?;
    apply_edits(&guest_folder.join(EDITS_FILE), &engine.join("quickjs.c"))?;
    write_prelude(guest_folder, &engine.join("prelude.c"))?;
    for name in SHIM_FILES {
        let path = guest_folder.join(name);
        // Beside each other, where includes find them.
        let to = engine.join(path.file_name().unwrap_or_default());
        fs::copy(&path, to).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    run_compiler(&compiler, &engine)
}

/// The SHA-256 of everything the module is made from, as hexadecimal.
pub(crate) fn sources_digest(guest_folder: &Path) -> Result<String, String> {
    let mut hash = Sha256::new();
    let names = SHIM_FILES
        .into_iter()
        .chain([EDITS_FILE])
        .chain(PRELUDE_FILES);
    for name in names {
        let path = guest_folder.join(name);
        hash.update(fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?);
        hash.update([0]);
    }
    hash.update(format!(
        "{SOURCES_PACKAGE} {SOURCES_VERSION} zig {ZIG_VERSION} {FLAGS:?}"
    ));
    Ok(hex(&hash.finalize()))
}

/// The SHA-256 of `bytes`, as hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

const FLAGS: [&str; 16] = [
    "-O2",
    "-std=gnu11",
    "-mexec-model=reactor",
    "-D_GNU_SOURCE",
    "-DNDEBUG",
    "-D_WASI_EMULATED_PROCESS_CLOCKS",
    "-D_WASI_EMULATED_SIGNAL",
    "-w",
    "-fno-ident",
    "-lm",
    "-lwasi-emulated-process-clocks",
    "-lwasi-emulated-signal",
    // Deep recursion must end in the engine's own stack check, with room to spare.
    "-Wl,-z,stack-size=4194304",
    "-Wl,--strip-all",
    "-Wl,--export=vm_build",
    "-Wl,--gc-sections",
];

fn run_compiler(compiler: &Compiler, engine: &Path) -> Result<Vec<u8>, String> {
    let output = engine.join("guest.wasm");
    let result = Command::new(&compiler.program)
        .current_dir(engine)
        .args(&compiler.arguments)
        // Relative names, so that no path of this machine gets into the module.
        .args([
            "shim.c",
            "prelude.c",
            "libregexp.c",
            "libunicode.c",
            "dtoa.c",
            "-I.",
        ])
        .args(FLAGS)
        .args(["-o", "guest.wasm"])
        .env("ZIG_GLOBAL_CACHE_DIR", engine.join("cache"))
        .env("ZIG_LOCAL_CACHE_DIR", engine.join("cache"))
        .output()
        .map_err(|error| format!("{}: {error}", compiler.program.display()))?;
    if !result.status.success() {
        return Err(format!(
            "{} failed to compile the guest:\n{}",
            compiler.program.display(),
            String::from_utf8_lossy(&result.stderr)
        ));
    }
    fs::read(&output).map_err(|error| format!("{}: {error}", output.display()))
}

/// Looks for a compiler: `PIRN_ZIG`, the workspace's own `ziglang`, a `zig` on the path, the Python package, then a clang that
/// has the wasm32 target and linker.
fn find_compiler(workspace_folder: &Path) -> Result<Compiler, String> {
    let zig = |program: PathBuf, mut arguments: Vec<String>| {
        arguments.extend(["cc".into(), "--target=wasm32-wasi".into()]);
        Compiler { program, arguments }
    };
    if let Some(program) = env::var_os("PIRN_ZIG") {
        return Ok(zig(program.into(), Vec::new()));
    }
    let pinned = workspace_folder.join("target/toolchain/ziglang/zig");
    if works(&pinned, &["version"]) {
        return Ok(zig(pinned, Vec::new()));
    }
    if works(Path::new("zig"), &["version"]) {
        return Ok(zig("zig".into(), Vec::new()));
    }
    if works(Path::new("python3"), &["-m", "ziglang", "version"]) {
        return Ok(zig("python3".into(), vec!["-m".into(), "ziglang".into()]));
    }
    for name in ["clang", "clang-20", "clang-19", "clang-18"] {
        let has_linker = works(Path::new("wasm-ld"), &["--version"])
            || works(Path::new(&name.replace("clang", "wasm-ld")), &["--version"]);
        if has_linker && works(Path::new(name), &["--target=wasm32-wasi", "--version"]) {
            return Ok(Compiler {
                program: name.into(),
                // zig puts the stack first by itself.
                arguments: vec!["--target=wasm32-wasi".into(), "-Wl,--stack-first".into()],
            });
        }
    }
    Err("no compiler for WebAssembly found; run `make toolchain` (or: python3 -m pip install ziglang)".to_owned())
}

fn works(program: &Path, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The folder of the engine's C sources, as cargo resolved it.
fn engine_sources(guest_folder: &Path) -> Result<PathBuf, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--manifest-path"])
        .arg(guest_folder.join("../Cargo.toml"))
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let suffix = format!("{SOURCES_PACKAGE}-{SOURCES_VERSION}/Cargo.toml\"");
    let windows_suffix = format!("{SOURCES_PACKAGE}-{SOURCES_VERSION}\\\\Cargo.toml\"");
    let marker = "\"manifest_path\":\"";
    text.match_indices(marker)
        .filter_map(|(at, _)| text.get(at + marker.len()..))
        .find_map(|rest| {
            let end = rest.find('"')?;
            let quoted = rest.get(..=end)?;
            (quoted.ends_with(&suffix) || quoted.ends_with(&windows_suffix))
                .then(|| PathBuf::from(quoted.trim_end_matches('"').replace("\\\\", "\\")))
        })
        .and_then(|manifest| manifest.parent().map(|folder| folder.join("quickjs")))
        .ok_or_else(|| format!("cargo metadata does not list {SOURCES_PACKAGE} {SOURCES_VERSION}"))
}

fn copy_sources(from: &Path, to: &Path) -> Result<(), String> {
    let entries = fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for entry in entries {
        let path = entry
            .map_err(|error| format!("{}: {error}", from.display()))?
            .path();
        let is_source = path
            .extension()
            .is_some_and(|extension| extension == "c" || extension == "h");
        if let (true, Some(name)) = (is_source, path.file_name()) {
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            fs::write(to.join(name), bytes)
                .map_err(|error| format!("{}: {error}", to.join(name).display()))?;
        }
    }
    Ok(())
}

/// Makes each change of `edits`; its text must be there exactly once, so that an update of the engine cannot pass unnoticed.
fn apply_edits(edits: &Path, path: &Path) -> Result<(), String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut source = read(path)?;
    let edits = read(edits)?;
    for edit in edits.split("\n## ").skip(1) {
        let parts = edit.split_once("\n<<<<\n").and_then(|(reason, rest)| {
            let (from, rest) = rest.split_once("====\n")?;
            let (to, _) = rest.split_once(">>>>\n")?;
            Some((reason, from, to))
        });
        let Some((reason, from, to)) = parts else {
            return Err(format!("{EDITS_FILE}: an edit without its parts: {edit}"));
        };
        if source.matches(from).count() != 1 {
            return Err(format!(
                "the engine's source has changed where it is edited ({reason}); see {EDITS_FILE}"
            ));
        }
        source = source.replacen(from, to, 1);
    }
    fs::write(path, source).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the files of the prelude as C arrays, which every compiler reads.
fn write_prelude(guest_folder: &Path, to: &Path) -> Result<(), String> {
    let mut text = String::new();
    for (number, name) in PRELUDE_FILES.iter().enumerate() {
        let path = guest_folder.join(name);
        let source = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let _ = write!(text, "static const char prelude_{number}[] = {{");
        for byte in &source {
            let signed = i16::from(*byte) - if *byte > 127 { 256 } else { 0 };
            let _ = write!(text, "{signed},");
        }
        text.push_str("0};\n");
    }
    let list = |item: fn(usize) -> String| {
        let items: Vec<String> = (0..PRELUDE_FILES.len()).map(item).collect();
        items.join(",")
    };
    let _ = write!(
        text,
        "const char *const prelude_sources[] = {{{}}};\nconst unsigned prelude_lengths[] = {{{}}};\nconst unsigned prelude_count = {};\n",
        list(|number| format!("prelude_{number}")),
        list(|number| format!("sizeof prelude_{number} - 1")),
        PRELUDE_FILES.len()
    );
    fs::write(to, text).map_err(|error| format!("{}: {error}", to.display()))
}
