"""Agreement against cases worked by hand in the literature."""

from math import isnan

import pytest

from bemps.project.agreement import cohen_kappa, krippendorff_alpha

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", sections A to C
MEG, OWEN = "0100000010", "1110010000"
BEN, GERRY = "aabbdcccedda", "babbbcccEddd".lower()
FOUR = ["123321412...", "123322412 5.3".replace(" ", ""), ".33323422 51.".replace(" ", ""), "12332441251."]


def units(*coders):
    """Texts of one character an item, a dot where something is missing, as the labels of each item."""
    return [[None if label == "." else label for label in unit] for unit in zip(*coders, strict=True)]


def test_alpha_of_two_observers_and_binary_data():
    assert krippendorff_alpha(units(MEG, OWEN)) == pytest.approx(0.095, abs=5e-4)


def test_alpha_of_two_observers_and_five_categories():
    assert krippendorff_alpha(units(BEN, GERRY)) == pytest.approx(0.692, abs=5e-4)


def test_alpha_of_four_observers_with_missing_data():
    assert krippendorff_alpha(units(*FOUR)) == pytest.approx(0.743, abs=5e-4)


def test_kappa_of_fifty_grant_proposals():
    """20 twice yes, 15 twice no, 5 and 10 once: p_o = 0.7, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


def test_kappa_depends_on_the_margins():
    """Same agreement of 0.6, other margins: (0.6 - 0.54) / 0.46 and (0.6 - 0.46) / 0.54."""

    def kappa(both, first_only, second_only, neither):
        first = ["y"] * (both + first_only) + ["n"] * (second_only + neither)
        second = ["y"] * both + ["n"] * first_only + ["y"] * second_only + ["n"] * neither
        return cohen_kappa(first, second)

    assert kappa(45, 15, 25, 15) == pytest.approx(0.1304, abs=5e-5)
    assert kappa(25, 35, 5, 35) == pytest.approx(0.2593, abs=5e-5)


def test_missing_labels_are_left_out():
    first, second = ["a", "b", None, "a", "b"], ["a", "b", "a", None, "a"]
    assert cohen_kappa(first, second) == cohen_kappa(["a", "b", "b"], ["a", "b", "a"])
    assert krippendorff_alpha([["a"], [None, "b"], ["a", "a"], ["b", "b"]]) == 1


def test_perfect_agreement_and_systematic_disagreement():
    assert cohen_kappa("abab", "abab") == krippendorff_alpha(units("abab", "abab")) == 1
    assert cohen_kappa("abab", "baba") == -1
    assert krippendorff_alpha(units("abab", "baba")) < 0


def test_where_chance_cannot_be_told():
    assert isnan(cohen_kappa([], []))
    assert isnan(cohen_kappa(["a", None], [None, "a"]))
    assert isnan(cohen_kappa("aaa", "aaa"))
    assert isnan(krippendorff_alpha([]))
    assert isnan(krippendorff_alpha([["a"], ["b"]]))
    assert isnan(krippendorff_alpha([["a", "a"], ["a", "a"]]))


def test_kappa_is_that_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    first, second = "abcabcaabbccab", "abcbacaabcccaa"
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa_score(list(first), list(second)))
