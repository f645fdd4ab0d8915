"""What torch says while a program runs is in a log; what the program says stays."""

from lockstep.capturing import said

SPEAKS = """
import warnings, logging
warnings.warn("mine")
torch.meshgrid(torch.ones(2), torch.ones(2))  # torch warns that it will need an argument
logging.getLogger("torch._dynamo").warning("of dynamo")
logging.getLogger("torch._dynamo").info("nobody asked for it")
logging.getLogger("mine").warning("of mine")
torch._logging.set_logs(inductor=logging.INFO)
logging.getLogger("torch._inductor").info("of inductor")
"""


def test_the_logs_and_warnings_of_torch_go_to_a_file(record):
    ran = record(SPEAKS)
    assert ran.status == 0, ran.errors
    log = said.of(ran.folder)
    assert [word for word in ("meshgrid", "of dynamo", "of inductor") if word not in log] == []
    assert [word for word in ("meshgrid", "of dynamo", "of inductor") if word in ran.errors] == []
    assert "UserWarning: mine" in ran.errors and "of mine" in ran.errors
    assert "mine" not in log and "nobody asked" not in log


def test_warnings_that_the_program_takes_are_the_programs(record):
    ran = record(
        """
        import warnings
        with warnings.catch_warnings(record=True) as taken:
            warnings.simplefilter("always")
            torch.meshgrid(torch.ones(2), torch.ones(2))
        print(len(taken))
        warnings.simplefilter("error")
        try:
            torch.meshgrid(torch.ones(2), torch.ones(2), torch.ones(2))
        except UserWarning:
            print("raised")
        """
    )
    assert ran.text in ("1\nraised\n", "1\n")  # torch warns of it once
    assert said.of(ran.folder) == ""


def test_a_log_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(said, "MOST_BYTES", 10)
    log = said.Log(tmp_path / said.FILE)
    for _ in range(5):
        assert log.write("1234") == 4
    assert said.of(tmp_path) == "12341234"


def test_what_is_no_log_is_not_read(tmp_path):
    import os

    os.mkfifo(tmp_path / said.FILE)
    assert said.of(tmp_path) == "" == said.of(tmp_path / "gone")
