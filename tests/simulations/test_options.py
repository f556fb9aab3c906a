"""What all commands have in common, and options that are made from settings."""

from __future__ import annotations

import pytest
import typer

from fedbn.data.columns import TABLE_SUFFIXES
from fedbn.federation.run_config import run_config_keys
from simulations.cli import app
from simulations.options import (
    SIMULATED,
    form_settings,
    learning_settings,
    simulation_settings,
    table_settings,
)

KNOWN = typer.main.get_command(app).commands  # type: ignore[attr-defined]
GROUPS = ("courier", "site")
COMMANDS = {name: each for name, each in KNOWN.items() if name not in ("reproduce", *GROUPS)}
COMMANDS |= {
    f"{group} {name}": each for group in GROUPS for name, each in KNOWN[group].commands.items()
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json_and_quiet(name: str) -> None:
    """But an executor serves until it is stopped: it has no result to print."""
    flags = {flag for option in COMMANDS[name].params for flag in option.opts}
    assert {"--quiet", "-q"} <= flags
    assert ("--json" in flags) == (name != "executor")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained_in_a_sentence(name: str) -> None:
    for option in COMMANDS[name].params:
        if not getattr(option, "hidden", False):
            text = getattr(option, "help", None) or ""
            assert text.endswith((".", ")")), f"{name} --{option.name}: {text!r}"


@pytest.mark.parametrize("name", ["bootstrap", "inspect", "learn", "site new"])
def test_commands_that_read_a_table_name_every_format(name: str) -> None:
    texts = {option.name: getattr(option, "help", "") for option in COMMANDS[name].params}
    told = texts["table"].removesuffix(".").split(": ", 1)[1].split(", ")
    assert told == [*TABLE_SUFFIXES]


def test_options_of_a_simulation_are_settings_of_a_run() -> None:
    local = {"engine", "processes"}
    for _, each in simulation_settings():
        assert each.key in run_config_keys() or each.key in local or each.local
    flags = {flag for option in COMMANDS["learn"].params for flag in option.opts}
    for _, each in learning_settings(local=True):
        assert {f"--{each.key}", *each.flags} <= flags


def test_a_setting_of_a_simulation_is_an_option_by_its_key_with_its_default() -> None:
    options = {flag: option for option in COMMANDS["simulate"].params for flag in option.opts}
    assert {f"--{each.key}" for _, each in simulation_settings()} <= set(options)
    assert options["--parameters"].show_default.startswith(SIMULATED["parameters"])


def test_the_site_file_is_made_without_options_that_change_nothing() -> None:
    flags = {flag for option in COMMANDS["site new"].params for flag in option.opts}
    of_tables = {f"--{each.key}" for _, each in table_settings()}
    assert flags & of_tables == {f"--{each.key}" for _, each in form_settings()}


@pytest.mark.parametrize(("name", "unit"), [("credible", "gib"), ("learn", "mb")])
def test_a_limit_of_memory_names_its_unit(name: str, unit: str) -> None:
    (option,) = (each for each in COMMANDS[name].params if "--memory" in each.opts)
    assert any(flag.endswith(unit) for flag in option.opts)
