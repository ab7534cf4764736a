//! What scripts find in their VM, and what they cannot change.

use crate::support::run;

#[test]
fn built_ins_are_frozen_without_the_override_mistake() {
    for (source, expected) in [
        (
            "Array.prototype.map = null; JSON.stringify = null; return [1].map((n) => n + 1);",
            "[2]",
        ),
        (
            "const o = {}; o.toString = () => 'own'; return String(o);",
            r#""own""#,
        ),
        (
            "class E extends Error { constructor() { super('m'); this.name = 'Mine'; } } return String(new E());",
            r#""Mine: m""#,
        ),
        (
            "const o = Object.create(Array.prototype); o.map = 1; return o.map;",
            "1",
        ),
        (
            "'use strict'; try { Object.prototype.x = 1; } catch (e) { return e.name; }",
            r#""TypeError""#,
        ),
        (
            "'use strict'; try { Array.prototype.hasOwnProperty = 1; } catch (e) { return e.name; }",
            r#""TypeError""#,
        ),
        (
            "'use strict'; const o = Object.freeze({a: 1}); try { Object.create(o).a = 2; } catch (e) { return e.name; }",
            r#""TypeError""#,
        ),
        (
            "return ['fetch','process','require','setInterval','WebAssembly','SharedArrayBuffer','Atomics'].filter((n) => n in globalThis);",
            "[]",
        ),
    ] {
        assert_eq!(run(source).value(), expected, "{source}");
    }
}

#[test]
fn everything_reachable_from_the_globals_is_frozen() {
    let source = "
        const seen = new Set([globalThis]), queue = [globalThis], open = [];
        while (queue.length > 0) {
          const object = queue.pop();
          for (const key of Reflect.ownKeys(object)) {
            const d = Object.getOwnPropertyDescriptor(object, key);
            for (const value of [d.value, d.get, d.set, Object.getPrototypeOf(object)]) {
              if ((typeof value === 'object' && value !== null || typeof value === 'function') && !seen.has(value)) {
                seen.add(value);
                queue.push(value);
                if (value !== tools && !Object.isFrozen(value)) open.push(String(key));
              }
            }
          }
        }
        return open;";
    assert_eq!(run(source).value(), "[]");
}
