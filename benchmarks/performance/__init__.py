"""What learners and their peers cost: seconds, memory and accuracy, each measurement in a process of its own.

`python -m benchmarks.performance --data DIR --results FILE` measures what FILE lacks and appends a line of JSON for
each measurement; `--write docs` makes the tables and plots of docs/performance.md from these lines alone. `plan` says
what is measured, `materials` on which data, `systems` with which learners and peers, `process` how; `page` shows it.
"""
