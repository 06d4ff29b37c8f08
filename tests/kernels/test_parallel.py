import multiprocessing
import os
from itertools import pairwise
from threading import current_thread, main_thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sidelight.kernels import parallel
from sidelight.kernels.parallel import map_each, map_shards, shards, stop_event, thread_count


def test_shards_cover_all_sequences_in_order_and_share_the_tokens():
    offsets = np.concatenate(([0], np.cumsum(np.random.default_rng(0).integers(1, 40, size=500))))
    ranges = shards(offsets)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 500
    assert all(a[1] == b[0] for a, b in pairwise(ranges))
    tokens = [offsets[b] - offsets[a] for a, b in ranges]
    assert max(tokens) - min(tokens) <= 2 * 40
    assert shards(np.array([0, 5, 9])) == [(0, 2)]


def test_linear_algebra_has_one_thread_for_a_while():
    def threads():
        return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        before = threads()
        with parallel.one_blas_thread():
            assert threads() == {1}
        assert threads() == before


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 40])
def test_results_come_in_shard_order_and_shards_do_not_depend_on_the_threads(n_jobs):
    offsets = np.arange(0, 9001, 10)
    assert len(shards(offsets)) == 8
    assert map_shards(lambda a, b: (a, b), offsets, n_jobs) == shards(offsets)


@pytest.mark.parametrize(("tokens", "here"), [(3990, True), (4000, False)])
def test_threads_are_for_batches_that_are_worth_them(tokens, here):
    used = map_shards(lambda a, b: current_thread(), np.arange(0, tokens + 1, 10), 2)
    assert len(used) > 1
    assert {thread is main_thread() for thread in used} == {here}


@pytest.mark.parametrize("tokens", [900, 2500, 7900, 12_345, 500_000])
def test_two_four_or_eight_threads_have_equally_many_shards(tokens):
    count = len(shards(np.arange(0, tokens + 1, 5)))
    assert count == 1 << (count.bit_length() - 1) <= 16
    assert count * 1000 <= max(tokens, 1000)


def test_interrupted_work_is_asked_to_end():
    seen = []

    def wait(item):
        seen.append(stop_event())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_each(wait, [0], 1)
    assert seen[0].is_set()
    assert not stop_event().is_set()  # of this thread
    assert not parallel._pool(1).submit(lambda: stop_event().is_set()).result()  # nor of later work


def test_threads_are_counted_as_scikit_learn_does():
    assert thread_count(None) == 1
    assert thread_count(3) == 3
    assert thread_count(-1) >= thread_count(-2) >= 1


def _in_child(queue):
    offsets = np.arange(0, 9001, 10)
    queue.put(sum(b - a for a, b in map_shards(lambda a, b: (a, b), offsets, 2)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_threads_work_in_a_forked_process():
    map_shards(lambda a, b: None, np.arange(0, 9001, 10), 2)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert queue.get() == 900
