import pytest

from sidelight import DataError, GoldLinks, read_bitext, read_links, write_links

PAIRS = [(["the", "house"], ["la", "maison"]), (["yes"], ["oui"])]


def test_sides_are_read_line_by_line(tmp_path):
    (tmp_path / "e").write_text("the house\nyes\n")
    (tmp_path / "f").write_text("la maison\r\noui\r\n")
    assert read_bitext(tmp_path / "e", tmp_path / "f") == PAIRS


def test_sides_of_unequal_length_name_the_line(tmp_path):
    (tmp_path / "e").write_text("a\nb\nc\n")
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(DataError, match=r"e:2: there is no line with this number in .*f, which has 1 lines while .* 3"):
        read_bitext(tmp_path / "e", tmp_path / "f")
    with pytest.raises(DataError, match=r"e:2: there is no line"):
        read_bitext(tmp_path / "f", tmp_path / "e")


def test_empty_lines_are_kept_and_named():
    with pytest.warns(UserWarning, match=r"2 pairs have an empty side and get no links \(line 2, 3\)"):
        assert read_bitext(["a", "", "b"], ["x", "y", " "]) == [(["a"], ["x"]), ([], ["y"]), (["b"], [])]


def test_missing_files_are_named():
    with pytest.raises(DataError, match=r"nowhere.e: cannot read: it does not exist"):
        read_bitext("nowhere.e", "nowhere.f")


@pytest.mark.parametrize(("format", "text"), [("pharaoh", "0-0 1-1\n0-0\n"), ("naacl", "1 1 1\n1 2 2\n2 1 1\n")])
def test_links_are_written_and_read(tmp_path, format, text):
    links = [[(0, 0), (1, 1)], [(0, 0)]]
    write_links(tmp_path / "links", links, format)
    assert (tmp_path / "links").read_text() == text
    for said in (format, None):
        assert [sorted(one.sure) for one in read_links(tmp_path / "links", PAIRS, said)] == links


def test_possible_links():
    gold = [GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0), (1, 0)})), GoldLinks()]
    assert read_links(["0-0 1?0", ""], PAIRS) == gold
    assert read_links(["0-0 1p0", ""], PAIRS) == gold
    assert read_links(["1 1 1 S 0.9", "", "1 2 1 P"], PAIRS) == gold


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["0-0 2-1", ""],
            r":1: the link 2 1 is out of range: pair 0 has 2 source and 2 target words, .* counts from 0",
        ),
        (
            ["1 1 1", "2 1 2"],
            r":2: the link 1 2 is out of range: pair 1 has 1 source and 1 target words, .* counts from 1",
        ),
        (["1 0 1"], r":1: the link 0 1 is out of range"),
        (["3 1 1"], r":1: there is no sentence pair of this number, which counts from 1; there are 2"),
        (["1 1"], r":1: expected `pair source target`"),
        (["0-0", "0:0"], r":2: expected links such as 0-0"),
        (["0-0"], r":2: there are 1 lines of links and 2 sentence pairs"),
    ],
)
def test_wrong_links_are_named(lines, message):
    with pytest.raises(DataError, match=message):
        read_links(lines, PAIRS)


def test_unknown_formats_are_refused(tmp_path):
    with pytest.raises(DataError, match="'pharaoh' or 'naacl', not 'moses'"):
        write_links(tmp_path / "links", [], "moses")
