"""`fedbn query` as a user calls it."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.schema import Schema, Variable
from fedbn.errors import ConfigError, NetworkError, QueryError, ResultsError
from fedbn.graphs.dag import DAG
from fedbn.inference import average_query, most_probable, query
from fedbn.networks.catalog import load_network
from fedbn.networks.fitting import fit_parameters
from fedbn.networks.json_file import weighted_to_json, write_json_network
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork
from simulations.cli import app

ASIA = load_network("asia")


def ask(*arguments: str) -> None:
    app(args=["query", *arguments], standalone_mode=False)


def test_json_holds_exactly_the_posteriors(capsys: pytest.CaptureFixture[str]) -> None:
    ask("asia", "--ask", "lung", "bronc", "--given", "smoke=yes", "xray=no", "--json")
    expected = query(ASIA, ["lung", "bronc"], {"smoke": "yes", "xray": "no"})
    assert json.loads(capsys.readouterr().out) == expected.posteriors


def test_all_and_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    ask("asia", "--all", "--given", "smoke=yes")
    lines = capsys.readouterr().out
    for name in set(ASIA.names) - {"smoke"}:
        assert name in lines
    assert "0.900000" in lines


def test_the_most_probable_rest(capsys: pytest.CaptureFixture[str]) -> None:
    ask("asia", "--most-probable", "--given", "smoke=yes", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["states"] == most_probable(ASIA, {"smoke": "yes"}).states


def test_a_file_of_cases_with_empty_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases, out = tmp_path / "cases.csv", tmp_path / "answers.csv"
    cases.write_text("smoke,xray\nyes,\n,no\n", encoding="utf-8")
    ask("asia", "--ask", "lung", "--given-file", str(cases), "--out", str(out), "--json")
    found = json.loads(capsys.readouterr().out)["cases"]
    assert found[0] == query(ASIA, ["lung"], {"smoke": "yes"}).posteriors
    assert found[1] == query(ASIA, ["lung"], {"xray": "no"}).posteriors
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[:3] == [
        "case,variable,state,probability",
        "1,lung,no,0.900000",
        "1,lung,yes,0.100000",
    ]
    assert len(lines) == 5


def test_several_networks_are_averaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "network.json"
    write_json_network(ASIA, file)
    ask("asia", str(tmp_path), "--weights", "3,1", "--ask", "lung", "--json")
    expected = average_query([ASIA, ASIA], [3, 1], ["lung"])
    assert json.loads(capsys.readouterr().out) == expected.posteriors


def test_a_linear_gaussian_network_answers_with_means_and_variances(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = {"a": LinearEquation({}, 1.0, 1.0), "b": LinearEquation({"a": 2.0}, 0.0, 1.0)}
    file = tmp_path / "network.json"
    write_json_network(LinearGaussianNetwork.from_equations(chain), file)
    ask(str(tmp_path), "--ask", "b", "--given", "a=3", "--json")
    assert json.loads(capsys.readouterr().out) == {"b": {"mean": 6.0, "variance": 1.0}}
    out = tmp_path / "answers.csv"
    ask(str(file), "--all", "--given", "a=3.5", "--out", str(out))
    assert out.read_text(encoding="utf-8").splitlines() == [
        "case,variable,quantity,value", "1,b,mean,7", "1,b,variance,1",
    ]  # fmt: skip
    with pytest.raises(QueryError, match="'a' is a number in this network, not 'high'"):
        ask(str(file), "--all", "--given", "a=high")
    with pytest.raises(QueryError, match="for one with numbers use --all"):
        ask(str(file), "--most-probable")
    with pytest.raises(QueryError, match="all be categorical or all linear Gaussian"):
        ask(str(file), "asia", "--all")


def test_weighted_networks_of_a_folder_are_averaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json_network(ASIA, tmp_path / "network.json")
    with pytest.raises(ResultsError, match=r"has no average\.json: run fedbn parameters"):
        ask(str(tmp_path), "--average", "--ask", "lung")
    other = fit_parameters(DAG.empty(ASIA.names), ASIA.sample(99, np.random.default_rng(1)))
    text = weighted_to_json([ASIA, other], [0.75, 0.25])
    (tmp_path / "average.json").write_text(text, encoding="utf-8")
    ask(str(tmp_path), "--average", "--ask", "lung", "--given", "smoke=yes", "--json")
    expected = average_query([ASIA, other], [3, 1], ["lung"], {"smoke": "yes"}).posteriors
    found = json.loads(capsys.readouterr().out)
    assert found["lung"] == pytest.approx(expected["lung"])
    ask(str(tmp_path), "--average", "--ask", "lung", "--given", "smoke=yes")
    far = abs(found["lung"]["yes"] - 0.1)
    lines = capsys.readouterr().out.splitlines()
    line = lines[-1]
    (yes,) = [shown.split() for shown in lines if shown.split()[:2] == ["lung", "yes"]]
    assert yes == ["lung", "yes", f"{found['lung']['yes']:.6f}", "0.100000"]
    assert line.startswith("Average of 2 structures; the consensus alone differs by at most")
    assert f"{far:.6f}" in line


def test_an_answer_says_which_tables_are_without_whose_rows(tmp_path: Path) -> None:
    write_json_network(ASIA, tmp_path / "network.json")
    run = {"parameters": {"held_back": {"smoke": ["north"], "xray": ["no\nrth"]}}}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")

    def warned(*arguments: str) -> list[str]:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ask(str(tmp_path), *arguments, "--json")
        return [str(each.message) for each in said]

    words = "the table of {!r} is without the rows of {}: min-cell; the answer depends on that"
    smoke, xray = words.format("smoke", "north"), words.format("xray", "no")
    assert warned("--ask", "lung") == [smoke]  # its parent
    assert warned("--ask", "tub", "--given", "xray=yes") == [smoke, xray]
    assert warned("--most-probable") == warned("--all") == [smoke, xray]
    assert warned("--ask", "tub", "--given", "asia=yes") == []
    for wrong in ({"smoke": "north"}, {"smoke": []}, {"smoke": [1]}, ["smoke"], 3):
        (tmp_path / "run.json").write_text(json.dumps({"parameters": {"held_back": wrong}}))
        with pytest.raises(ResultsError, match=r'run\.json: "held_back" must be'):
            ask(str(tmp_path), "--all")


def test_a_folder_without_parameters_says_why(tmp_path: Path) -> None:
    run = {"parameters": {"failure": "nobody counted the family of 'b'"}}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    with pytest.raises(ResultsError, match=r"no parameters \(nobody counted the family of 'b'\);"):
        ask(str(tmp_path), "--all")


def test_wrong_usage_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give one of --ask"):
        ask("asia")
    with pytest.raises(ConfigError, match="must be variable=state, not 'smoke'"):
        ask("asia", "--ask", "lung", "--given", "smoke")
    with pytest.raises(ConfigError, match="'smoke' cannot be both 'no' and 'yes'"):
        ask("asia", "--ask", "lung", "--given", "smoke=no", "smoke=yes")
    with pytest.raises(ResultsError, match=r"is no results folder"):
        ask(str(tmp_path), "--all")
    with pytest.raises(NetworkError, match="nowhere does not exist: a network file must end in"):
        ask(str(tmp_path / "nowhere"), "--all")
    with pytest.raises(NetworkError, match=r"'alram'; did you mean 'alarm'\? There is no file"):
        ask("alram", "--all")
    with pytest.raises(QueryError, match="2 networks need as many weights, not 1"):
        ask("asia", "asia", "--weights", "1", "--all")
    cases = tmp_path / "cases.csv"
    cases.write_text("smoke\nyes\nYes\n", encoding="utf-8")
    with pytest.raises(QueryError, match="case 2: variable 'smoke' has no state 'Yes'"):
        ask("asia", "--all", "--given-file", str(cases))


def test_a_number_of_a_cut_column_is_taken_as_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = Schema((Variable.cut("age", [40, 60]), Variable("ill", ("no", "yes"))))
    dag = DAG.from_edges(["age", "ill"], [("age", "ill")])
    tables = (np.array([[0.2, 0.3, 0.5]]), np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]]))
    file = tmp_path / "network.json"
    write_json_network(BayesianNetwork(dag, schema, tables), file)
    ask(str(file), "--ask", "ill", "--given", "age=70", "--json")
    told = capsys.readouterr()
    assert json.loads(told.out) == {"ill": {"no": 0.4, "yes": 0.6}}
    assert told.err == "age was cut: 70 as '3: (60, inf)'\n"
    ask(str(file), "--ask", "ill", "--given", "age=3: (60, inf)", "--json")
    assert capsys.readouterr().err == ""
    cases = tmp_path / "cases.csv"
    cases.write_text("age\n" + "\n".join(map(str, range(38, 48))) + "\n")
    ask(str(file), "--ask", "ill", "--given-file", str(cases), "--json")
    told = capsys.readouterr()
    assert len(json.loads(told.out)["cases"]) == 10
    assert told.err.count("\n") == 1
    ask(str(file), "--ask", "ill", "--do", "age=12", "--json")
    assert "12 as '1: (-inf, 40]'" in capsys.readouterr().err
    with pytest.raises(QueryError, match="no state 'old'"):
        ask(str(file), "--ask", "ill", "--given", "age=old")
