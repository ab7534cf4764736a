//! The 67 things that an eval kernel has to show, by number: which test shows which. Most are shown by tests of other modules,
//! which run under their own names; the others are here and carry their number.

mod adapters;
mod live;
mod programs;
mod tool;

use crate::support::Test;
use crate::{calls, faults, kills, lifecycle, output, state, workers};

/// What shows a thing.
enum Shown {
    /// Shown by this test of the inventory itself.
    Here(fn()),
    /// A test of another module, by its name.
    There(&'static [Test], &'static str),
}

use Shown::{Here, There};

/// Number, what has to hold, what shows it.
const ROWS: &[(usize, &str, Shown)] = &[
    (
        1,
        "the_tool_is_eval_with_two_languages_beside_bash",
        Here(tool::registers),
    ),
    (
        2,
        "nobody_to_confirm_means_nothing_runs",
        Here(tool::nobody),
    ),
    (
        3,
        "a_failure_is_an_error_within_the_limit",
        Here(tool::failure_in_bounds),
    ),
    (
        4,
        "a_session_resets_once_and_closes_once",
        Here(programs::session),
    ),
    (
        5,
        "names_are_checked_and_effects_come_first",
        Here(tool::names_and_effects),
    ),
    (
        6,
        "read_text_has_a_window_and_bounds",
        Here(adapters::read_text),
    ),
    (7, "run_process_needs_no_shell", Here(adapters::no_shell)),
    (
        8,
        "the_host_judges_state_itself",
        Here(programs::host_judges_state),
    ),
    (
        9,
        "both_languages_count_and_leave_receipts",
        Here(programs::counts),
    ),
    (
        10,
        "objects_of_the_inner_realm_commit",
        Here(programs::realm),
    ),
    (11, "parallel_calls_overlap", Here(programs::parallel)),
    (
        12,
        "a_stuck_program_is_killed_and_the_next_runs",
        There(workers::TESTS, "stuck_programs_end_at_every_level"),
    ),
    (
        13,
        "a_result_forged_on_stdout_is_text",
        Here(programs::forged_on_stdout),
    ),
    (
        14,
        "a_result_forged_on_the_frames_is_not_committed",
        Here(programs::forged_on_frames),
    ),
    (
        15,
        "no_helper_finalizes_for_a_program",
        Here(programs::no_helper),
    ),
    (
        16,
        "null_is_no_frame_and_the_host_survives",
        There(faults::TESTS, "bad_workers_fail_with_their_kind"),
    ),
    (
        17,
        "the_end_with_an_open_call_rejects",
        There(calls::TESTS, "an_uncooperative_call_does_not_hold_the_end"),
    ),
    (
        18,
        "close_rejects_what_runs_and_what_waits",
        There(lifecycle::TESTS, "close_rejects_everything_for_good"),
    ),
    (
        19,
        "failures_keep_output_and_receipts",
        There(output::TESTS, "failures_keep_what_was_printed"),
    ),
    (
        20,
        "a_time_out_kills_grandchildren_of_run_process",
        Here(adapters::grandchild),
    ),
    (
        21,
        "a_missing_interpreter_rejects",
        Here(programs::missing_interpreter),
    ),
    (
        22,
        "long_values_in_state_survive_whole",
        Here(programs::long_state),
    ),
    (
        23,
        "bad_state_leaves_the_earlier_one",
        Here(programs::bad_state),
    ),
    (24, "nan_becomes_null", Here(programs::nan)),
    (
        25,
        "huge_exceptions_fit_the_smallest_limit",
        Here(programs::huge_exception),
    ),
    (
        26,
        "an_unknown_call_leaves_a_receipt",
        Here(programs::unknown_call),
    ),
    (
        27,
        "a_flood_without_newlines_is_cut_off",
        There(faults::TESTS, "a_flood_without_newline_ends_the_worker"),
    ),
    (
        28,
        "terminating_the_broker_ends_stubborn_grandchildren",
        Here(live::broker_terminated),
    ),
    (
        29,
        "a_live_namespace_keeps_its_process",
        There(lifecycle::TESTS, "a_live_namespace_goes_on"),
    ),
    (
        30,
        "reset_of_a_live_namespace_gives_an_empty_one",
        There(
            lifecycle::TESTS,
            "reset_and_close_wait_for_a_live_namespace",
        ),
    ),
    (
        31,
        "persistence_is_for_python_only",
        Here(live::python_only),
    ),
    (32, "an_abort_keeps_a_live_namespace", Here(live::abort)),
    (
        33,
        "who_ignores_an_interrupt_is_replaced",
        There(
            lifecycle::TESTS,
            "a_live_namespace_that_ignores_an_interrupt_is_replaced",
        ),
    ),
    (
        34,
        "interrupted_calls_leave_nothing_pending",
        Here(live::interrupted_calls),
    ),
    (
        35,
        "who_ignores_every_signal_is_killed",
        Here(live::ignores_everything),
    ),
    (
        36,
        "reset_and_close_wait_for_the_end",
        There(
            lifecycle::TESTS,
            "reset_and_close_wait_for_a_live_namespace",
        ),
    ),
    (
        37,
        "reset_rejects_what_waits",
        There(lifecycle::TESTS, "reset_rejects_what_runs_and_what_waits"),
    ),
    (
        38,
        "faults_end_a_live_namespace_before_the_next",
        There(
            lifecycle::TESTS,
            "a_live_namespace_that_breaks_the_protocol_is_replaced",
        ),
    ),
    (
        39,
        "overlapping_resets_let_nothing_run",
        There(
            lifecycle::TESTS,
            "overlapping_resets_let_nothing_between_them_run",
        ),
    ),
    (
        40,
        "where_no_worker_can_start_persistence_does_not_fall_back",
        Here(live::no_fallback),
    ),
    (
        41,
        "links_out_of_the_folder_are_refused",
        Here(adapters::links),
    ),
    (
        42,
        "orchestration_only_when_admitted",
        Here(tool::orchestration),
    ),
    (43, "long_time_outs_are_clamped", Here(tool::long_timeout)),
    (
        44,
        "list_directory_has_kinds_and_order",
        Here(adapters::list_directory),
    ),
    (
        45,
        "run_process_times_out_truncates_and_aborts",
        Here(adapters::run_process_ends),
    ),
    (
        46,
        "frame_ten_thousand_and_one_fails",
        There(faults::TESTS, "frame_10001_fails"),
    ),
    (
        47,
        "a_result_over_a_frame_fails_cleanly",
        Here(programs::huge_result),
    ),
    (
        48,
        "one_node_too_many_is_refused",
        There(state::TESTS, "the_largest_is_kept_and_one_more_is_not"),
    ),
    (
        49,
        "cuts_have_a_marker_and_whole_characters",
        There(output::TESTS, "the_marker_stays_below_the_smallest_limit"),
    ),
    (
        50,
        "a_session_starts_with_clear_state",
        Here(programs::session),
    ),
    (
        51,
        "inputs_arrive_whole",
        There(calls::TESTS, "inputs_arrive_whole_or_are_refused"),
    ),
    (
        52,
        "children_print_like_the_program",
        Here(programs::children_print),
    ),
    (53, "input_fails_at_once", Here(programs::input)),
    (
        54,
        "killing_the_host_leaves_nothing",
        There(kills::TESTS, "killing_the_host_leaves_nothing"),
    ),
    (
        55,
        "without_questions_nobody_still_means_no",
        Here(tool::nobody_unasked),
    ),
    (
        56,
        "a_question_shows_every_character",
        Here(tool::whole_question),
    ),
    (
        57,
        "calls_after_the_result_twice_or_too_many_are_bounded",
        There(calls::TESTS, "at_most_32_run_at_once"),
    ),
    (
        58,
        "awaiting_the_tools_does_not_hang",
        Here(programs::await_tool),
    ),
    (
        59,
        "large_integers_survive",
        There(state::TESTS, "huge_integers_stay_as_they_are"),
    ),
    (
        60,
        "state_that_is_bound_anew_counts",
        Here(programs::rebound),
    ),
    (61, "a_live_namespace_survives_many_evals", Here(live::many)),
    (
        62,
        "frames_at_the_limit_pass",
        There(faults::TESTS, "frames_at_the_limit_pass_back_to_back"),
    ),
    (
        63,
        "names_with_two_dots_are_readable",
        Here(adapters::two_dots),
    ),
    (64, "indented_python_runs", Here(programs::indented)),
    (
        65,
        "a_rejection_nobody_awaits_is_the_programs_error",
        Here(programs::unawaited),
    ),
    (
        66,
        "two_full_streams_of_a_process_fit",
        Here(adapters::full_streams),
    ),
    (
        67,
        "secrets_that_were_left_out_are_absent",
        Here(programs::secrets),
    ),
];

/// The tests that are here, and one that looks at the list.
pub(crate) fn tests() -> Vec<(String, fn())> {
    let mut tests: Vec<(String, fn())> = vec![(
        "every_number_has_its_test".to_owned(),
        every_number_has_its_test,
    )];
    for (number, what, shown) in ROWS {
        match shown {
            Here(test) => tests.push((format!("{number:02}_{what}"), *test)),
            There(..) => {}
        }
    }
    tests
}

fn every_number_has_its_test() {
    let numbers: Vec<usize> = ROWS.iter().map(|(number, _, _)| *number).collect();
    assert_eq!(numbers, (1..=67).collect::<Vec<_>>());
    for (number, _, shown) in ROWS {
        match shown {
            Here(_) => {}
            There(tests, wanted) => assert!(
                tests.iter().any(|(name, _)| name == wanted),
                "{number}: there is no {wanted}"
            ),
        }
    }
}
