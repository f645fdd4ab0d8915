"""Self-suspicion: paths that commit one fault each, through the real binary. Every fault must get
its own verdict."""

import json
import os
import pathlib
import platform
import subprocess

import pytest
from bare_suite import make_suite, path_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(__file__).resolve().parent / "testdata" / "sabotage"
TIMEOUT = 6

#: Fault → the status it must get on the program `bugs/sabotaged`, and words of its reason or of an
#: output's.
FAULTS = {
    "nothing": ("conform", ""),
    "chatter": ("conform", ""),
    "flip_bit": ("value_diverges", "1 of 12"),
    "lose_nan": ("nonfinite_diverges", ""),
    "lose_inf": ("nonfinite_diverges", ""),
    "swap_zero": ("value_diverges", "2 of 12"),
    "change_stride": ("metadata_diverges", "stride"),
    "change_dtype": ("metadata_diverges", "float64"),
    "change_shape": ("metadata_diverges", "shape"),
    "demand_grad": ("metadata_diverges", "requires_grad"),
    "alias_outputs": ("aliasing_diverges", ""),
    "alias_input": ("aliasing_diverges", ""),
    "return_input": ("aliasing_diverges", ""),
    "mutate_input": ("mutation_diverges", ""),
    "nudge_input": ("mutation_diverges", "input x"),
    "draw": (
        "state_diverges",
        "generator cpu: not the state that eager leaves, after repetition 1",
    ),
    "lose_grad_mode": ("state_diverges", "mode grad: true, compiled false, after repetition 1"),
    "change_default_dtype": ("state_diverges", "mode default_dtype: float32, compiled float64"),
    "demand_determinism": ("state_diverges", "mode deterministic_algorithms: off, compiled warn"),
    "take_a_thread": ("state_diverges", "mode threads: 2, compiled 3"),
    # Each of them is looked for below.
    "change_surroundings": ("state_diverges", "mode "),
    # Every repetition has the same numbers; bugs/calls has others.
    "reuse_memory": ("state_diverges", "memory: compiled keeps that of a, eager does not"),
    "raise_error": ("spurious_error", "the saboteur objects"),
    "ask_to_exit": ("spurious_error", "SystemExit"),
    "compile_error": ("internal_error", "the saboteur cannot compile"),
    "hang": ("timeout", "`run`"),
    "stop_itself": ("timeout", "`run`"),
    "compile_hang": ("timeout", "`lower`"),
    "segfault": ("crash", "signal 11"),
    "compile_crash": ("crash", "`lower`"),
    "abort": ("crash", "signal 6"),
    "leave": ("crash", "exited with 3"),
    "leave_with_zero": ("crash", "exited with 0"),
    "be_killed": ("crash", "signal 9"),
    "allocate": ("oom", ""),
    "fail_to_allocate": ("oom", "bad_alloc"),
    # Where the kernel does not hide the folder of observations, what they write there is not read.
    "write_half": ("spurious_error|crash", ""),
    "lie_about_bytes": ("spurious_error|crash", ""),
    "kill_the_worker": ("crash", "signal 9"),  # what started it; no other verdict may change
}
#: Fault that is committed from the second execution on → the status, and words of the reason.
SECOND = {
    "flip_last_bit": ("value_diverges", "repetition 2: a: 1 of 12"),
    "lose_nan": ("nonfinite_diverges", "repetition 2: a"),
    "swap_zero": ("value_diverges", "repetition 2: a"),
    "change_stride": ("metadata_diverges", "repetition 2: a: stride"),
    "change_dtype": ("metadata_diverges", "repetition 2: a: dtype"),
    "change_shape": ("metadata_diverges", "repetition 2: a: shape"),
    "demand_grad": ("metadata_diverges", "repetition 2: a: requires_grad"),
    "alias_outputs": ("aliasing_diverges", "repetition 2: aliases"),
    "alias_input": ("aliasing_diverges", "repetition 2: aliases"),
    "return_input": ("aliasing_diverges", "repetition 2: "),
    "mutate_input": ("mutation_diverges", "repetition 2: input x"),
}
#: Path → the status it must get on `bugs/called`, whose `call` C++ eager has no spelling for, and
#: words of its reason.
CALLED = {
    "nothing": ("conform", ""),
    "flip-bit": ("value_diverges", "1 of 4"),
    "hang": ("timeout", "`run`"),
    "segfault": ("crash", "signal 11"),
    "compile-crash": ("crash", "`lower`"),
    "be-killed": ("crash", "signal 9"),
    "eager-dies": ("crash", "signal 6"),  # the module is imported where it is compiled alone
}
#: Torch's own, and settings: name → (changes of the path file, status).
OTHERS: dict[str, tuple[dict, str]] = {
    "relu-compile-error": ({"backend": "relu_compile_error_TESTING_ONLY"}, "internal_error"),
    "relu-runtime-error": ({"backend": "relu_runtime_error_TESTING_ONLY"}, "spurious_error"),
    "relu-accuracy-error": ({"backend": "relu_accuracy_error_TESTING_ONLY"}, "value_diverges"),
    "inject-compile-error": (
        {
            "backend": "inductor",
            "config": {"torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY": "compile_error"},
        },
        "internal_error",
    ),
    "inject-runtime-error": (
        {
            "backend": "inductor",
            "config": {"torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY": "runtime_error"},
        },
        "spurious_error",
    ),
    "inject-accuracy": (
        {
            "backend": "inductor",
            "config": {"torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY": "accuracy"},
        },
        "value_diverges",
    ),
    "not-compiled": (
        {"backend": "eager", "fullgraph": False, "import": ["lockstep_saboteur_of_dynamo"]},
        "not_compiled",
    ),
    "nothing-found": ({"backend": "eager", "import": ["lockstep_saboteur_of_dynamo"]}, "refused"),
    "eager-differs": (
        {"backend": "eager", "import": ["lockstep_saboteur_of_eager"]},
        "value_diverges",
    ),
    "eager-dies": ({"backend": "eager", "import": ["lockstep_saboteur_kills_eager"]}, "crash"),
    "no-such-backend": ({"backend": "no_such_backend"}, "unsupported"),
    "no-such-config": (
        {"backend": "eager", "config": {"torch._inductor.config.nonsense": 1}},
        "unsupported",
    ),
    "no-such-worker": ({"worker": ["/nonexistent/worker"]}, "worker_lost"),
    "dies-at-once": ({"worker": ["false"]}, "worker_lost"),
    "babbles": ({"worker": ["sh", "-c", "echo hello; sleep 60"]}, "worker_lost"),
}


