"""Makes the weights of the reader of tool definitions anew, and says how it does on writers that it has not read.

The corpus lies with the tests: definitions by many writers, poisoned and honest. Each figure that is printed comes
from weights that were learned from the other writers alone; the weights that are kept are learned from all of them but
those that the tests hold back. More honest definitions can be named: lists of real servers, which are not ours to
keep here.

    make learn HONEST="lists/*.json"
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from interlock.core.poison.pieces import KINDS, ROOM, Pieces, together
from interlock.core.poison.reader import DOUBTFUL, POISONED, Header, written
from interlock.core.poison.reader import learned as before
from interlock.core.poison.scan import scan
from interlock.core.poison.sentences import sentences_of
from interlock.core.poison.setting import setting_of
from interlock.core.poison.signs import CERTAIN, SOUNDS_POISONED
from interlock.core.poison.texts import Walk
from tests.core.poison.corpus_reading import HELD_BACK, WRITERS, digest, tools

WEIGHTS = Path("src/interlock/core/poison/weights.bin")
FOLDS = 5
ROUNDS = 3


class Definitions:
    """Some definitions, as rows of pieces: one for each definition, and one for each of its sentences."""

    def __init__(self, definitions: Iterable[dict]) -> None:
        kept = list(definitions)
        read = [sentences_of(Walk().texts(each), setting_of(each)) for each in kept]
        self.count = len(kept)
        self.whole = rows([together([one.pieces for one in each]) for each in read])
        self.single = rows([one.pieces for each in read for one in each])
        self.owner = np.array([at for at, each in enumerate(read) for _ in each])
        self.certain, self.pattern = signs_of(kept)

    def worst(self, scores: np.ndarray) -> np.ndarray:
        """The highest score of a sentence, for each definition."""
        highest = np.full(self.count, -20.0)
        np.maximum.at(highest, self.owner, scores)
        return highest


def signs_of(definitions: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """For each definition whether a certain sign is in it, and whether a pattern found something."""
    found = [{each.code for each in scan(one) if each.hard} - {SOUNDS_POISONED} for one in definitions]
    return np.array([bool(each & CERTAIN) for each in found]), np.array([bool(each) for each in found])


def rows(pieces: list[Pieces]) -> sparse.csr_matrix:
    """A matrix in which each kind of a row has the length one."""
    starts, at, values = [0], [], []
    for each in pieces:
        for counts in (Counter(each[kind]) for kind in KINDS):
            amounts = 1 + np.log(np.fromiter(counts.values(), float, len(counts)))
            at.append(np.fromiter(counts.keys(), np.int64, len(counts)))
            values.append(amounts / np.sqrt(np.square(amounts).sum()) if len(counts) else amounts)
        starts.append(starts[-1] + sum(map(len, at[-len(KINDS) :])))
    matrix = sparse.csr_matrix((np.concatenate(values), np.concatenate(at), starts), shape=(len(pieces), ROOM))
    matrix.sum_duplicates()
    return matrix


def fitted(poisoned: sparse.csr_matrix, honest: sparse.csr_matrix) -> LogisticRegression:
    learner = LogisticRegression(C=20, max_iter=60, class_weight="balanced", solver="liblinear", tol=1e-3)
    labels = np.r_[np.ones(poisoned.shape[0]), np.zeros(honest.shape[0])]
    return learner.fit(sparse.vstack([poisoned, honest]), labels)


def learned(poisoned: list[Definitions], honest: list[Definitions]) -> tuple[LogisticRegression, LogisticRegression]:
    """Judgements of whole definitions, and of sentences.

    Nobody has marked the sentence of a poisoned definition that is the poison. So at first it is the one that the
    judgement of whole definitions likes least, and then the one that the judgement of sentences does.
    """
    whole = fitted(sparse.vstack([each.whole for each in poisoned]), sparse.vstack([each.whole for each in honest]))
    rest, single = sparse.vstack([each.single for each in honest]), whole
    for _ in range(ROUNDS - 1):
        chosen = []
        for each in poisoned:
            scores = single.decision_function(each.single)
            chosen.append(each.single[scores >= each.worst(scores)[each.owner]])
        single = fitted(sparse.vstack(chosen), rest)
    return whole, single


def sums(judgements: tuple[LogisticRegression, LogisticRegression], of: Definitions) -> np.ndarray:
    whole, single = judgements
    return whole.decision_function(of.whole) + of.worst(single.decision_function(of.single))


def stopped(score: np.ndarray, of: Definitions) -> np.ndarray:
    return (score >= POISONED) | of.certain | (of.pattern & (score >= DOUBTFUL))


def figures(corpus: dict[str, tuple[Definitions, Definitions]], more: list[Definitions]) -> None:
    """Prints what is found of each writer by weights that were learned from others."""
    found = missed = wrong = right = 0
    names = sorted(corpus)
    for fold in range(FOLDS):
        others = [corpus[name] for at, name in enumerate(names) if at % FOLDS != fold]
        judgements = learned([each for each, _ in others], [*(each for _, each in others), *more])
        for name in names[fold::FOLDS]:
            poisoned, honest = (stopped(sums(judgements, each), each) for each in corpus[name])
            print(
                f"{name:4} found {poisoned.mean():6.1%} of {len(poisoned)}, wrong {honest.mean():6.1%} of {len(honest)}"
            )
            found, missed = found + poisoned.sum(), missed + (~poisoned).sum()
            wrong, right = wrong + honest.sum(), right + (~honest).sum()
    print(f"{'all':4} found {found / (found + missed):6.1%}, wrong {wrong / (wrong + right):6.1%}")


def kept(judgement: LogisticRegression) -> tuple[float, float, bytes]:
    """The step, what is added, and the table of a judgement."""
    weights = judgement.coef_[0]
    step = float(np.abs(weights).max() / 127)
    return step, float(judgement.intercept_[0]), np.rint(weights / step).astype(np.int8).tobytes()


def without_opinion() -> None:
    """Weights that believe every pattern and find nothing: what is learned must not hang on what was learned before."""
    WEIGHTS.write_bytes(written(Header("", (0.0, 0.0), (0.0, 0.0)), bytes(2 * ROOM)))
    before.cache_clear()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("honest", nargs="*", type=Path, help="JSON files with lists of tools that are honest")
    asked.add_argument("--no-figures", action="store_true", help="only make the weights")
    options = asked.parse_args()
    without_opinion()
    corpus = {name: (Definitions(tools(name, "poisoned")), Definitions(tools(name, "benign"))) for name in WRITERS}
    more = [Definitions(listed) for listed in (tools_in(file) for file in options.honest) if listed]
    if not options.no_figures:
        figures(corpus, more)
    taught = {name: each for name, each in corpus.items() if name not in HELD_BACK}
    judgements = learned([each for each, _ in taught.values()], [*(each for _, each in taught.values()), *more])
    for name in HELD_BACK:
        poisoned, honest = (stopped(sums(judgements, each), each) for each in corpus[name])
        print(f"held back: {name} found {poisoned.mean():.1%}, wrong {honest.mean():.1%}")
    (step, added, table), (step_, added_, table_) = map(kept, judgements)
    WEIGHTS.write_bytes(written(Header(digest(), (step, step_), (added, added_)), table + table_))
    print(f"{WEIGHTS}: {WEIGHTS.stat().st_size // 1024} KiB", file=sys.stderr)


def tools_in(file: Path) -> list[dict]:
    content = json.loads(file.read_text(encoding="utf-8"))
    content = content.get("result", content) if isinstance(content, dict) else content
    return content.get("tools", []) if isinstance(content, dict) else content


if __name__ == "__main__":
    main()
