"""The storage's credentials are in no file of a run and in no message, however they are written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import sqlalchemy
from click.testing import CliRunner

import dse
from dse.cli import commands
from dse.problems import InputError
from dse.result.folder import load_copied_study
from dse.run import run
from dse.study.credentials import (
    hide_credentials,
    list_credentials,
    mask_study_text,
    mask_url,
    url_problem,
)
from tests.commands import called
from tests.toy import written

URL = "postgresql://me:Hunter2@db.example:5432/dse"
SPELLINGS = {
    "basic": f'[run]\nstorage = "{URL}"\n',
    "literal": f"[run]\nstorage = '{URL}'\n",
    "multi-line": f'[run]\nstorage = """{URL}"""\n',
    "multi-line literal": f"[run]\nstorage = '''\n{URL}'''\n",
    "continued": '[run]\nstorage = """postgresql://me:Hun\\\n   ter2@db.example:5432/dse"""\n',
    "escaped": '[run]\nstorage = "\\u0070ostgresql://me:H\\u0075nter2@db.example:5432/dse"\n',
    "dotted": f'run.storage = "{URL}"\n',
    "quoted keys": f'["run"]\n"stor\\u0061ge" = "{URL}"\n',
    "inline": f'run = {{ workers = 1, storage = "{URL}" }}\n',
    "in a comment": f'[run]\nstorage = "{URL}"  # the password is Hunter2\n',
    "in an older comment": f'# was "x://me:Hunter2@old/dse"\n[run]\nstorage = "{URL}"\n',
    "query": '[run]\nstorage = "postgresql://db.example/dse?user=me&password=Hunter2"\n',
    "percent": '[run]\nstorage = "postgresql://me:H%75nter2@db.example/dse"  # Hunter2\n',
}


@pytest.mark.parametrize("stored", SPELLINGS.values(), ids=SPELLINGS)
def test_the_kept_text_holds_no_credential_and_means_the_same(stored: str) -> None:
    inner = "\n[inputs]\nstorage = 5\nlimit = inf\n" + '[[objective]]\nmaximize = "é\\u007f\\"x"\n'
    text = stored + inner if "[" not in stored.split("\n")[0] else inner + stored
    content = tomllib.loads(text)
    kept = mask_study_text(text, content, toml=True)
    read = tomllib.loads(kept)
    assert "Hunter2" not in kept and "H%75nter2" not in kept
    assert "Hunter2" not in repr(read)
    assert read["run"].pop("storage").startswith("postgresql://")
    content["run"].pop("storage")
    assert read == content


def test_a_text_that_needs_no_more_stays_as_written() -> None:
    text = f"# mine\n[run]   # here\nstorage = '''{URL}'''\n[space]\nx = {{ values = [1, 2] }}\n"
    kept = mask_study_text(text, tomllib.loads(text), toml=True)
    assert kept == text.replace("Hunter2", "***")
    assert mask_study_text("# x\n", {}, toml=True) == "# x\n"


@pytest.mark.parametrize(
    "text",
    [
        "# was x://me:Hunter2@old/dse\n[study]\nname = 'a'\n",
        "[study]\nabout = 'see x://:Hunter2@old/dse'\n",
        '[study]\nabout = "x://me:Hun\\u0074er2@old"  # x://me:p/Hunter2@old\n',
        "[study]\n'x://me:Hunter2@old' = [['x://me:Hunter2@old', 'b@c']]\n",
    ],
)
def test_no_password_of_any_url_in_the_text_is_kept(text: str) -> None:
    kept = mask_study_text(text, tomllib.loads(text), toml=True)
    read = tomllib.loads(kept)
    assert "Hunter2" not in kept and "Hunter2" not in repr(read)
    assert read.keys() == {"study"}


