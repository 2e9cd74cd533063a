"""`massart worlds`: every world is there, with what it declares."""

import json
import re
import shlex

from typer.testing import CliRunner

from massart import worlds
from massart.cli.app import app


def massart(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def squeezed(text):
    """The words of a table, without its lines; the last column may be broken over several."""
    return re.sub(r"[\s│┃]+", " ", text)


def test_every_world_is_listed():
    result = massart("worlds")
    assert (result.exit_code, result.stderr) == (0, "")
    for name in worlds.names():
        world = worlds.make(name)
        assert re.search(
            rf"│ {name} +│ +{world.noise_rate:g} │ +{world.margin:g} │ +{world.dimension} │", result.stdout
        )
    assert result.stdout.count("Adaptive.") == sum(worlds.make(name).adaptive for name in worlds.names())


def test_json_holds_what_the_world_declares():
    facts = json.loads(massart("worlds", "--json").stdout)
    assert [world["name"] for world in facts] == worlds.names()
    for given in facts:
        world = worlds.make(given["name"])
        for key in ("noise_rate", "margin", "dimension", "adaptive", "bayes_error", "description"):
            assert given[key] == getattr(world, key)
        assert [tuple(region.values()) for region in given["regions"]] == [tuple(region) for region in world.regions]


def test_one_world_in_full():
    text = squeezed(massart("worlds", "E2").stdout)
    assert "sacrificed-minority" in text
    assert "F: 22% of the rounds, 20% of its labels are wrong" in text
    assert "The target itself is wrong on 4.4%." in text
    hunted = squeezed(massart("worlds", "hunted-minority").stdout)
    assert "depending on the learner" in hunted


def test_an_unknown_world_offers_the_nearest():
    result = massart("worlds", "kinks")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("massart worlds: there is no world 'kinks'; did you mean 'kink'")


def test_the_example_of_the_help_runs():
    (line,) = re.findall(r"^\s*(massart worlds .*?)\s*$", massart("worlds", "--help").stdout, flags=re.M)
    assert massart(*shlex.split(line)[1:]).exit_code == 0
