"""Problems of a configuration as they may be shown: no text quotes a secret.

A text may depend on a secret in more ways than by quoting it whole. So the configuration is judged a second time with
every secret masked: what is said there as well tells nothing about the secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from frazil.errors import Problem
from frazil.secrets import LONG, MASK, is_secret, shown, users

_SHORTEST: Final = 4
"""Letters of a secret that counts as quoted; shorter ones are parts of ordinary words."""

_WAY_ON: Final = "docs/configuration.md says what the key takes; correct the value where it stands."
_FROM_A_PROVIDER: Final = f"cannot take the value that came from a config provider, which is not shown. {_WAY_ON}"
_WITH_A_SECRET: Final = f"cannot take the value, which is not shown because it holds a secret. {_WAY_ON}"
_QUOTES_ONE: Final = (
    "has a problem whose text is not shown because it quotes a secret. Check it beside the secret keys."
)


def without_secrets(
    problems: list[Problem],
    given: Mapping[str, str],
    from_providers: frozenset[str],
    judge: Callable[[Mapping[str, str]], Iterable[Problem]],
) -> list[Problem]:
    """`problems` without the values of secret keys, the values from config providers, and the users in addresses.

    Args:
        problems: what is wrong with the configuration.
        given: its keys and values.
        from_providers: the keys whose values came from config providers.
        judge: finds what is wrong with a configuration.
    """
    masked = {key: MASK if key in from_providers else shown(key, value) for key, value in given.items()}
    if not problems or masked == given:
        return problems
    hiding = _Hiding(given, masked, from_providers, frozenset(judge(masked)))
    return list(dict.fromkeys(map(hiding.told, problems)))


class _Hiding:
    """Rewrites one problem after the other."""

    def __init__(
        self,
        given: Mapping[str, str],
        masked: Mapping[str, str],
        from_providers: frozenset[str],
        harmless: frozenset[Problem],
    ) -> None:
        self._from_providers = from_providers
        self._harmless = harmless
        self._hidden = {key for key, value in given.items() if value != masked[key]}
        whole = {given[key]: masked[key] for key in self._hidden if given[key]}
        parts = {user: MASK for value in given.values() for user in users(value)}
        self._stand_ins = {**whole, **parts}

        self._long = sorted(
            (value for key, value in given.items() if is_secret(key) and len(value) >= LONG), key=len, reverse=True
        )

    def told(self, problem: Problem) -> Problem:
        text = self._independent(problem).text
        for secret in self._long:  # also where it is the value of an ordinary key, by mistake
            text = text.replace(secret, MASK)
        return Problem(problem.key, text)

    def _independent(self, problem: Problem) -> Problem:
        if problem in self._harmless:
            return problem
        masked = Problem(problem.key, self._masked(problem.text))
        if masked in self._harmless:
            return masked
        if problem.key in self._from_providers:
            return Problem(problem.key, _FROM_A_PROVIDER)
        if problem.key in self._hidden and not is_secret(problem.key):
            return Problem(problem.key, _WITH_A_SECRET)
        # What reads a secret key quotes nothing of its value; a text that holds it would tell by the words around it.
        if any(len(value) >= _SHORTEST and value in problem.text for value in self._stand_ins):
            return Problem(problem.key, _QUOTES_ONE)
        return problem

    def _masked(self, text: str) -> str:
        for value, masked in self._stand_ins.items():
            text = text.replace(repr(value), repr(masked)).replace(value, masked)
        return text
