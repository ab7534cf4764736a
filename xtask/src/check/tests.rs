use super::{Options, STEPS};

#[track_caller]
fn check_steps(arguments: &[&str], expected: &[&str]) {
    let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
    let options = Options::parse(&arguments).unwrap();
    let names: Vec<&str> = STEPS
        .iter()
        .filter(|step| !options.leave_out(step))
        .map(|step| step.name)
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn flags_select_steps() {
    let all: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    check_steps(&[], &all);
    check_steps(
        &["--fast"],
        &["tidy", "formatting", "spelling", "clippy", "tests"],
    );
    check_steps(
        &["--no-tests"],
        &[
            "tidy",
            "formatting",
            "spelling",
            "clippy",
            "documentation",
            "guest digest",
            "fuzz targets",
        ],
    );
    check_steps(
        &["--fast", "--no-tests"],
        &["tidy", "formatting", "spelling", "clippy"],
    );
}

#[test]
fn unknown_flag_is_refused() {
    let error = Options::parse(&["--slow".to_owned()]).unwrap_err();
    assert!(error.to_string().contains("--slow"));
}
