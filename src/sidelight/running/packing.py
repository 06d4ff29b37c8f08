"""Objects as bytes, for other processes: what pickle makes of them, with arrays as they lie in memory.

Arrays come back writable and aligned, as kernels were compiled for; those that some libraries hand over are neither.
Bytes travel only between processes of one run, and are never kept as files that another run reads.
"""

import pickle
import struct
from typing import Any

import numpy as np

# Arrays begin at multiples of this many bytes.
_ALIGNMENT = 64


def pack(value: Any) -> bytes:
    """Returns an object as bytes."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    pieces = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    sizes = [piece.nbytes for piece in pieces]
    out = [memoryview(struct.pack(f"<{len(sizes) + 1}q", len(sizes), *sizes))]
    at = out[0].nbytes
    for piece in pieces:
        out += [memoryview(bytes(-at % _ALIGNMENT)), piece]
        at += -at % _ALIGNMENT + piece.nbytes
    return b"".join(out)


def unpack(packed: Any) -> Any:
    """Returns the object that `pack` made bytes of; its arrays lie in memory of their own."""
    memory = np.frombuffer(packed, np.uint8).copy()
    (count,) = struct.unpack_from("<q", memory.data)
    sizes = struct.unpack_from(f"<{count}q", memory.data, 8)
    at, found = 8 * (count + 1), []
    for size in sizes:
        at += -at % _ALIGNMENT
        found.append(memory[at : at + size].data)
        at += size
    return pickle.loads(found[0], buffers=found[1:])
