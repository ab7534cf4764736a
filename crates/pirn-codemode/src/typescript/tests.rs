use super::{Stripped, SyntaxError, strip_types};

/// Strips `source` and compares the whole text. No line may come or go.
fn check(source: &str, expected: &str) {
    let stripped = strip_types(source).unwrap_or_else(|error| panic!("{source}\n{error}"));
    assert_eq!(stripped.code, expected, "stripped from\n{source}");
    assert!(!stripped.engine_decides, "{source}");
    assert_eq!(
        source.matches('\n').count(),
        stripped.code.matches('\n').count(),
        "{source}"
    );
}

/// Strips pairs of source and expected line.
fn check_all(pairs: &[(&str, &str)]) {
    for (source, expected) in pairs {
        check(source, expected);
    }
}

fn check_unchanged(source: &str) {
    check(source, source);
}

fn error(source: &str) -> SyntaxError {
    match strip_types(source) {
        Ok(Stripped { code, .. }) => panic!("accepted:\n{source}\nas\n{code}"),
        Err(error) => error,
    }
}

#[test]
fn annotations_become_blanks() {
    check_all(&[
        ("const a: number = 1;", "const a         = 1;"),
        (
            "let x: string, y: number | undefined = 2;",
            "let x        , y                     = 2;",
        ),
        ("let x!: string;", "let x         ;"),
        (
            "const { a, b }: { a: number; b: string } = x;",
            "const { a, b }                           = x;",
        ),
        (
            "try {} catch (e: unknown) {}",
            "try {} catch (e         ) {}",
        ),
        (
            "for (const x of y as string[]) {}",
            "for (const x of y            ) {}",
        ),
        (
            "function f({ a }: { a: number } = {}, [c]: number[] = []) {}",
            "function f({ a }                = {}, [c]           = []) {}",
        ),
        (
            "let u: unique symbol; let z = a < b; let w = a > (b);",
            "let u               ; let z = a < b; let w = a > (b);",
        ),
        (
            "let t: `a${string}` = `b${c as string}`",
            "let t               = `b${c          }`",
        ),
    ]);
}

#[test]
fn functions_lose_generics_this_and_optional_marks() {
    check_all(&[
        (
            "function f<T>(a: T, b?: number, ...rest: string[]): T { return a }",
            "function f   (a   , b         , ...rest          )    { return a }",
        ),
        (
            "function f(this: Foo, a: number) {}",
            "function f(           a        ) {}",
        ),
        ("function f(this: Foo) {}", "function f(         ) {}"),
        (
            "const f = async <T,>(x: T): Promise<T> => x;",
            "const f = async     (x   )             => x;",
        ),
        (
            "const f = (x: number): x is 3 => true;",
            "const f = (x        )         => true;",
        ),
        (
            "let f = function <T>(x: T): asserts x is string {}",
            "let f = function    (x   )                      {}",
        ),
        (
            "const o = { m<T>(this: X, a: T): T { return a }, async *g(x: number): AsyncGenerator<number> {} }",
            "const o = { m   (         a   )    { return a }, async *g(x        )                         {} }",
        ),
        (
            "let v = a ? (b): c => d : e;",
            "let v = a ? (b)    => d : e;",
        ),
        (
            "function f(a: string): void; function f(a: any) {}",
            ";                            function f(a     ) {}",
        ),
    ]);
}

#[test]
fn type_only_statements_leave_a_semicolon() {
    check_all(&[
        ("interface A { x: number }", ";                        "),
        ("type A = { x: number };", ";                      "),
        (
            "declare const tools: any; declare function text(x: unknown): void;",
            ";                         ;                                       ",
        ),
        ("declare enum A { X }", ";                   "),
        (
            "declare class B { x: number }",
            ";                            ",
        ),
        (
            "namespace N { export interface I {} }",
            ";                                    ",
        ),
        (
            "declare namespace N { const x: number }",
            ";                                      ",
        ),
        ("declare module \"x\" { }", ";                     "),
    ]);
}

