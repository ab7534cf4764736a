"""Tests of the worker programs: `python3 test_workers.py [FILTER | --part K/N]`. Standard library only; needs python3, node
and unshare.

It exits with 1 when a case fails, and prints which. `--part 2/6` runs the second of six parts of them, and `--measure` prints
how long forks and calls take instead.
"""

import concurrent.futures
import sys
import time
import traceback

import harness
import javascript_cases
import live_cases
import python_cases

WORKERS = 4
KEYS = {
    "name", "code", "given", "limit", "value", "text", "error", "error_in", "message", "trace", "trace_is", "message_bytes_max",
    "trace_bytes_max", "stdout", "stdout_has", "stdout_any", "stdout_length", "stderr", "stderr_has", "stderr_any", "state",
    "state_any", "lossy", "lossy_has", "lossy_count", "calls", "calls_max", "displays", "display_count", "no_result",
}


def check(case, outcome):
    """Compares what a program did with what its case says. What is not said must not be there."""
    result = outcome.result
    if case.get("no_result"):
        assert result is None and not outcome.is_complete, result
        return
    assert result is not None, "no result; stderr: " + outcome.stderr
    assert outcome.is_complete and outcome.status == 0, (outcome.is_complete, outcome.status, outcome.stderr)
    assert result["elapsedMs"] >= 0
    is_failure = "error" in case or "error_in" in case
    if not is_failure:
        assert result["ok"], result
        check_value(case, result)
    else:
        check_error(case, result)
    check_output(case, outcome)
    if is_failure or case.get("state", 0) is None:
        assert "state" not in result
    elif not case.get("state_any"):
        assert result["state"] == case.get("state", parse(case.get("given", {}))), result["state"]
    if "calls_max" in case:
        assert len(outcome.calls) <= case["calls_max"], len(outcome.calls)
    elif "calls" in case:
        assert len(outcome.calls) == case["calls"], outcome.calls
    if "display_count" in case:
        assert len(outcome.displays) == case["display_count"]
    else:
        assert [shown["data"] for shown in outcome.displays] == case.get("displays", []), outcome.displays


def parse(given):
    return harness.json.loads(given) if isinstance(given, str) else given


def check_value(case, result):
    if "text" in case:
        assert result.get("valueText") == case["text"] and "value" not in result, result
    elif "value" in case:
        value = result.get("value")
        assert "valueText" not in result and value == case["value"] and repr(value) == repr(case["value"]), value
    if "lossy" in case:
        assert result.get("lossy") == case["lossy"], result.get("lossy")
    elif "lossy_has" in case:
        assert any(case["lossy_has"] in line for line in result["lossy"]), result["lossy"]
    elif "lossy_count" in case:
        assert len(result["lossy"]) == case["lossy_count"], result["lossy"]
    else:
        assert "lossy" not in result, result["lossy"]


def check_error(case, result):
    assert not result["ok"] and "value" not in result and "valueText" not in result and "lossy" not in result, result
    error = result["error"]
    assert set(error) == {"name", "message", "trace"}, error
    assert error["name"] in case.get("error_in", [case.get("error")]), error
    assert case.get("message", "") in error["message"], error
    assert case.get("trace", "") in error["trace"], error["trace"]
    if "trace_is" in case:
        assert error["trace"] == case["trace_is"], error["trace"]
    for key in ("message", "trace"):
        limit = case.get(key + "_bytes_max", 51_200)
        assert len(error[key].encode()) <= limit, (key, len(error[key].encode()))


def check_output(case, outcome):
    for stream, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if case.get(stream + "_any"):
            continue
        if stream + "_has" in case:
            assert case[stream + "_has"] in text, text[:2000]
        elif stream + "_length" in case:
            assert len(text) == case[stream + "_length"], len(text)
        else:
            assert text == case.get(stream, ""), (stream, text[:2000])


def run_case(language, case):
    assert set(case) <= KEYS, set(case) - KEYS
    options = {"state": case.get("given", {}), "limit": case.get("limit", 51_200)}
    check(case, harness.run_once(language, case["code"], **options))


def all_tests():
    tests = []
    for language, cases in (("python", python_cases.CASES), ("javascript", javascript_cases.CASES)):
        names = [case["name"] for case in cases]
        assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
        for case in cases:
            tests.append((language + ": " + case["name"], lambda language=language, case=case: run_case(language, case)))
    for name, function in sorted(vars(live_cases).items()):
        if name.startswith("test_"):
            tests.append(("live: " + name[5:].replace("_", " "), function))
    return tests


def attempt(test):
    name, function = test
    started = time.monotonic()
    try:
        function()
        return name, None, time.monotonic() - started
    except BaseException:
        return name, traceback.format_exc(limit=-4), time.monotonic() - started


def main(arguments):
    if arguments == ["--measure"]:
        live_cases.measure()
        return 0
    if len(arguments) == 2 and arguments[0] == "--part":
        part, parts = (int(number) for number in arguments[1].split("/"))
        assert 1 <= part <= parts, arguments
        tests = all_tests()[part - 1 :: parts]
    else:
        wanted = arguments[0] if arguments else ""
        tests = [test for test in all_tests() if wanted in test[0]]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for name, problem, seconds in pool.map(attempt, tests):
            if problem is not None:
                failures += 1
                print("FAILED " + name + "\n" + problem[-3000:], flush=True)
            elif seconds > 5:
                print("slow: %s took %.1f s" % (name, seconds), flush=True)
    print("%d of %d passed" % (len(tests) - failures, len(tests)))
    return 1 if failures or not tests else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
