"""A place like other processes: parts, what is shared and results are copies that went through pickle."""

import pickle
from collections import Counter
from contextlib import contextmanager

from sidelight.running import places


class Copies:
    """Work on copies; every call gets fresh ones of the parts, as after the death of a process, unless they are kept.

    sent, returned: bytes that went to the parts at each call, by the name of the work, and back.
    """

    def __init__(self, workers=3, *, kept=True):
        self.workers, self.kept = workers, kept
        self.sent, self.returned, self.held = Counter(), Counter(), 0

    def hold(self, parts, common):
        held = [pickle.dumps(part) for part in parts], pickle.dumps(common)
        self.held += sum(map(len, held[0])) + len(held[1])
        return [*held, [pickle.loads(one) for one in held[0]], pickle.loads(held[1])]

    def map(self, work, held, *more):
        among, (shared, _) = (more[0] if len(more) == 3 else range(len(held[0]))), more[-2:]
        for i in among:
            part, common = held[2][i], held[3]
            if not self.kept:
                part, common = pickle.loads(held[0][i]), pickle.loads(held[1])
            call = pickle.dumps((work, shared))
            work_there, shared_there = pickle.loads(call)
            found = pickle.dumps(work_there(part, common, *shared_there))
            self.sent[work.__qualname__] += len(call)
            self.returned[work.__qualname__] += len(found)
            yield pickle.loads(found)


@contextmanager
def running_on_copies(**options):
    place = Copies(**options)
    token = places._current.set(place)
    try:
        yield place
    finally:
        places._current.reset(token)