#[test]
fn casts_leave_the_value() {
    check_all(&[
        (
            "const v = (await tools.list({ name })) as Page<T>;",
            "const v = (await tools.list({ name }))           ;",
        ),
        (
            "const v = x!; const w = x!.y!.z; a![0]!.b",
            "const v = x ; const w = x .y .z; a [0] .b",
        ),
        (
            "const v = <any>x; const w = <T>(y);",
            "const v =      x; const w =    (y);",
        ),
        (
            "const v = x satisfies string",
            "const v = x                 ",
        ),
        (
            "const x = y as unknown as string;",
            "const x = y                     ;",
        ),
        ("x = <const>[\"a\"];", "x =        [\"a\"];"),
        (
            "(x as any) = 1; (x as any).y = 2; x! += 1;",
            "(x       ) = 1; (x       ).y = 2; x  += 1;",
        ),
        (
            "foo<string>(x); new Map<string, number>(); tag<string>`x`; const g = foo<string>;",
            "foo        (x); new Map                (); tag        `x`; const g = foo        ;",
        ),
        (
            "let opt = a?.b!.c, opt2 = (a as any)?.[b as string]?.<T>(c)",
            "let opt = a?.b .c, opt2 = (a       )?.[b          ]?.   (c)",
        ),
        (
            "x = \"é\" as string; y = \"😀\" as /* 😀 */ string; z",
            "x = \"é\"          ; y = \"😀\"                   ; z",
        ),
    ]);
}

#[test]
fn classes_lose_what_only_typescript_has() {
    check_all(&[
        (
            "class A<T> extends B<T> implements C, D<E> { private readonly x: number = 1; static y?: string; z!: number }",
            "class A    extends B                       {                  x         = 1; static y         ; z          }",
        ),
        (
            "class A { get v(): number { return 1 } m?(): void {} protected async n<T>(a: T): Promise<T> {} }",
            "class A { get v()         { return 1 } m ()       {}           async n   (a   )             {} }",
        ),
        (
            "abstract class A { abstract m(): void; abstract x: number; protected foo(): void {} }",
            "         class A { ;                   ;                             foo()       {} }",
        ),
        (
            "class A { [key: string]: unknown; x = 1 }",
            "class A { ;                       x = 1 }",
        ),
        (
            "class A { declare x: number; override m(): void {} }",
            "class A { ;                           m()       {} }",
        ),
        (
            "class A { m(a: string): void; m(a: number): void; m(a: any) {} }",
            "class A { ;                   ;                   m(a     ) {} }",
        ),
        (
            "class A extends (B as any) implements C {}",
            "class A extends (B       )              {}",
        ),
        (
            "const K = class implements L {}",
            "const K = class              {}",
        ),
        (
            "class A { accessor x: number = 1 }",
            "class A { accessor x         = 1 }",
        ),
    ]);
}

#[test]
fn parameter_properties_become_assignments() {
    check_all(&[
        (
            "class A { constructor(private x: number, public readonly y = 2, z: string) {} }",
            "class A { constructor(        x        ,                 y = 2, z        ) { this.x = x; this.y = y;} }",
        ),
        (
            "class A extends B { constructor(private x: number) { super(x) } }",
            "class A extends B { constructor(        x        ) { super(x); this.x = x; } }",
        ),
        (
            "class A extends B { constructor(private x: number) { super(x); foo() } }",
            "class A extends B { constructor(        x        ) { super(x); this.x = x; foo() } }",
        ),
        (
            "class A { constructor(private readonly x: number) { 'use strict' } }",
            "class A { constructor(                 x        ) { 'use strict'; this.x = x; } }",
        ),
    ]);
}

#[test]
fn enums_are_compiled_in_place() {
    check_all(&[
        (
            "const enum A { X = 1 }",
            "var A; (($enum) => { const X = $enum[\"X\"] = 1; $enum[X] = \"X\"; })(A || (A = {}));",
        ),
        (
            "enum A { X, Y = 5, Z, S = 's', W = X | Y }",
            "var A; (($enum) => { const X = $enum[\"X\"] = 0; $enum[X] = \"X\";  const Y = $enum[\"Y\"] = 5; $enum[Y] = \"Y\";  const Z = $enum[\"Z\"] = Y + 1; $enum[Z] = \"Z\";  const S = $enum[\"S\"] = 's';  const W = $enum[\"W\"] = X | Y; if (typeof W !== \"string\") $enum[W] = \"W\"; })(A || (A = {}));",
        ),
        (
            "enum E { 'a-b' = 1, class, C = 'x'.length as number }",
            "var E; (($enum) => { const $member0 = $enum[\"a-b\"] = 1; $enum[$member0] = \"a-b\";  const $member1 = $enum[\"class\"] = $member0 + 1; $enum[$member1] = \"class\";  const C = $enum[\"C\"] = 'x'.length          ; if (typeof C !== \"string\") $enum[C] = \"C\"; })(E || (E = {}));",
        ),
    ]);
}

