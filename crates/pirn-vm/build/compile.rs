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

/// The places where the engine's source is changed. Each must match exactly once, so that an update cannot pass unnoticed.
const EDITS: [(&str, &str, &str); 11] = [
    (
        "the stack check is switched off for WASI (runtime)",
        "#ifdef __wasi__\n    rt->stack_size = 0;\n#endif\n",
        "",
    ),
    (
        "the stack check is switched off for WASI (limit)",
        "#if defined(__wasi__)\n    rt->stack_limit = 0; /* no limit */\n#else\n",
        "#if 1\n",
    ),
    (
        "room for the mark of frozen built-ins",
        "    uint8_t is_HTMLDDA : 1; /* specific annex B IsHtmlDDA behavior */\n",
        "    uint8_t is_HTMLDDA : 1; /* specific annex B IsHtmlDDA behavior */\n    uint8_t is_builtin : 1; /* frozen, does not block assignment on what inherits from it */\n",
    ),
    (
        "objects start without the mark",
        "    p->is_uncatchable_error = 0;\n",
        "    p->is_uncatchable_error = 0;\n    p->is_builtin = 0;\n",
    ),
    (
        "assignment past a frozen built-in makes an own property",
        "                return -1;\n                goto retry2;\n            } else if (!(prs->flags & JS_PROP_WRITABLE)) {\n                goto read_only_prop;\n",
        "                return -1;\n                goto retry2;\n            } else if (!(prs->flags & JS_PROP_WRITABLE)) {\n                if (p && p != p1 && p1->is_builtin)\n                    break;\n                goto read_only_prop;\n",
    ),
    (
        "a script's wrapper is line 0",
        "        if (options->line_num != 0)\n            line = options->line_num;\n",
        "        line = options->line_num;\n",
    ),
    (
        "an interrupted loop is reported where it is, not before it (goto)",
        "        CASE(OP_goto):\n            pc += (int32_t)get_u32(pc);\n            if (unlikely(js_poll_interrupts(ctx)))\n                goto exception;\n",
        "        CASE(OP_goto):\n            if (unlikely(js_poll_interrupts(ctx)))\n                goto exception;\n            pc += (int32_t)get_u32(pc);\n",
    ),
    (
        "an interrupted loop is reported where it is, not before it (goto16)",
        "        CASE(OP_goto16):\n            pc += (int16_t)get_u16(pc);\n            if (unlikely(js_poll_interrupts(ctx)))\n                goto exception;\n",
        "        CASE(OP_goto16):\n            if (unlikely(js_poll_interrupts(ctx)))\n                goto exception;\n            pc += (int16_t)get_u16(pc);\n",
    ),
    (
        "an interrupted loop is reported where it is, not before it (goto8)",
        "        CASE(OP_goto8):\n            pc += (int8_t)pc[0];\n            if (unlikely(js_poll_interrupts(ctx)))\n                goto exception;\n",
        "        CASE(OP_goto8):\n            if (unlikely(js_poll_interrupts(ctx)))\n                goto exception;\n            pc += (int8_t)pc[0];\n",
    ),
    (
        "a promise job that finds no memory has a little room, and is not lost in silence",
        "int JS_EnqueueJob(JSContext *ctx, JSJobFunc *job_func,\n                  int argc, JSValueConst *argv)\n{\n    JSRuntime *rt = ctx->rt;\n    JSJobEntry *e;\n    int i;\n\n    assert(!rt->in_free);\n\n    e = js_malloc(ctx, sizeof(*e) + argc * sizeof(JSValue));\n    if (!e)\n        return -1;\n",
        "static bool job_lost;\n\nint JS_EnqueueJob(JSContext *ctx, JSJobFunc *job_func,\n                  int argc, JSValueConst *argv)\n{\n    JSRuntime *rt = ctx->rt;\n    JSJobEntry *e;\n    int i;\n\n    size_t limit = rt->malloc_state.malloc_limit;\n    rt->malloc_state.malloc_limit += limit ? 65536 : 0;\n    e = js_malloc_rt(rt, sizeof(*e) + argc * sizeof(JSValue));\n    rt->malloc_state.malloc_limit = limit;\n    if (!e) {\n        job_lost = true;\n        JS_ThrowOutOfMemory(ctx);\n        return -1;\n    }\n",
    ),
    (
        "running out of memory throws an error rather than null, which needs a little room",
        "        rt->in_out_of_memory = true;\n        JS_ThrowInternalError(ctx, \"out of memory\");\n        rt->in_out_of_memory = false;\n",
        "        size_t limit = rt->malloc_state.malloc_limit;\n        rt->in_out_of_memory = true;\n        rt->malloc_state.malloc_limit += limit ? 4096 : 0;\n        JS_ThrowInternalError(ctx, \"out of memory\");\n        rt->malloc_state.malloc_limit = limit;\n        rt->in_out_of_memory = false;\n",
    ),
];

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
    apply_edits(&engine.join("quickjs.c"))?;
    write_prelude(&guest_folder.join("prelude.js"), &engine.join("prelude.c"))?;
    fs::copy(guest_folder.join("shim.c"), engine.join("shim.c"))
        .map_err(|error| format!("shim.c: {error}"))?;
    run_compiler(&compiler, &engine)
}

/// The SHA-256 of everything the module is made from, as hexadecimal.
pub(crate) fn sources_digest(guest_folder: &Path) -> Result<String, String> {
    let mut hash = Sha256::new();
    for name in ["shim.c", "prelude.js"] {
        let path = guest_folder.join(name);
        hash.update(fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?);
        hash.update([0]);
    }
    hash.update(format!(
        "{SOURCES_PACKAGE} {SOURCES_VERSION} zig {ZIG_VERSION} {EDITS:?} {FLAGS:?}"
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

fn apply_edits(path: &Path) -> Result<(), String> {
    let mut source =
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    for (reason, from, to) in EDITS {
        if source.matches(from).count() != 1 {
            return Err(format!(
                "the engine's source has changed where it is edited ({reason}); see build/compile.rs"
            ));
        }
        source = source.replacen(from, to, 1);
    }
    fs::write(path, source).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the prelude as a C array, which every compiler reads.
fn write_prelude(from: &Path, to: &Path) -> Result<(), String> {
    let source = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    let mut text = String::from("const char prelude_source[] = {");
    for byte in &source {
        let _ = write!(
            text,
            "{},",
            i16::from(*byte) - if *byte > 127 { 256 } else { 0 }
        );
    }
    let _ = write!(
        text,
        "0}};\nconst unsigned prelude_length = {};\n",
        source.len()
    );
    fs::write(to, text).map_err(|error| format!("{}: {error}", to.display()))
}
