"""Which way a case is kept in, by the verdicts on each."""

from lockstep.capturing import cases, proof


def verdict(**differing):
    """One whose outputs differ as much as is said; those of a word that begins with `bits_` under a
    policy that lets it pass."""
    failing = {name: great for name, great in differing.items() if not name.startswith("bits_")}
    outputs = [
        {"name": name.removeprefix("bits_"), "differing": 1, "max_abs": great}
        for name, great in differing.items()
    ]
    differences = [{"name": name, "status": "value_diverges"} for name in failing]
    status = "value_diverges" if failing else "conform"
    return {"status": status, "path": "inductor", "differences": differences, "outputs": outputs}


def kept(wish, **verdicts):
    ways = {"shown": proof.SHOWN, "exact": proof.EXACT, "fills": proof.FILLS}
    return proof._choose({ways[word]: [each] for word, each in verdicts.items()}, wish)


def test_what_default_policies_do_not_let_pass_comes_before_last_bits():
    for strict in (False, True):
        found = kept(
            proof.Wish(strict),
            shown=verdict(logits=1e-8, codes=1.0),
            exact=verdict(bits_logits=1e-8, codes=1.0),
            fills=verdict(bits_logits=2e-8, codes=1.0),
        )
        assert (found.way, proof.magnitude(found.shown)[1]) == (proof.FILLS, "codes")
        found = kept(
            proof.Wish(strict),
            shown=verdict(logits=1e-8, codes=1.0),
            exact=verdict(bits_logits=1e-8, codes=1.0),
            fills=verdict(bits_logits=2e-8),
        )
        assert (found.way, proof.magnitude(found.shown)[1]) == (proof.EXACT, "codes")


def test_last_bits_are_shown_where_nothing_else_is():
    verdicts = {
        "shown": verdict(logits=1e-8),
        "exact": verdict(bits_logits=1e-8),
        "fills": verdict(bits_logits=2e-8),
    }
    assert kept(proof.Wish(True), **verdicts).way == proof.STRICT
    assert kept(proof.Wish(False), **verdicts).way == proof.FILLS
    verdicts["fills"] = verdict(bits_logits=1.0)
    assert kept(proof.Wish(True), **verdicts).way == proof.SHOWN


def test_every_way_with_default_policies_is_tried():
    assert proof.Wish(True).ways() == [proof.SHOWN, proof.EXACT, proof.FILLS]
    assert proof.Wish(True, True).ways() == [proof.SHOWN, proof.EXACT]
    bits = proof.Wish(policy="bits").ways()
    assert bits[1:] == [cases.Way(True, False, "bits"), cases.Way(False, False, "bits")]
