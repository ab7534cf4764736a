use super::{Traffic, line_of};

#[test]
fn a_call_comes_from_the_only_line_that_names_its_tool() {
    let source = "// tools.write would be wrong\n\
                  const a = await tools.read({path: 'tools.write'});\n\
                  /* tools.write\n tools.write */\n\
                  await tools.write({path: `x ${tools.ls({path: '}'})} tools.write`});\n\
                  await tools.writeAll({});";
    assert_eq!(line_of(source, "write"), Some(5));
    assert_eq!(line_of(source, "ls"), Some(5));
    assert_eq!(line_of(source, "read"), Some(2));
}

#[test]
fn where_several_lines_could_have_made_it_none_is_named() {
    assert_eq!(line_of("tools.ls();\ntools.ls();", "ls"), None);
    assert_eq!(line_of("const {ls} = tools;\nls();", "ls"), None);
    assert_eq!(line_of("'unclosed\ntools.ls()", "ls"), Some(2));
}

#[test]
fn both_counters_are_told() {
    let traffic = Traffic {
        sent_bytes: 9,
        kept_bytes: 5_000,
    };
    assert_eq!(
        traffic.words(),
        "9 B (about 3 tokens) to the model, 4 KB (about 1250 tokens) kept from it"
    );
}
