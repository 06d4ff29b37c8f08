import io
import os
import stat
import sys
import threading
import zipfile

import pytest

from sidelight.data.source import open_for_writing, read_lines
from sidelight.errors import DataError


def stdin_of(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="ascii"))


@pytest.mark.parametrize(
    "content",
    [b"a b\nc\xc3\xa9\n", b"a b\r\nc\xc3\xa9\r\n", b"a b\nc\xc3\xa9", b"\xef\xbb\xbfa b\nc\xc3\xa9\n"],
    ids=["unix", "windows", "no newline at the end", "byte order mark"],
)
def test_every_kind_of_source_gives_the_same_lines(tmp_path, monkeypatch, content):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    stdin_of(monkeypatch, content)
    expected = ["a b", "cé"]
    assert read_lines(path).lines == expected
    assert read_lines(str(path)).lines == expected
    assert read_lines("-").lines == expected
    assert read_lines(io.BytesIO(content)).lines == expected
    assert read_lines(io.StringIO(content.decode(), newline="")).lines == expected
    assert read_lines(content.decode().splitlines(keepends=True)).lines == expected
    with open(path, encoding="utf-8") as file:
        assert read_lines(file).lines == expected


def test_standard_input_without_bytes(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("é\nb\n"))
    assert read_lines("-") == ("<standard input>", ["é", "b"], 1)


def test_only_line_feeds_end_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\u2028b\x0cc\u0085d\n\ne\n", encoding="utf-8")
    assert read_lines(path).lines == ["a\u2028b\x0cc\u0085d", "", "e"]


def test_empty_file_has_no_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"")
    assert read_lines(path).lines == []


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.txt: cannot read: it does not exist; check the path"):
        read_lines(tmp_path / "nowhere.txt")


def test_folder_instead_of_file(tmp_path):
    with pytest.raises(DataError, match="cannot read: Is a directory"):
        read_lines(tmp_path)


BAD = b"fine\nalso fine\ncaf\xe9 noir\n"
BAD_MESSAGE = r":3: expected UTF-8, got byte 0xe9 at offset 18; convert the file first.*ISO-8859-1"


def test_other_encodings_are_refused_with_line_and_offset(tmp_path, monkeypatch):
    path = tmp_path / "latin.txt"
    path.write_bytes(BAD)
    stdin_of(monkeypatch, BAD)
    with pytest.raises(DataError, match=r"latin\.txt" + BAD_MESSAGE):
        read_lines(path)
    with pytest.raises(DataError, match="<standard input>" + BAD_MESSAGE):
        read_lines("-")
    with (
        open(path, encoding="utf-8") as file,
        pytest.raises(DataError, match=r"latin\.txt" + BAD_MESSAGE),
    ):
        read_lines(file)


def test_offset_counts_the_byte_order_mark(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfa\n\xff\n")
    with pytest.raises(DataError, match=r"a\.txt:2: .* 0xff at offset 5;"):
        read_lines(path)


def test_utf16_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("a b".encode("utf-16"))
    with pytest.raises(DataError, match="iconv -f UTF-16"):
        read_lines(path)


def test_lines_must_be_text():
    with pytest.raises(DataError, match="<lines>:2: expected a line of text, got list"):
        read_lines(["a", ["b"]])  # type: ignore[list-item]


def test_writing_replaces_the_whole_file_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old and long")
    path.chmod(0o640)
    with open_for_writing(path) as file:
        file.write("né\n")
        assert path.read_text() == "old and long"
    assert path.read_bytes() == "né\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.txt"]


def test_new_files_get_the_usual_permissions(tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    with open_for_writing(tmp_path / "a", binary=True) as file:
        file.write(b"\x00\r\n")
    assert (tmp_path / "a").read_bytes() == b"\x00\r\n"
    assert (tmp_path / "a").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail_half_way():
        with open_for_writing(path) as file:
            file.write("new")
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_disk_full_is_a_data_error_and_errors_about_other_files_are_not_ours(tmp_path):
    path = tmp_path / "a.txt"
    with (
        pytest.raises(DataError, match=r"a\.txt: cannot write: No space left"),
        open_for_writing(path),
    ):
        raise OSError(28, "No space left on device")
    with pytest.raises(FileNotFoundError), open_for_writing(path):
        (tmp_path / "other").read_text()
    assert os.listdir(tmp_path) == []


def test_characters_without_utf8_form(tmp_path):
    with (
        pytest.raises(DataError, match=r"a\.txt: cannot write '\\ud800' as UTF-8"),
        open_for_writing(tmp_path / "a.txt") as file,
    ):
        file.write("a\ud800b")
    assert os.listdir(tmp_path) == []


def test_links_stay_links(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with open_for_writing(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_written_to_and_stay(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(path.read_text()))
    reader.start()
    with open_for_writing(path) as file:
        file.write("through")
    reader.join()
    assert received == ["through"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_missing_folder(tmp_path):
    with (
        pytest.raises(DataError, match=r"a\.txt: cannot write: its folder does not exist"),
        open_for_writing(tmp_path / "none" / "a.txt"),
    ):
        pass


def test_folder_as_target(tmp_path):
    with pytest.raises(DataError, match="it is a folder; give the name of a file"):
        open_for_writing(tmp_path)


def test_unwritable_folder(tmp_path, monkeypatch):
    # Permissions do not stop the superuser, so the operating system's answer is imitated.
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", args[0])

    monkeypatch.setattr(os, "open", refuse)
    with (
        pytest.raises(DataError, match=r"a\.txt: cannot write: Permission denied; check the path"),
        open_for_writing(tmp_path / "a.txt"),
    ):
        pass


def test_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(DataError, match="the file is read-only"), open_for_writing(path) as file:
        file.write("new")
    assert path.read_text() == "old"


def test_standard_output_is_utf8_and_stays_open(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    print("first")
    with open_for_writing("-") as text:
        text.write("né\n")
    with open_for_writing("-", binary=True) as file:
        file.write(b"\xff\n")
    print("last")
    sys.stdout.flush()
    assert buffer.getvalue() == b"first\nn\xc3\xa9\n\xff\nlast\n"


def test_text_only_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with open_for_writing("-") as file:
        file.write("né")
    assert sys.stdout.getvalue() == "né"
    with pytest.raises(DataError, match="standard output takes text only"), open_for_writing("-", binary=True):
        pass


def test_open_files_are_passed_on_and_left_open():
    target = io.StringIO()
    with open_for_writing(target) as file:
        file.write("a")
    target.write("b")
    assert target.getvalue() == "ab"


def test_temporary_files_of_killed_runs_are_swept(tmp_path):
    old, young = (tmp_path / f".m.{token * 6}.tmp" for token in ("a1", "b2"))
    others = [tmp_path / name for name in (".other.a1a1a1a1a1a1.tmp", ".m.tmp", "m.a1a1a1a1a1a1.tmp", ".m.a1a1.tmp")]
    for path in (old, young, *others):
        path.write_text("x")
    for path in (old, *others):
        os.utime(path, (0, 0))
    with open_for_writing(tmp_path / "m") as file:
        file.write("y")
    assert not old.exists()
    assert young.exists()
    assert all(path.exists() for path in others)


def test_archives_are_no_text(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.model", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", bytes(range(256)) * 9)
    with pytest.raises(DataError, match="expected text, got an archive such as a model file is"):
        read_lines(tmp_path / "m.model")
