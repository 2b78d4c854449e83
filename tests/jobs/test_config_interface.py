from __future__ import annotations

from jobs.config_interface import interface_of
from jobs.definitions import read_names
from workers.config_file import read_config

CONFIG = """\\* a comment
CONSTANTS
  N = 3
  Procs = {p1, p2}
  Nat <- SmallNat
  Max <- MyMax
  Inner <- [Other] MyInner
INIT Init
NEXT Next
INVARIANTS TypeOK Safe
INVARIANT Safe
PROPERTY Live
CHECK_DEADLOCK FALSE
"""


def test_every_name_that_must_be_there_is_listed_once() -> None:
    assert interface_of(read_config(CONFIG)).names() == (
        *("Init", "Next", "TypeOK", "Safe", "Live", "N", "Procs"),
        *("Nat", "SmallNat", "Max", "MyMax", "MyInner"),
    )


def test_the_values_of_constants_are_no_names_to_define() -> None:
    assert not {"p1", "p2", "3"} & set(interface_of(read_config(CONFIG)).names())


def test_deadlock_checking_is_on_unless_turned_off() -> None:
    assert not interface_of(read_config(CONFIG)).deadlock_checked
    assert interface_of(read_config("INIT Init NEXT Next")).deadlock_checked


def test_what_a_module_misses_is_told_and_standard_names_are_not_missed() -> None:
    module = read_names("CONSTANTS N, Procs\nInit == 1\nNext == 1\nSafe == 1\nMax == 2\n")
    context = read_names("TypeOK == TRUE\nMyInner == 1\n")
    missing = interface_of(read_config(CONFIG)).missing_from([module, context])
    assert missing == ("Live", "SmallNat", "MyMax")


def test_the_prompt_names_each_role() -> None:
    assert interface_of(read_config(CONFIG)).as_prompt("Lock") == (
        "Module `Lock` must define these names, exactly as written here:\n"
        "- initial predicate (INIT): `Init`\n"
        "- next-state action (NEXT): `Next`\n"
        "- invariants (INVARIANT): `TypeOK`, `Safe`\n"
        "- temporal properties (PROPERTY): `Live`\n"
        "- constant (CONSTANT): `N`, set to `3`\n"
        "- constant (CONSTANT): `Procs`, set to `{p1, p2}`\n"
        "- definition: `SmallNat`, which replaces `Nat` of Naturals\n"
        "- definition: `MyMax`, which replaces `Max`; declare or define `Max` too\n"
        "- definition: `MyInner`, which replaces `Inner` of module `Other`"
    )


def test_a_configuration_without_names_says_so() -> None:
    prompt = interface_of(read_config("")).as_prompt("Sums")
    assert prompt == "The configuration needs no names from module `Sums`."
