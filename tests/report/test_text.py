from rich.console import Console

from sidelight.report.text import Run, join_words, label_runs, label_styles, labelled_text


def test_runs_end_where_label_or_mistake_changes() -> None:
    tokens = ["J", ".", "On", "graphs", "."]
    assert label_runs(tokens, ["a", "a", "t", "t", "t"], ["a", "a", "a", "t", "t"]) == [
        Run("a", None, ("J", ".")),
        Run("t", "a", ("On",)),
        Run("t", None, ("graphs", ".")),
    ]


def test_prefixed_labels_make_spans() -> None:
    assert [run.words for run in label_runs("abcd", ["B-NP", "I-NP", "B-NP", "O"])] == [("a", "b"), ("c",), ("d",)]


def test_tokens_with_columns_show_the_first() -> None:
    assert label_runs([("dog", "NN")], ["X"])[0].words == ("dog",)
    assert label_runs([{"w": "dog"}], ["X"])[0].words == ("dog",)


def test_plain_text_says_it_all() -> None:
    text = labelled_text(
        ["J", ".", "On", "it"], ["author", "author", "title", "title"], ["author", "author", None, "note"]
    )
    assert text.plain == "[author] J. [title] On [title ≠ note] it"


def test_brackets_are_not_markup() -> None:
    console = Console(width=80, force_terminal=False)
    with console.capture() as capture:
        console.print(labelled_text(["[bold]"], ["[red]"]))
    assert capture.get() == "[[red]] [bold]\n"


def test_every_label_has_its_colour() -> None:
    styles = label_styles(["B-NP", "I-NP", "O", "B-VP"])
    assert set(styles) == {"NP", "VP", "O"}
    assert styles["NP"] != styles["VP"]
    assert len(label_styles(map(str, range(40)))) == 41


def test_punctuation_is_glued() -> None:
    assert join_words(["6", "(", "5", ")", ":", "717-727", ","]) == "6 (5): 717-727,"
