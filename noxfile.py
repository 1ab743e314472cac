#!/usr/bin/env -S pipx run
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The chores that also run without make, on Windows for example: `nox --session tests`. The Makefile has the others."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"


def install(session: nox.Session, group: str) -> None:
    session.install("pip>=25.1")
    session.install("--editable", ".", "--group", group)
    session.install("--editable", "studies")


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff and mypy."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """The quick tests; arguments after -- go to pytest instead."""
    install(session, "test")
    chosen = ["-n", "auto", "-m", "not slow and not process and not gpu", "--fast"]
    session.run("python", "-m", "pytest", *(session.posargs or chosen))


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """The site, with all examples of the gallery."""
    install(session, "docs")
    session.run("python", "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", "build/site")


if __name__ == "__main__":
    nox.main()
