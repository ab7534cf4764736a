//! `tools` and `ALL_TOOLS`, whose parts are made when a script asks for them: nothing of that can be seen.

use pirn_vm::{Limits, Program, ToolBinding, ToolDescription, ToolTable, Vm};

use crate::support::{ENGINE, finish, run};

fn value(source: &str) -> String {
    let names = ["first", "last-one", "then", "123", "toString", "middle"];
    let identifiers = ["first", "last_one", "then", "_123", "toString", "middle"];
    let bindings = names
        .iter()
        .zip(identifiers)
        .map(|(name, identifier)| ToolBinding {
            name: (*name).to_owned(),
            identifier: Some(identifier.to_owned()),
            description: ToolDescription::Made(std::sync::Arc::new({
                let name = (*name).to_owned();
                move || format!("What {name} does: \u{e9}\u{1f600}")
            })),
            shape: None,
        });
    let mut vm = Vm::new(&ENGINE, Limits::default()).expect("a VM");
    vm.start(&Program {
        source: source.to_owned(),
        file_name: "script.js".to_owned(),
        tools: ToolTable::new(bindings),
        ..Program::default()
    })
    .expect("a fresh VM");
    finish(vm).value().to_owned()
}

#[test]
fn members_that_are_made_when_asked_for_cannot_be_told_from_others() {
    let all = r#"["first","last_one","then","_123","toString","middle"]"#;
    let cases = [
        // The order is the tools', whatever was asked for first.
        ("tools.middle; tools.first; return Object.keys(tools)", all),
        ("return Object.keys(tools)", all),
        ("return Object.keys({...tools})", all),
        (
            "const seen = []; for (const name in tools) seen.push(name); return seen",
            all,
        ),
        (
            "const {first, ...rest} = tools; return Object.keys(rest).length",
            "5",
        ),
        (
            "return Reflect.ownKeys(tools)",
            r#"["123","first","last_one","last-one","then","_123","toString","middle"]"#,
        ),
        // A member stays the same function, also when all are made later, and under both of its names.
        (
            "const before = tools.middle; Object.keys(tools); return before === tools.middle",
            "true",
        ),
        ("return tools.last_one === tools['last-one']", "true"),
        ("return tools[123] === tools._123", "true"),
        (
            "return tools.first.name + typeof tools.then",
            "\"firstfunction\"",
        ),
        // Asking whether there is one makes nothing up.
        (
            "return ['first' in tools, 'none' in tools, Object.hasOwn(tools, 'last-one'), Object.hasOwn(tools, 'valueOf'), 'valueOf' in tools]",
            "[true,false,true,false,false]",
        ),
        (
            "const {value, ...flags} = Object.getOwnPropertyDescriptor(tools, 'middle'); return [typeof value, flags]",
            r#"["function",{"writable":false,"enumerable":true,"configurable":false}]"#,
        ),
        (
            "return [Object.getOwnPropertyDescriptor(tools, 'last-one').enumerable, Object.getOwnPropertyDescriptor(tools, 'none') === undefined]",
            "[false,true]",
        ),
        // Nothing of it can be changed.
        (
            "'use strict'; return ['first', 'none'].map((name) => { try { tools[name] = 1; return 'set' } catch (error) { return error.name } })",
            r#"["TypeError","TypeError"]"#,
        ),
        ("tools.first = 1; return typeof tools.first", "\"function\""),
        (
            "return [delete tools.first, delete tools.none, typeof tools.first]",
            r#"[false,true,"function"]"#,
        ),
        (
            "return [Object.isFrozen(tools), Object.isExtensible(tools), Object.getPrototypeOf(tools)]",
            "[true,false,null]",
        ),
        (
            "try { Object.defineProperty(tools, 'first', {value: 1}); return 'defined' } catch (error) { return error.name }",
            "\"TypeError\"",
        ),
        (
            "try { return tools.frist } catch (error) { return error.message.includes('Did you mean tools.first?') }",
            "true",
        ),
        ("const {absent = 1} = tools; return absent", "1"),
        // The list.
        (
            "return [ALL_TOOLS[5], ALL_TOOLS.length, Object.isFrozen(ALL_TOOLS), Object.isFrozen(ALL_TOOLS[0]), ALL_TOOLS === ALL_TOOLS]",
            "[{\"name\":\"middle\",\"description\":\"What middle does: \u{e9}\u{1f600}\"},6,true,true,true]",
        ),
        (
            "const {value, ...flags} = Object.getOwnPropertyDescriptor(globalThis, 'ALL_TOOLS'); return [value === ALL_TOOLS, flags]",
            r#"[true,{"writable":false,"enumerable":false,"configurable":false}]"#,
        ),
        (
            "'use strict'; try { ALL_TOOLS = 1; return 'set' } catch (error) { return error.name }",
            "\"TypeError\"",
        ),
        (
            "return 'ALL_TOOLS' in globalThis && typeof ALL_TOOLS",
            "\"object\"",
        ),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(source, expected)| {
            let found = value(source);
            (found != *expected).then(|| format!("{source}\n  is {found}\n  not {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn arguments_are_the_json_that_stringify_gives() {
    let source = r#"
        const values = [0, -1, 2147483647, -2147483648, 2147483648, 1.5, -0, 1e21, 1e-7, 0.1 + 0.2, true, false, null, '', [], {}, [[]], [{}],
          'plain', 'q"b\\n\n\r\t\b\f\u0000\u001f\u007f', 'caf\u00e9 \u0080\u00ff', '\u20ac \u{1f600} \ud800 \udc00\ud800', 'a\udc00', '/',
          {a: 1, 'b c': [1, 'x', null], '\u00e9"': {n: {m: []}}}, {b: 1, 2: 'two', a: undefined, 1: 'one', '-1': 0}, {a: undefined},
          {'': 0, __proto__: null, x: 1}, {['long ' + 'key'.repeat(100)]: 'rope ' + 'x'.repeat(5000) + '\u20ac'}, [1, , 3].filter(() => true),
          {'4294967295': 1, '4294967294': 2, a: 3}, 123456789, 1234567890, 999999999, -999999999, 100000000000000000000];
        const again = [];
        for (const value of values) again.push(JSON.stringify(await tools.echo(value)));
        const texts = values.map((value) => JSON.stringify(value));
        const kept = texts.filter((text, at) => text !== again[at] && text !== '{"0":1}');
        return JSON.stringify({texts, kept});
    "#;
    let finished = run(source);
    let json: String = serde_json::from_str(finished.value()).expect("a text");
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let texts: Vec<&str> = found["texts"]
        .as_array()
        .expect("texts")
        .iter()
        .filter_map(serde_json::Value::as_str)
        .collect();
    let arguments: Vec<&str> = finished
        .calls
        .iter()
        .filter_map(|(_, json)| json.as_deref())
        .collect();
    assert_eq!(arguments, texts);
    // And back: what the tool gave is what it was given.
    assert_eq!(found["kept"], serde_json::json!([]));
}

#[test]
fn a_call_that_is_made_while_options_are_read_does_not_change_the_argument() {
    let source = "const outer = tools.echo({outer: 1}, {get signal() { tools.echo({inner: 'x'.repeat(100)}); return undefined; }});
        return await outer;";
    assert_eq!(run(source).value(), r#"{"outer":1}"#);
}
