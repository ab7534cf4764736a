//! Which tools a script names, taken from its syntax.

use pirn_codemode::tool_names;

/// The names, with `*` at the end where the script may reach others.
fn check(source: &str, expected: &str) {
    let found = tool_names(source);
    let mut shown = found.names;
    if found.reaches_all {
        shown.push("*".to_owned());
    }
    assert_eq!(shown.join(" "), expected, "{source}");
}

#[test]
fn tools_are_found_by_syntax() {
    for (source, expected) in [
        ("return 1;", ""),
        ("await tools.read({path: 'a'});", "read"),
        ("await tools . read ();", "read"),
        ("await tools?.read?.();", "read"),
        ("await tools['git-log'](); await tools[`b`]();", "b git-log"),
        ("await (tools).read();", "read"),
        (
            "const { read, write: w, 'x-y': x = 1 } = tools;",
            "read write x-y",
        ),
        ("return 'later' in tools;", "later"),
        ("return describeTool('read');", "read"),
        (
            "const f = async (p: string): Promise<string> => tools.read({ path: p });",
            "read",
        ),
        // Text is no use.
        (
            "// tools.no\n/* tools[x] */ return 'tools.no tools[name] ALL_TOOLS';",
            "",
        ),
        ("return `tools.no ${await tools.yes()} tools`;", "yes"),
        ("return { tools: 1 }.tools + other.tools;", ""),
        ("return /tools.no/.test(x);", ""),
        // Names that the text does not tell.
        ("await tools[name]();", "*"),
        ("await tools[`a${b}`]();", "*"),
        ("const t = tools; await t.read();", "*"),
        ("const { read, ...others } = tools;", "*"),
        ("const { [key]: f } = tools;", "*"),
        ("let read; ({ read } = tools);", "*"),
        ("use(tools); await tools.read();", "read *"),
        ("return Object.keys(tools);", "*"),
        ("return name in tools;", "*"),
        ("return ALL_TOOLS.length;", "*"),
        ("return searchTools('git');", "*"),
        ("return describeTool(name);", "*"),
        ("return globalThis['to' + 'ols'].read();", "*"),
        ("return this.tools.read();", "*"),
        ("return eval('tools.read()');", "*"),
        ("return new Function('return tools')();", "*"),
        // JavaScript that is no TypeScript.
        ("var a = b < c > (d); await tools.read();", "read"),
        // Nothing of it runs.
        ("return (; tools.read()", ""),
    ] {
        check(source, expected);
    }
}

#[test]
fn a_text_too_large_to_be_looked_at_may_reach_all() {
    check(&"[".repeat(2_000), "*");
}