@pytest.mark.parametrize("quoted", ['"""{}"""', '"{}"'])
def test_no_credential_in_the_run_folder(quoted: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}?timeout=20&mypassword=Hunter2"
    path = written(tmp_path, f"[run]\nstorage = {quoted.format(url)}\n")
    command = ["run", str(path), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(commands, command)
    assert done.exit_code == 0
    assert "Hunter2" not in done.output
    kept = [p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert len(kept) > 5
    assert all(b"Hunter2" not in content for content in kept)
    assert load_copied_study(tmp_path / "out").evaluator.space.size == 19_200


def test_a_study_of_a_script_keeps_none_either() -> None:
    content = tomllib.loads(
        (Path(__file__).parents[2] / "studies" / "sparc_evolution.toml").read_text()
    )
    study = dse.from_mapping({**content, "run": {"storage": URL}})
    assert "Hunter2" not in study.text
    assert study.file.run.storage == URL


def test_drivers_messages_are_shown_without_credentials(tmp_path: Path) -> None:
    for url in (f'"{URL}"', '"nodriver://me:Hunter2@h/d"', f'["{URL}"]'):
        with pytest.raises(InputError, match="storage") as raised:
            run(dse.load(written(tmp_path, f"[run]\nstorage = {url}\n")), tmp_path / "out")
        assert "Hunter2" not in str(raised.value)


def test_urls() -> None:
    assert mask_url("mysql://u:p@ss/w?rd@h/d") == "mysql://u:***@h/d"
    assert mask_url("postgresql:///dse?host=/run&user=me") == "postgresql:///dse"
    assert mask_url("postgresql://me:secret") == "postgresql://me:***"  # without an @
    assert mask_url("postgresql://me:secret/db?a=b") == "postgresql://me:***"
    assert list_credentials("postgresql://me:secret") == {"secret"}
    assert mask_url("postgresql://h:5432/d") == "postgresql://h:5432/d"
    assert mask_url("postgresql://[::1]:5432/d") == "postgresql://[::1]:5432/d"
    assert mask_url("postgresql://me@h/d") == "postgresql://me@h/d"
    assert list_credentials("postgresql://me:p%40ss@h/d?connect_timeout=10") == {"p%40ss", "p@ss"}
    assert (
        hide_credentials("role me failed with p@ss", "x://me:p%40ss@h") == "role me failed with ***"
    )


@pytest.mark.parametrize("split", ["Hunter2@word", "Hun@ter/22?word", "word:Hunter2@22"])
def test_no_part_of_a_password_that_a_driver_splits_is_shown(split: str) -> None:
    url = f"postgresql://me:{split}@db.example/dse"
    last = split.rpartition("@")[2]
    shown = hide_credentials(f"failed to resolve host '{last}@db.example'", url)
    assert "failed to resolve host '***" in shown and "***@db.example'" in shown
    assert not any(part in shown for part in ("Hun", "ter", "22", "word"))
    assert hide_credentials("no route to db.example", url) == "no route to db.example"


NO_URLS = ["", " ", "me:Hunter2@h", "postgresql://me:Hunter2@h:port/d", "postgresql://me:Hunter2"]
NO_URLS += ["postgresql://me:Hunter2@h1:1,h2:2/d", "postgresql://me:Hunter2@[::1:54771/d"]


@pytest.mark.parametrize("url", [*NO_URLS, "postgresql://me:Hunter2@word@h/d"])
def test_a_storage_that_is_not_a_url_is_refused_before_a_run(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        dse.load(written(tmp_path, f'[run]\nstorage = "{url}"\n'))
    (problem,) = raised.value.problems
    assert (problem.where, problem.message) == ("run.storage", "is not a database URL")
    assert "postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in problem.remedy
    assert "Hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "postgresql+psycopg://me:p%40ss/w:rd?@db.example:5432/dse",
        "postgresql+psycopg://me@[::1]:5432/dse?connect_timeout=3",
        "postgresql://db.example",
        "postgresql:///dse?host=/run&user=me",
        "sqlite://",
        "sqlite:////tmp/a b@c.db?timeout=20",
        "sqlite:///study.db",
        "mysql://me:***@db.example/dse",
    ],
)
def test_what_sqlalchemy_reads_is_a_url(url: str) -> None:
    sqlalchemy.make_url(url)
    assert url_problem(url) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "postgresql://me:Hunter2@db.example/dse"],
        ["run", "postgresql://me:Hunter2@db.example/dse"],
        ["explain", "postgresql://me:Hunter2@db.example/dse"],
        ["run", "study.toml", "--dask", "tcp://me:Hunter2@127.0.0.1:1"],
    ],
    ids=lambda arguments: arguments[0] + arguments[-2],
)
def test_no_password_of_an_argument_is_shown(arguments: list[str], tmp_path: Path) -> None:
    written(tmp_path)
    done = called(*arguments, cwd=tmp_path)
    told = done.stdout + done.stderr
    assert done.returncode == 2
    assert "***" in told and "Hunter2" not in told


def test_the_copy_of_a_study_is_reported_to_have_no_password(tmp_path: Path) -> None:
    added = '[run]\nstorage = "postgresql://me:***@127.0.0.1:1/dse"\n'
    study = dse.load(written(tmp_path, added))
    with pytest.raises(InputError, match="has no password: name the study itself"):
        run(study, tmp_path / "out")


def test_a_long_comment_with_signs_of_urls_is_read_in_linear_time(tmp_path: Path) -> None:
    dse.load(written(tmp_path, f"# @ {'x:/y:' * 20_000} {'x' * 100_000}\n"))
