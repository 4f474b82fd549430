"""Fine-tuned text classifiers as members: deep ensembles, or one network under E dropout masks.

Every fit starts again from the pretrained weights. Members of an ensemble differ in the first weights of their
head, their order of batches and their validation split; members of MC-dropout are masks of one trained network,
each shared by every text (see `bemps.models._torch.dropout_masks`).
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.extras import requires_extra
from bemps.checks import within
from bemps.errors import InputError
from bemps.limits import current_limits
from bemps.models.base import Items, NotFitted, fit_members, take
from bemps.models.encoders.feature_cache import CachedEncoder
from bemps.models.ensembling import RESAMPLERS, check_choices, likelihood_weights, temperature_and_likelihood
from bemps.models.validation_splits import Split, SplitPlan, Validation, plan_splits
from bemps.types import Array

with requires_extra("finetune", "a fine-tuned text classifier"):
    from torch import nn

    from bemps.models._torch.checkpoints import Tensors
    from bemps.models._torch.devices import pick_device, torch_threads
    from bemps.models._torch.training_loop import History, TrainingRecipe, load_trainable_state
    from bemps.models.encoders.text_encoder import TextEncoder
    from bemps.models.text.adapted_surprisal import AdaptedSurprisal
    from bemps.models.text.fitted_text import FittedText, Member, Report
    from bemps.models.text.partial_finetuning import PartialBackbone
    from bemps.models.text.pretrained import MINILM
    from bemps.models.text.surprisal import Surprisal, has_language_model
    from bemps.models.text.text_networks import Backbone, Network, WholeBackbone, has_dropout
    from bemps.models.text.text_training import LabelledInputs, train_network
    from bemps.models.text.tokens import NetworkInputs, Progress, check_texts

# What suits a set of weights better than the paper's recipe for DistilBERT; measured in docs/appendices/speed.md.
RECIPES = {MINILM: TrainingRecipe(learning_rate=1e-4)}
PARTIAL_RECIPES = {MINILM: TrainingRecipe(learning_rate=3e-4)}
HEADS = {MINILM: "mean"}


class TextClassifier:
    """A pretrained transformer, fine-tuned on the labelled texts.

    Parameters
    ----------
    name : str or Path
        `minilm` (works offline), a local folder, or a hub name (the paper: `distilbert-base-uncased`).
    members : int
        E, the number of members.
    posterior : {"ensemble", "dropout"}
        E networks, or one network under E masks through all layers that learn.
    validation : {"none", "dynamic", "constant"} or Fixed
        The labels that early stopping, `calibrate` and `weighting="likelihood"` use.
        "none" trains all epochs of the recipe.
    resample : {"none", "dirichlet", "bootstrap"}
        How labels weigh in each network; "dirichlet" is the Bayesian bootstrap.
    calibrate : bool
        Whether each member's temperature is fitted on its validation part.
    weighting : {"uniform", "likelihood"}
        How members weigh: alike, or by the likelihood of their validation parts.
    recipe : TrainingRecipe, optional
        How to train. None takes the recipe of the weights if they have one, else the paper's.
    head : {"own", "mean"}, optional
        The head of the architecture, or the mean over the tokens. None is "mean" for `minilm`, else "own".
    dropout : float, optional
        One rate for every dropout. None keeps the rates of the weights.
    top_layers : int, optional
        How many layers learn; the states below them are cached. None: all learn.
    learn_words : bool
        Whether the vectors of the words learn. Without them training takes a fifth less time.
    cache : path, optional
        Folder for what is computed once (tokens, states, embeddings, an adapted head). None takes a temporary folder
        and tokenises every time.
    max_length : int
        Tokens of a text that are read.
    batch_size : int
        Texts in a step of training.
    device : str, optional
        The torch device. None takes CUDA where there is one.
    checkpoints : path, optional
        Folder of this model alone. An interrupted fit, called again, continues after the last epoch.
    pool : sequence of str, optional
        All unlabelled texts; `see_pool` can give them later. Where the weights have no masked language model,
        surprisal vectors need them to adapt one (`bemps.models.text.adapted_surprisal`).
    progress : function, optional
        Called with (task, done, total).
    """

    def __init__(
        self,
        name: str | Path = MINILM,
        *,
        members: int = 5,
        posterior: str = "ensemble",
        validation: Validation = "dynamic",
        resample: str = "none",
        calibrate: bool = False,
        weighting: str = "uniform",
        recipe: TrainingRecipe | None = None,
        head: str | None = None,
        dropout: float | None = None,
        top_layers: int | None = None,
        learn_words: bool = True,
        cache: Path | str | None = None,
        max_length: int = 128,
        batch_size: int = 16,
        device: str | None = None,
        checkpoints: Path | str | None = None,
        pool: Items | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.name, self.members, self.posterior, self.validation = name, members, posterior, validation
        self.resample, self.calibrate, self.weighting, self.recipe = resample, calibrate, weighting, recipe
        self.head, self.dropout, self.top_layers, self.cache = head, dropout, top_layers, cache
        self.max_length, self.batch_size, self.device = max_length, batch_size, device
        self.learn_words = learn_words
        self.checkpoints, self.pool, self.progress = checkpoints, pool, progress
        self._check()
        self.fitted_: FittedText | None = None
        self._backbone: Backbone | None = None
        self._encoder: CachedEncoder | None = None
        self._surprisal: Surprisal | None = None
        self._round: Path | None = None

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "TextClassifier":
        """Fine-tune from the pretrained weights; a network that diverges is tried once more.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        TextClassifier
            The model itself.

        Raises
        ------
        Diverged
            A network diverged twice.
        """
        self.fitted_ = None
        networks = self.members if self.posterior == "ensemble" else 1
        plan = plan_splits(self.validation, check_texts(items), labels, classes=classes, members=networks, rng=rng)
        with torch_threads(current_limits().threads):
            answering = self._answering_network(len(classes))
            inputs, folder = self._inputs(plan.items), self._begin_round(plan, len(classes))

            def fit_one(e: int, member_rng: np.random.Generator) -> Member:
                return self._train(e, plan, inputs, K=len(classes), folder=folder, rng=member_rng)

            trained = fit_members(networks, fit_one, rng)
            members = self._masks_of(trained[0], rng) if self.posterior == "dropout" else trained
            self.fitted_ = self._validated(FittedText(answering, members, len(classes), self.max_length), plan)
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
        fitted = self._fitted()
        with torch_threads(current_limits().threads):
            return fitted.probs(self._inputs(items), self._reporter)

    def features(self, items: Items) -> Float[Array, "N D"]:
        """What goes into the last layer, without dropout.

        The vectors of all networks stand side by side, divided by their number's root: the inner product of two rows
        is the mean over the networks of the inner products of their vectors.
        """
        fitted = self._fitted()
        with torch_threads(current_limits().threads):
            return fitted.features(self._inputs(items))

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """Mean over the tokens of the last layer of the pretrained weights, of norm one; each text is read once."""
        if self._encoder is None:
            encoder = TextEncoder(self.name, max_length=self.max_length, device=self.device, progress=self.progress)
            self._encoder = CachedEncoder(encoder, self._cache("embeddings"))
        return self._encoder.embeddings(check_texts(items))

    def prepare(self, items: Items) -> None:
        """Read the texts, up to the layers that learn, into `cache`: later models with that folder find them there."""
        with torch_threads(current_limits().threads):
            self._inputs(items)

    def surprisal(self, items: Items) -> Float[Array, "N T"]:
        """Surprisal vectors of the masked language model of the weights, else of one adapted on the pool."""
        if self._surprisal is None:
            self._surprisal = self._language_model()
        return self._surprisal.surprisal(items)

    def see_pool(self, items: Items) -> None:
        """Give the texts on which a language model is adapted, where the weights have none."""
        self.pool = check_texts(items)

    @property
    def weights(self) -> Float[Array, " E"]:
        """p(theta|L) of the members."""
        members = self._fitted().members
        if self.weighting == "uniform":
            return np.full(len(members), 1 / len(members))
        return likelihood_weights([member.log_likelihood for member in members])

    @property
    def histories(self) -> list[History]:
        """The epochs of every network of the last fit."""
        return [member.history for member in self._fitted().networks]

    def trained_weights(self) -> list[Tensors]:
        """What each network has learnt."""
        return [member.weights for member in self._fitted().networks]

    def trained_encoder(self) -> tuple[nn.Module, Any]:
        """The encoder of the first network with all its layers, and its tokenizer."""
        fitted = self._fitted()
        return self._prepared_backbone().whole_encoder(fitted.loaded(fitted.members[0]))

    def restore(self, weights: Sequence[Tensors], K: int) -> "TextClassifier":
        """Networks of K classes that were trained elsewhere, from their `trained_weights`; without a history."""
        members = [Member(part, History((), 0)) for part in weights]
        with torch_threads(current_limits().threads):
            self.fitted_ = FittedText(self._answering_network(K), members, K, self.max_length)
            for member in members:
                load_trainable_state(self.fitted_.network, member.weights)
        return self

    def _check(self) -> None:
        check_choices(
            posterior=self.posterior,
            resample=self.resample,
            weighting=self.weighting,
            calibrate=self.calibrate,
            validation=self.validation,
        )
        within(self.members, "members", 1)
        within(self.batch_size, "batch_size", 1)
        within(0.0 if self.dropout is None else self.dropout, "dropout", 0, 0.99)

    def _fitted(self) -> FittedText:
        if self.fitted_ is None:
            raise NotFitted(self)
        return self.fitted_

    def _prepared_backbone(self) -> Backbone:
        if self._backbone is None:
            backbone = WholeBackbone(
                self.name,
                head=self.head or HEADS.get(str(self.name), "own"),
                dropout=self.dropout,
                max_length=self.max_length,
                device=pick_device(self.device),
                cache=self._cache("tokens"),
                learn_words=self.learn_words,
            )
            top = self.top_layers
            self._backbone = (
                backbone if top is None else PartialBackbone(backbone, top=top, cache=self._cache("hidden"))
            )
        return self._backbone

    def _answering_network(self, K: int) -> Network:
        """A network that the weights of any member fit into."""
        network = self._prepared_backbone().network(K, 0)
        if self.posterior == "dropout" and not has_dropout(network):
            raise InputError(
                "posterior='dropout'",
                expected="a network with dropout",
                got="rates of 0 everywhere",
                fix="Set dropout, for instance to 0.1, or use posterior='ensemble'.",
            )
        return network

    def _inputs(self, items: Items) -> NetworkInputs:
        return self._prepared_backbone().inputs(check_texts(items), self._reporter("prepare"))

    def _cache(self, what: str) -> Path | None:
        return None if self.cache is None else Path(self.cache) / what

    def _language_model(self) -> Surprisal:
        if self.pool is None or has_language_model(self.name):
            return Surprisal(self.name, max_length=self.max_length, device=self.device, progress=self.progress)
        return AdaptedSurprisal(
            self.pool,
            self.name,
            cache=self._cache("language-model"),
            max_length=self.max_length,
            device=self.device,
            progress=self.progress,
        )

    def _recipe(self) -> TrainingRecipe:
        recipes = RECIPES if self.top_layers is None else PARTIAL_RECIPES
        return self.recipe or recipes.get(str(self.name), TrainingRecipe())

    def _train(
        self, e: int, plan: SplitPlan, inputs: NetworkInputs, *, K: int, folder: Path | None, rng: np.random.Generator
    ) -> Member:
        seed, split = int(rng.integers(2**63)), plan.splits[e]
        network = self._prepared_backbone().network(K, seed)
        weights = np.ones(len(plan.labels))
        weights[split.train] = RESAMPLERS[self.resample](len(split.train), rng)
        return train_network(
            network,
            LabelledInputs(inputs, plan.labels, weights),
            split,
            recipe=self._recipe(),
            batch_size=self.batch_size,
            rng=rng,
            checkpoint=None if folder is None else folder / f"network-{e}-{seed:016x}",
            report=self._reporter(f"fit, network {e + 1} of {len(plan.splits)}"),
        )

    def _masks_of(self, trained: Member, rng: np.random.Generator) -> list[Member]:
        return [replace(trained, mask=int(seed)) for seed in rng.integers(2**63, size=self.members)]

    def _validated(self, fitted: FittedText, plan: SplitPlan) -> FittedText:
        """The members with their temperatures and likelihoods on their validation parts, where these are asked for."""
        if self.calibrate or self.weighting == "likelihood":
            splits = plan.splits * (len(fitted.members) // len(plan.splits))
            pairs = zip(fitted.members, splits, strict=True)
            fitted.members = [self._with_temperature(fitted, member, plan, split) for member, split in pairs]
        return fitted

    def _with_temperature(self, fitted: FittedText, member: Member, plan: SplitPlan, split: Split) -> Member:
        inputs, labels = self._inputs(take(plan.items, split.valid)), plan.labels[split.valid]
        probs = fitted.probs_of(member, inputs, self._reporter("validate")).astype(np.float64)
        temperature, score = temperature_and_likelihood(probs, labels, self.calibrate)
        return replace(member, temperature=temperature, log_likelihood=score)

    def _begin_round(self, plan: SplitPlan, K: int) -> Path | None:
        """The folder of this fit; the folder of the fit before is removed."""
        if self.checkpoints is None:
            return None
        folder = Path(self.checkpoints) / f"fit-{self._fingerprint(plan, K)}"
        if self._round is not None and self._round != folder:
            shutil.rmtree(self._round, ignore_errors=True)
        self._round = folder
        return folder

    def _fingerprint(self, plan: SplitPlan, K: int) -> str:
        """What the weights of a fit depend on, beside its seed."""
        facts = {
            "model": [str(self.name), self.head, self.dropout, self.top_layers, self.learn_words, self.max_length],
            "training": [self.batch_size, self.resample, asdict(self._recipe()), K],
            "texts": list(plan.items),
            "labels": plan.labels.tolist(),
            "splits": [[split.train.tolist(), split.valid.tolist()] for split in plan.splits],
        }
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def _reporter(self, task: str) -> Report:
        def report(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(task, done, total)

        return report
