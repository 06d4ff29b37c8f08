"""Where work runs: in threads of this process, or in processes of joblib, Dask or Ray; and how it survives.

Learners cut their data into parts, `scatter` them once, and map functions over them: a function takes a part and what
changes from call to call, such as weights or prices, and returns sums. Nothing else crosses this line, so the same code
runs everywhere. `running_on` says where.

Loops save where they stand (`checkpoints`), and end early if they are asked to (`stopping`).
"""

from .places import Scattered, running_on, scatter, shards

__all__ = ["Scattered", "running_on", "scatter", "shards"]
