"""What pyproject.toml cannot say: the wheel holds the apps below the package `fedbn_apps`."""

from setuptools import find_packages, setup

APPS = find_packages(
    include=["clients*", "server*", "simulations*"], exclude=["simulations.launch"]
)

setup(
    packages=[
        *find_packages(include=["fedbn", "fedbn.*"]),
        "fedbn_apps",
        *(f"fedbn_apps.{name}" for name in APPS),
    ],
    package_dir={
        "fedbn_apps": "simulations/launch",
        **{f"fedbn_apps.{name}": name.replace(".", "/") for name in APPS},
    },
)