#[test]
fn a_statement_that_vanishes_does_not_join_its_neighbours() {
    check(
        "const a = 1\ntype X = string\n(foo)()",
        "const a = 1\n;              \n(foo)()",
    );
}

#[test]
fn a_cast_that_ends_a_statement_leaves_a_semicolon_before_a_parenthesis() {
    check(
        "const x = y as string\n(foo)()",
        "const x = y;         \n(foo)()",
    );
}

#[test]
fn a_cast_that_ends_a_statement_leaves_a_semicolon_before_a_bracket() {
    check(
        "const x = y as string\n[1].map(f)",
        "const x = y;         \n[1].map(f)",
    );
}

#[test]
fn a_cast_that_ends_a_statement_leaves_a_semicolon_before_a_template() {
    check(
        "const x = y as string /* c */ // d\n`tpl`",
        "const x = y;          /* c */ // d\n`tpl`",
    );
}

#[test]
fn a_cast_inside_an_expression_leaves_none() {
    check("const x = y as string\n+ z", "const x = y          \n+ z");
}

#[test]
fn the_parenthesis_moves_down_to_the_arrow() {
    check(
        "const f = (x: number): {\n  a: string\n} => x",
        "const f = (x            \n           \n) => x",
    );
}

#[test]
fn the_parenthesis_moves_down_to_the_arrow_of_a_split_type() {
    check(
        "const f = async (x\n  : number)\n  : Promise<void> => x",
        "const f = async (x\n           \n                ) => x",
    );
}

#[test]
fn return_keeps_a_generic_arrow_function() {
    check("return <T>\n  (x: T) => x", "return (  \n   x   ) => x");
}

#[test]
fn return_keeps_a_value_behind_a_cast() {
    check("return <T>\n  x", "return (  \n  x)");
}

#[test]
fn a_cast_object_does_not_become_a_block() {
    check(
        "const f = () => <T>{ a: 1 };",
        "const f = () => (  { a: 1 });",
    );
}

#[test]
fn members_of_a_class_stay_apart() {
    check(
        "class A {\n  foo = 1\n  public [bar] = 2\n  private *gen() {}\n  get: string\n  foo2() {}\n  static readonly [x] = 1\n}",
        "class A {\n  foo = 1\n  ;      [bar] = 2\n  ;       *gen() {}\n  get;       \n  foo2() {}\n  static          [x] = 1\n}",
    );
}

#[test]
fn an_enum_keeps_its_lines() {
    check(
        "enum Color {\n  // the first\n  Red,\n  Green = 'g', /* x */\n  Blue = compute(1, 2) as number,\n  Last\n}\ntext(Color.Red)",
        "var Color; (($enum) => {\n  // the first\n  const Red = $enum[\"Red\"] = 0; $enum[Red] = \"Red\"; \n  const Green = $enum[\"Green\"] = 'g';  /* x */\n  const Blue = $enum[\"Blue\"] = compute(1, 2)          ; if (typeof Blue !== \"string\") $enum[Blue] = \"Blue\"; \n  const Last = $enum[\"Last\"] = Blue + 1; $enum[Last] = \"Last\";\n})(Color || (Color = {}));\ntext(Color.Red)",
    );
}

#[test]
fn comments_outside_types_stay() {
    check(
        "function f(\n  a?: string, // c\n  b /* x */ ? : number,\n) {}",
        "function f(\n  a         , // c\n  b /* x */           ,\n) {}",
    );
}

#[test]
fn javascript_is_left_alone() {
    check_unchanged("const a = await tools.read({ path });\nreturn a;");
    check_unchanged("let v = a ? (b) : c => d;");
    check_unchanged("with (x) { var y = 010 }");
    check_unchanged("const x = await import(\"fs\")");
    check_unchanged("<!-- html comment\nfoo()\n--> end");
}

