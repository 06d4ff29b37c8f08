"""Alignments of two graphs against a list of all points of the rows."""

import numpy as np
import pytest

from sidelight import DataError, GraphAlignments, GraphRows, Graphs, Infeasible, Matchings, NotSupported, Programs
from sidelight.features.parts import shape_array
from sidelight.structures import graph_alignments, highs
from sidelight.structures.flat import FlatParts

from ..structure_kit import check_argmax, check_kbest, enumerate_outputs

NO_EDGES = np.empty((0, 2), np.int64)


def edges(*pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


def every_link(n, m):
    return np.argwhere(np.ones((n, m)))


def random_tree(rng, words):
    return edges(*[(rng.integers(child), child) for child in range(1, words)])


def random_rows(rng, most=14, **options):
    """Small graphs with some of the links; with all of them where words must be linked."""
    while True:
        n, m = rng.integers(1, 4, size=2)
        links = every_link(n, m)
        if options.get("null_words", True):
            links = links[rng.random(len(links)) < 0.8]
        rows = GraphRows(Graphs(n, m, links, random_tree(rng, n), random_tree(rng, m), **options))
        if 1 <= rows.variables <= most:
            return rows


def batch(values, rows):
    offsets = np.concatenate(([0], np.cumsum([one.variables for one in rows]))).astype(np.int64)
    return FlatParts(np.asarray(values, float), offsets, shape_array([one.shape for one in rows]))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("options", [{}, {"null_words": False}, {"null_relations": False}])
def test_alignments_are_those_of_the_enumeration(seed, options):
    """Of the rows of the program, of which the search knows nothing; whole scores tie."""
    rng = np.random.default_rng(seed)
    rows = [random_rows(rng, **options) for _ in range(3)]
    size = sum(one.variables for one in rows)
    scores = batch(rng.integers(-2, 3, size) if seed % 2 else 2 * rng.normal(size=size), rows)
    structure = GraphAlignments(1)
    listed = [enumerate_outputs(structure, scores, i) for i in range(3)]
    check_argmax(structure, scores, listed)
    if seed < 4:
        check_kbest(structure, scores, listed, 3)


@pytest.mark.parametrize("seed", range(6))
def test_larger_graphs_beside_the_integer_program(seed):
    """Edges that matter more than words, so that shares alone leave a gap."""
    rng = np.random.default_rng(seed)
    graphs = Graphs(6, 5, every_link(6, 5), random_tree(rng, 6), random_tree(rng, 5))
    rows = GraphRows(graphs)
    values = np.where(np.arange(rows.variables) < graphs.places[2], 1.0, 3.0) * rng.normal(size=rows.variables)
    mine, highs_own = (structure.solve(values, rows.shape) for structure in (GraphAlignments(1), Programs(1)))
    assert mine.exact
    assert mine.scores[0] == pytest.approx(highs_own.scores[0])
    assert values[mine.values[0]].sum() == pytest.approx(mine.scores[0])
    assert not rows.broken(mine.values[0])
    small = GraphAlignments(1).solve(1e-4 * values, rows.shape)
    assert small.exact
    assert small.scores[0] == pytest.approx(1e-4 * highs_own.scores[0], rel=1e-6)


def test_no_solver_is_needed_and_without_edges_it_is_a_matching(monkeypatch):
    monkeypatch.setattr(highs, "solve", None)
    rng = np.random.default_rng(0)
    rows = GraphRows(Graphs(4, 3, every_link(4, 3), NO_EDGES, NO_EDGES))
    values = rng.normal(size=rows.variables)
    best = GraphAlignments(1).argmax(batch(values, [rows]))
    matching = Matchings(1).argmax(FlatParts(values, np.array([0, len(values)]), np.array([[4, 3, 1]])))
    assert best.scores[0] == pytest.approx(matching.scores[0])
    chosen = rows.graphs.links[best.outputs.values[:12] > 0]
    assert [j if j < 3 else None for j in matching.outputs.values] == [dict(chosen.tolist()).get(i) for i in range(4)]


def test_an_edge_can_outweigh_words():
    """The second word alone would be linked otherwise."""
    rows = GraphRows(Graphs(2, 3, every_link(2, 3), edges((0, 1)), edges((0, 2))))
    scores = dict.fromkeys(rows.names, 0.0)
    scores |= {("word", 0, 0): 1.0, ("word", 1, 1): 1.0, ("word", 1, 2): 0.5}
    plain = GraphAlignments(1).solve(np.array(list(scores.values())), rows.shape)
    scores["edge", (0, 1), (0, 2)] = 1.0
    with_edge = GraphAlignments(1).solve(np.array(list(scores.values())), rows.shape)
    names = [[name for name, on in zip(rows.names, one.values[0], strict=True) if on] for one in (plain, with_edge)]
    assert ("word", 1, 1) in names[0]
    assert ("word", 1, 2) in names[1]
    assert ("edge", (0, 1), (0, 2)) in names[1]
    assert ("edge", (0, 1), None) in names[0]


def test_forbidden_variables():
    """Links, deletions, and edges, which only HiGHS takes into account."""
    rows = GraphRows(Graphs(2, 2, every_link(2, 2), edges((0, 1)), edges((0, 1))))
    for name in (("word", 0, 0), ("word", 0, None), ("edge", (0, 1), (0, 1)), ("edge", (0, 1), None)):
        values = np.random.default_rng(1).normal(size=rows.variables) + 1.0
        values[rows.names.index(name)] = -np.inf
        scores = batch(values, [rows])
        check_argmax(GraphAlignments(1), scores, [enumerate_outputs(GraphAlignments(1), scores, 0)])


def test_infeasible_programs_name_the_rows():
    rows = GraphRows(Graphs(1, 2, every_link(1, 2), NO_EDGES, NO_EDGES, null_words=False))
    with pytest.raises(Infeasible, match="sequence 0 has no output that satisfies 'word 0 of the source' without"):
        GraphAlignments(1).argmax(batch([-np.inf, -np.inf], [rows]))
    with pytest.raises(NotSupported, match="no tractable marginals"):
        GraphAlignments(1).marginals(batch([0.0, 0.0], [rows]))


def test_a_time_limit_gives_the_best_found_and_a_bound(monkeypatch):
    """After one node the rest is left to HiGHS, which has no time to prove anything."""
    rng = np.random.default_rng(3)
    graphs = Graphs(12, 12, every_link(12, 12), random_tree(rng, 12), random_tree(rng, 12))
    rows = GraphRows(graphs)
    values = np.where(np.arange(rows.variables) < graphs.places[2], 0.1, 1.0) * rng.normal(size=rows.variables)
    monkeypatch.setattr(graph_alignments, "_NODES", 1)
    best = GraphAlignments(1, time_limit=1e-4).argmax(batch(values, [rows]))
    assert not best.exact
    assert best.bound[0] > best.scores[0]
    assert not rows.broken(best.outputs.values)


@pytest.mark.parametrize(
    ("n", "m", "source", "target", "message"),
    [
        (0, 1, (), (), "no words"),
        (2, 1, ((0, 2),), (), r"the edge \(0, 2\) of the source is out of range: it has 2 words"),
        (1, 2, (), ((-1, 0),), r"the edge \(-1, 0\) of the target is out of range"),
        (2, 1, ((1, 1),), (), "leads from a word to itself"),
        (1, 2, (), ((0, 1), (0, 1)), r"the target has the edge \(0, 1\) twice"),
    ],
)
def test_graphs_that_are_none(n, m, source, target, message):
    with pytest.raises(DataError, match=message):
        Graphs(n, m, np.empty((0, 2), np.int64), edges(*source), edges(*target))
