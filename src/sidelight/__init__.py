"""Learn to predict structures from a few labels and whatever else is known about them.

Everything public is here: `from sidelight import CRF, word, read_columns`. Names are imported when first used, so that
`import sidelight` is instant.
"""

from importlib import import_module
from typing import Any

from .errors import did_you_mean
from .learners.registry import REGISTRY
from .rules import WORDS

__version__ = "0.1.0.dev0"

_HOME = {
    **{name: f"learners.{one.module}" for name, one in REGISTRY.items()},
    "WordAligner": "wordalign.aligner",
    "View": "learners.wrappers.agreement",
    "random_views": "learners.wrappers.agreement",
    "prefix_views": "learners.wrappers.agreement",
    "template_views": "learners.wrappers.agreement",
    "label_regularization": "learners.wrappers.generalized",
    "measurements": "learners.wrappers.posterior",
    "learn_from_projected": "transfer",
    "project_bitext": "transfer",
    "project_pairs": "transfer",
    "projected_heads": "transfer",
    "complete_at_random": "transfer",
    "label_shares": "inference.readings",
    "register_task": "learners.tasks",
    "Labelling": "learners.tasks.labelling",
    "Segmenting": "learners.tasks.segmenting",
    "Classifying": "learners.tasks.classifying",
    "PartsTask": "learners.tasks.parts",
    "Parsing": "learners.tasks.parsing",
    "Aligning": "learners.tasks.aligning",
    "Matching": "learners.tasks.matching",
    "GraphAligning": "learners.tasks.graph_aligning",
    "Sentence": "features.sentence_pairs",
    "Partial": "supervision",
    "Program": "learners.tasks.program",
    "Variables": "learners.tasks.program",
    "FlatStructure": "structures.flat",
    "FlatParts": "structures.flat",
    "Programs": "structures.programs",
    "ProgramRows": "structures.program_rows",
    "Alignments": "structures.alignments",
    "Matchings": "structures.matchings",
    "GraphAlignments": "structures.graph_alignments",
    "GraphRows": "structures.graph_alignments",
    "Graphs": "structures.graph_alignments",
    "Chain": "structures.chain",
    "ChainParts": "structures.chain",
    "Choice": "structures.choice",
    "ChoiceParts": "structures.choice",
    "Segmentation": "structures.segmentation",
    "SegmentParts": "structures.segmentation",
    "Trees": "structures.trees",
    "ValenceTrees": "structures.trees",
    "GOOD": "supervision",
    "BAD": "supervision",
    "TagDictionary": "dictionary",
    "InducedTemplates": "features.induced",
    "DEFAULT_TEMPLATES": "features.choose",
    "word": "features.columns",
    "pos": "features.columns",
    "column": "features.columns",
    "bias": "features.columns",
    "window": "features.columns",
    "parse": "features.columns",
    **{name: f"rules.{module}" for name, module in WORDS.items()},
    "when": "rules.conditions",
    "parse_rule": "rules.files",
    "read_rules": "rules.files",
    "read_words": "rules.files",
    "check": "inference.checking",
    "load": "model_file",
    "draw_training": "report.figures",
    "draw_posteriors": "report.figures",
    "draw_tree": "report.trees",
    "draw_arc_posteriors": "report.arc_posteriors",
    "draw_alignment": "report.alignments",
    "draw_link_posteriors": "report.link_posteriors",
    "generate_references": "demo.references",
    "GoldLinks": "data",
    "read_bitext": "data",
    "read_columns": "data",
    "read_conllu": "data",
    **dict.fromkeys(("Corpus", "read_corpus"), "data.corpus"),
    "write_corpus": "data.corpus_file",
    "read_jsonlines": "data",
    "read_links": "data",
    "read_pairs": "data",
    "read_text": "data",
    "read_trees": "data",
    "tokenize": "data",
    **dict.fromkeys(("read_table", "write_table", "read_docs", "write_docs"), "data"),
    **dict.fromkeys(("CharSpan", "char_spans", "read_spans", "token_offsets"), "data"),
    "write_columns": "data",
    "write_conllu": "data",
    "write_jsonlines": "data",
    "write_links": "data",
    "write_pairs": "data",
    "write_text": "data",
    "write_trees": "data",
    **dict.fromkeys(("shuffled", "transposed", "mismatched"), "data.companions"),
    "span_f1": "scoring",
    "flat_f1": "scoring",
    "token_accuracy": "metrics",
    "span_scores": "metrics",
    "label_scores": "metrics",
    "confusion": "metrics",
    "paired_t_test": "metrics",
    "tree_scores": "parts_metrics",
    "link_scores": "parts_metrics",
    "answer_scores": "parts_metrics",
    "ranking_scores": "parts_metrics",
    "alignment_scores": "parts_metrics",
    **dict.fromkeys(
        ("one_to_many", "one_to_one", "mutual_information", "variation_of_information", "labels_per_word"), "metrics"
    ),
    "SidelightError": "errors",
    "DataError": "errors",
    "ParameterError": "errors",
    "NotSupported": "errors",
    "Infeasible": "errors",
    "ClusterError": "errors",
    "running_on": "running",
    "checkpointing": "running.checkpoints",
    "ModelFileError": "errors",
    "WorseThanBase": "errors",
}
LEARNERS = tuple(REGISTRY)
__all__ = sorted([*_HOME, "LEARNERS", "__version__", "learners_by_name"])


# Names that were written otherwise once.
_FORMERLY = {"Codl": "CoDL", "Mira": "MIRA"}


def __getattr__(name: str) -> Any:
    name = _FORMERLY.get(name, name)
    if name not in _HOME:
        raise AttributeError(f"module 'sidelight' has no attribute {name!r}{did_you_mean(name, __all__)}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def learners_by_name() -> dict[str, Any]:
    """Return every learner class by its name.

    Returns
    -------
    dict of str to type
        The classes, in the order of `LEARNERS`.
    """
    return {name: __getattr__(name) for name in LEARNERS}