#[test]
fn line_ends_of_windows_stay() {
    check(
        "let a: {\r\n  x: 1\r\n} = b\r\n",
        "let a   \r\n      \r\n  = b\r\n",
    );
}

#[test]
fn imports_name_the_module_and_what_to_use() {
    let cases = [
        (
            "const x = 1;\nimport fs from \"node:fs\";",
            2,
            ["\"node:fs\"", "tools.read"],
        ),
        (
            "import { exec } from 'child_process'",
            1,
            ["\"child_process\"", "tools.bash"],
        ),
        (
            "import {\n  chunk\n} from 'lodash'",
            1,
            ["\"lodash\"", "searchTools"],
        ),
        ("import type { A } from 'x'", 1, ["\"x\"", "ALL_TOOLS"]),
        ("\nimport fs = require('fs')", 2, ["\"fs\"", "tools.read"]),
        ("export * from 'y'", 1, ["\"y\"", "import"]),
        ("let a = 1\nexport const x = 1", 2, ["`export`", "`return`"]),
        ("export {}", 1, ["`export`", "store"]),
        ("return import.meta.url", 1, ["import.meta", "not a module"]),
    ];
    for (source, line, parts) in cases {
        let error = error(source);
        assert_eq!(error.line, line, "{source}");
        for part in parts {
            assert!(error.message.contains(part), "{source}: {}", error.message);
        }
    }
}

#[test]
fn what_javascript_cannot_express_is_refused() {
    let cases = [
        ("namespace N { export const x = 1 }", "namespace"),
        ("@dec class A {}", "Decorators"),
        (
            "class A extends B { constructor(private x) { if (x) super(x) } }",
            "super",
        ),
    ];
    for (source, part) in cases {
        let error = error(source);
        assert!(error.message.contains(part), "{source}: {}", error.message);
    }
}

#[test]
fn a_mistake_is_shown_in_its_lines() {
    let error = error("const a = 1;\n\tconst b = ) 2;\nreturn a;");
    assert_eq!((error.line, error.column), (2, 12));
    let frame = [
        "  1 | const a = 1;",
        "> 2 |  const b = ) 2;",
        "    |            ^",
        "  3 | return a;",
    ];
    assert_eq!(error.frame, frame.join("\n"));
}

#[test]
fn columns_count_utf16_units() {
    let error = error("const s = \"😀\"; const = 1");
    assert_eq!((error.line, error.column), (1, 23));
}

#[test]
fn a_surplus_brace_is_found_where_it_is() {
    let error = error("if (x) { foo() }}\nbar()");
    assert_eq!((error.line, error.column), (1, 17));
}

#[test]
fn a_mistake_in_a_long_line_shows_a_part_of_it() {
    let error = error(&format!(
        "{}const = 1;{}",
        "a();".repeat(500),
        "b();".repeat(500)
    ));
    assert!(
        error.frame.lines().all(|line| line.len() < 200),
        "{}",
        error.frame
    );
    assert_eq!(error.column, 2007);
}

#[test]
fn nesting_beyond_reason_is_left_to_the_engine() {
    let deep = format!("return {}1{}", "(".repeat(2_000), ")".repeat(2_000));
    let stripped = strip_types(&deep).unwrap();
    assert_eq!(
        stripped,
        Stripped {
            code: deep,
            engine_decides: true
        }
    );
}

/// Each text makes the parser recurse once per token, with brackets hidden from a count in the last two.
#[test]
fn a_text_that_nests_as_deeply_as_it_can_does_not_end_the_process() {
    let repeat = |text: &str, count: usize| text.repeat(count);
    let texts = [
        format!("{}a", repeat("!", 60_000)),
        format!("x={}a", repeat("a+", 30_000)),
        format!("x=a{}", repeat(".b", 30_000)),
        format!("x={}1", repeat("a?b:", 15_000)),
        format!("{}b", repeat("if(a)", 12_000)),
        format!("let x:{}a", repeat("keyof ", 60_000)),
        format!("x={}1", repeat("(/)/,", 12_000)),
        format!("x={}", repeat("function(){/}/;", 5_000)),
    ];
    for text in texts {
        let _either = strip_types(&text);
    }
}