#: The relations that a saboteur breaks who depends on one. What depends on places breaks those of
#: rows, too.
RELATIONS = {
    "batch": {"batch"},
    "rows": {"batch", "rows"},
    "layout": {"layout"},
    "process": {"batch", "rows", "process", "threads"},  # which are two processes more
    "threads": {"threads"},
}


#: What goes wrong in the third of five steps of training, and does not recover.
TRAINING = "skip_step update_twice decay_another keep_stale reuse_batch".split()


class Verdicts(dict):
    """By instance and path; and what the run says besides."""

    def __init__(self, verdicts, environment, printed):
        super().__init__(verdicts)
        self.environment, self.printed = environment, printed


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """One run of everything, and its verdicts by instance and path."""
    folder = tmp_path_factory.mktemp("sabotage")
    suite = make_suite(folder / "suite", DATA / "cases")
    # The contract `values`: what it would let pass must not, where eager leaves an input alone.
    files = [
        path_file(
            folder,
            fault.replace("_", "-"),
            backend="lockstep_saboteur_" + fault,
            contract="values" if fault == "nudge_input" else "bits",
            may_call=["*"],
            **{"import": ["lockstep_saboteur"]},
        )
        for fault in FAULTS
    ]
    files += [path_file(folder, name, **changes) for name, (changes, _) in OTHERS.items()]
    files += [
        path_file(
            folder,
            fault.replace("_", "-"),
            backend="lockstep_saboteur_" + fault,
            may_call=["*"],
            **{"import": ["lockstep_saboteur"]},
        )
        for fault in (
            *"""
                accept mutate_and_raise leave_modes_and_raise fold_random fold_by_call keep_graph
                second_nothing other_tie wrong_tie repeated_tie in_double one_percent lose_grad
                other_branch drop_carry keep_input keep_output hide_write hush cry_out
                abort_at_exit stay_in_a_thread
            """.split(),
            *("depend_on_" + relation for relation in RELATIONS),
            *("train_" + fault for fault in (*TRAINING, "nudge_loss")),
            *("second_" + fault for fault in SECOND),
        )
    ]
    arguments = [word for file in files for word in ("--path-file", str(file))]
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    environment = {
        **os.environ,
        "LOCKSTEP_HOME": str(suite),
        "LOCKSTEP_CACHE": os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep"),
        "PYTHONPATH": str(DATA),
    }
    result = subprocess.run(
        [
            binary,
            *"run --level all --path * --out".split(),
            str(folder / "run"),
            "-j",
            "4",
            "--timeout",
            str(TIMEOUT),
            "--compile-timeout",
            str(3 * TIMEOUT),
            "--memory",
            "16",
            *arguments,
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode == 1, result.stdout + result.stderr
    record = json.loads((folder / "run" / "run.json").read_text())
    return Verdicts(
        {(v["instance"].split("@")[0], v["path"]): v for v in record["verdicts"]},
        record["environment"],
        result.stdout + result.stderr,
    )


def check(verdict, status, words=""):
    """Looks for the words where reasons are: elsewhere a verdict names its path, and so the
    fault."""
    reasons = [
        verdict.get("reason", ""),
        *(f"{output['name']}: {output.get('reason', '')}" for output in verdict.get("outputs", [])),
        *(each["reason"] for each in verdict.get("differences", [])),
    ]
    assert verdict["status"] in status.split("|"), verdict
    assert words.lower() in "\n".join(reasons).lower(), verdict


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_gets_its_verdict(verdicts, fault):
    check(verdicts["bugs/sabotaged", fault.replace("_", "-")], *FAULTS[fault])


#: Of x86 alone are the numbers by which the saboteur asks for another rounding, and for no
#: subnormals.
SURROUNDINGS = {
    *"environment signals python_random default_device matmul_precision anomaly".split(),
    "warning_filters",
    *("rounding subnormals".split() if platform.machine() == "x86_64" else ()),
}


def test_whatever_a_call_does_to_its_surroundings_is_found(verdicts):
    differences = verdicts["bugs/sabotaged", "change-surroundings"]["differences"]
    named = {each["reason"].split()[1].rstrip(":") for each in differences}
    assert named >= SURROUNDINGS, differences


def test_another_branch_and_a_carry_that_is_dropped_are_found(verdicts):
    check(verdicts["bugs/branching", "nothing"], "conform")
    check(verdicts["bugs/branching", "other-branch"], "value_diverges", "b: ")
    check(verdicts["bugs/branching", "drop-carry"], "value_diverges", "s: ")


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_path_that_alone_breaks_a_relation_is_accused(verdicts, relation):
    """By the last bit of some elements, which the policy lets pass."""
    verdict = verdicts["bugs/related", "depend-on-" + relation]
    check(verdict, "relation_breaks", "which eager keeps")
    broken = {each["kind"] for each in verdict["relations"] if each.get("path")}
    assert broken == RELATIONS[relation], verdict
    check(verdicts["bugs/related", "nothing"], "conform")


@pytest.mark.parametrize("fault", TRAINING)
def test_a_step_of_training_that_goes_wrong_is_found(verdicts, fault):
    """Though errors may grow from step to step: each is judged from eager's state, too."""
    verdict = verdicts["bugs/trained", "train-" + fault.replace("_", "-")]
    check(verdict, "value_diverges|mutation_diverges")
    assert any(each["name"].endswith(", call 3") for each in verdict["differences"]), verdict


def test_errors_may_grow_and_each_step_has_to_hold_all_the_same(verdicts):
    verdict = verdicts["bugs/trained", "train-nudge-loss"]
    check(verdict, "value_diverges", "each call from eager's state")
    check(verdicts["bugs/trained", "nothing"], "conform")


@pytest.mark.parametrize("path, status", [("nothing", "conform"), ("not-compiled", "not_compiled")])
def test_nothing_to_compile_is_not_a_compiler_that_did_not_look(verdicts, path, status):
    check(verdicts["bugs/size", path], status)
    assert verdicts["bugs/size", path].get("vacuous", False) == (status == "conform")


@pytest.mark.parametrize("path", CALLED)
def test_a_fault_is_found_where_only_python_has_the_program(verdicts, path):
    """Nothing that kills the process may be taken for a program that eager lacks."""
    check(verdicts["bugs/called", path], *CALLED[path])


@pytest.mark.parametrize("name", OTHERS)
def test_each_setting_gets_its_verdict(verdicts, name):
    case = "bugs/relu" if name.startswith(("relu-", "inject-")) else "bugs/sabotaged"
    check(verdicts[case, name], OTHERS[name][1])


@pytest.mark.parametrize("fault", SECOND)
def test_what_is_wrong_the_second_time_is_wrong_and_unstable(verdicts, fault):
    verdict = verdicts["bugs/sabotaged", "second-" + fault.replace("_", "-")]
    check(verdict, *SECOND[fault])
    assert verdict["unstable"] is True, verdict


def test_what_does_not_differ_is_not_unstable(verdicts):
    check(verdicts["bugs/sabotaged", "second-nothing"], "conform")
    assert not [
        id_
        for id_, verdict in verdicts.items()
        if verdict.get("unstable") and not id_[1].startswith("second-")
    ]


@pytest.mark.parametrize(
    "path, status",
    [("other-tie", "conform"), ("wrong-tie", "value_diverges"), ("repeated-tie", "value_diverges")],
)
def test_indices_are_judged_by_what_they_select(verdicts, path, status):
    """argmax and topk with ties: index_equivalent reads the input."""
    assert verdicts["bugs/ties", path]["status"] == status, verdicts["bugs/ties", path]


@pytest.mark.parametrize(
    "path, nearer", [("in-double", "ill-conditioned"), ("one-percent", "eager")]
)
def test_only_what_the_inputs_cannot_decide_is_ill_conditioned(verdicts, path, nearer):
    """a² - b² of neighbours, and beside it a + b, which is well-conditioned: one per cent off is
    wrong there."""
    verdict = verdicts["bugs/cancels", path]
    assert verdict["status"] == "value_diverges", verdict
    assert verdict["nearer"] == nearer, verdict["reason"]
    assert ("ill-conditioned" in verdict["reason"]) == (nearer == "ill-conditioned")


def test_a_lost_gradient_is_metadata_and_no_error(verdicts):
    """Metadata are judged before the backward pass, which then cannot begin."""
    assert verdicts["bugs/gradient", "nothing"]["status"] == "conform"
    verdict = verdicts["bugs/gradient", "lose-grad"]
    check(verdict, "metadata_diverges", "y: requires_grad true, compiled false")
    assert [each["status"] for each in verdict["differences"]] == [
        "metadata_diverges",
        "spurious_error",
    ]


def test_a_lost_validation_is_found(verdicts):
    """Eager refuses an index out of range: a path that passes that on conforms, one that computes
    has lost a validation."""
    assert verdicts["bugs/raises", "nothing"]["status"] == "conform"
    assert verdicts["bugs/raises", "accept"]["status"] == "validation_lost"


#: Case and path → the status that it must get, and words of its reason.
LEFT_BEHIND = {
    ("bugs/calls", "nothing"): ("conform", ""),
    ("bugs/calls", "reuse-memory"): (
        "state_diverges",
        "overwritten: y of call 1 changed while later calls ran",
    ),
    ("bugs/threads", "nothing"): ("conform", ""),
    ("bugs/threads", "stay-in-a-thread"): ("value_diverges", "call 2: 4 of 4"),
    ("bugs/writes", "nothing"): ("conform", ""),
    ("bugs/writes", "keep-input"): (
        "state_diverges",
        "memory: compiled keeps that of w, eager does not, after repetition 1",
    ),
    ("bugs/writes", "keep-output"): ("state_diverges", "memory: compiled keeps that of v"),
    ("bugs/writes", "hide-write"): (
        "state_diverges",
        "version: eager counts that w is written to, compiled does not, after repetition 1",
    ),
    ("bugs/draws", "nothing"): ("conform", ""),
    ("bugs/draws", "draw"): ("state_diverges", "generator cpu: "),
    ("bugs/draws", "fold-random"): (
        "value_diverges",
        "repetition 3: y: with another seed 20 of 20",
    ),
    ("bugs/draws-any", "nothing"): ("conform", ""),
    ("bugs/draws-any", "draw"): ("conform", ""),  # whose numbers are its own, its generator is, too
    ("bugs/draws-any", "fold-random"): (
        "value_diverges",
        "with another seed 20 of eager's elements change, and none of compiled's",
    ),
    ("bugs/draws-any", "fold-by-call"): (
        "value_diverges",
        "with another seed 20 of eager's elements change",
    ),
    ("bugs/raises", "mutate-and-raise"): (
        "mutation_diverges",
        "input x after the error: 3 of 3 elements differ",
    ),
    ("bugs/raises", "leave-modes-and-raise"): (
        "state_diverges",
        "mode default_dtype: float32, compiled float64, after the error",
    ),
    ("bugs/twice", "nothing"): ("conform", "both raise"),
    ("bugs/twice", "keep-graph"): ("validation_lost", "a second time"),
}


@pytest.mark.parametrize("case, path", LEFT_BEHIND)
def test_what_a_call_leaves_behind_is_compared(verdicts, case, path):
    check(verdicts[case, path], *LEFT_BEHIND[case, path])


def test_warnings_that_are_lost_or_added_are_said_and_fail_nothing(verdicts):
    lost, added = (verdicts["bugs/writes", path] for path in ("hush", "cry-out"))
    assert (lost["status"], added["status"]) == ("conform", "conform"), (lost, added)
    warned = "UserWarning: var(): degrees of freedom is <= 0."
    assert [each[: len(warned)] for each in lost["warnings"]["lost"]] == [warned]
    assert "added" not in lost["warnings"] and "same" not in lost["warnings"]
    assert added["warnings"] == {"same": 1, "added": ["UserWarning: the saboteur warns"]}
    assert verdicts["bugs/writes", "nothing"]["warnings"] == {"same": 1}
    assert "warnings" not in verdicts["bugs/sabotaged", "nothing"]


def test_a_process_that_breaks_when_it_exits_is_said_of_its_path_alone(verdicts):
    """Everything that it was asked it has answered."""
    check(verdicts["bugs/writes", "abort-at-exit"], "conform")
    how = "was ended by signal 6 when it exited, after it had answered"
    assert verdicts.environment["path abort-at-exit"] == {"lacks a clean exit": how}
    assert "path nothing" not in verdicts.environment
    assert f"the process of path abort-at-exit {how}" in verdicts.printed
