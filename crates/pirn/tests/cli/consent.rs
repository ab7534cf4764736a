//! What may run without asking. Here nobody can be asked; `terminal` has the questions.

use crate::place::Place;

const WRITE: &str = "await tools.write({path: 'made.txt', content: 'x'}); return 'done'";
const COMMAND: &str = "await tools.bash({command: 'echo x > made.txt'}); return 'done'";

/// Runs the code and says whether it took effect; what it took effect on is gone afterwards.
fn takes_effect(place: &Place, flags: &[&str], code: &str) -> bool {
    let mut arguments = vec!["exec", "-q"];
    arguments.extend(flags);
    arguments.extend(["-e", code]);
    let run = place.run(&arguments);
    let is_made = std::fs::remove_file(place.path().join("made.txt")).is_ok();
    assert_eq!(
        run.code,
        Some(i32::from(!is_made)),
        "{flags:?} {code} {run:#?}"
    );
    assert_eq!(
        run.stderr.contains("was denied"),
        !is_made,
        "{flags:?} {code} {run:#?}"
    );
    is_made
}

#[test]
fn effects_need_permission() {
    let place = Place::new();
    let cases: [(&[&str], bool, bool); 12] = [
        (&[], false, false),
        (&["--yes"], true, true),
        (&["--yes=all"], true, true),
        (&["--yes=write"], true, false),
        (&["--yes=network"], false, false),
        (&["--yes=process"], true, true),
        (&["--yes=write,process"], true, true),
        (&["--yes", "--deny=process"], true, false),
        (&["--yes", "--deny", "write"], false, false),
        (&["--yes", "--deny=network"], true, false),
        (&["--read-only"], false, false),
        (&["--read-only", "--deny=network"], false, false),
    ];
    for (flags, writes, runs) in cases {
        assert_eq!(takes_effect(&place, flags, WRITE), writes, "{flags:?}");
        assert_eq!(takes_effect(&place, flags, COMMAND), runs, "{flags:?}");
    }
}

#[test]
fn reading_is_allowed_and_can_be_denied() {
    let place = Place::new();
    place.write("a.txt", "A");
    let code = "return tools.read({path: 'a.txt'})";
    assert_eq!(
        place.run(&["exec", "-q", "--read-only", "-e", code]).good(),
        "A\n"
    );
    assert_eq!(
        place.run(&["exec", "-q", "--deny=read", "-e", code]).code,
        Some(1)
    );
}

#[test]
fn a_denial_names_the_flag_and_loses_nothing() {
    let place = Place::new();
    let code = "text('kept'); try { await tools.write({path: 'a', content: ''}) } catch (error) { return error.kind + ': ' + error.message }";
    assert_eq!(
        place.run(&["exec", "-q", "-e", code]).good(),
        "kept\ndenied: Tool write was denied (effect: write; there is no terminal to ask on, --yes=write allows it)\n"
    );
}

#[test]
fn only_the_chosen_tools_exist() {
    let place = Place::new();
    let names = |flags: &[&str]| {
        let mut arguments = vec!["exec"];
        arguments.extend(flags);
        arguments.extend(["-e", "return ALL_TOOLS.map((tool) => tool.name).join(' ')"]);
        place.run(&arguments).good().trim_end().to_owned()
    };
    assert_eq!(names(&[]), "read bash edit write grep find ls");
    assert_eq!(names(&["--tools", "read,ls"]), "read ls");
    assert_eq!(
        names(&["--tools", "read", "--tools", "*s*"]),
        "read bash ls"
    );
    assert_eq!(names(&["--exclude-tools=bash,*e*"]), "find ls");
    assert_eq!(names(&["--exclude-tools", "*"]), "");
    assert_eq!(
        names(&["--tools", "read,bash", "--exclude-tools", "bash"]),
        "read"
    );
}
