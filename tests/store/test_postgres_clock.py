"""The time of the database, between two looks."""

from interlock.store.postgres_clock import PostgresClock
from tests.fakes import FakeClock


class Machine(FakeClock):
    """A machine whose wall clock can be set, while its ticks go on."""

    def __init__(self) -> None:
        super().__init__(1_000)
        self.wrong = 0

    def now(self) -> int:
        return super().now() + self.wrong


def test_until_it_was_told_it_is_the_clock_of_the_machine() -> None:
    machine = Machine()
    machine.wrong = 77

    assert PostgresClock(machine).now() == 1_077


def test_once_it_was_told_the_wall_clock_of_the_machine_does_not_matter() -> None:
    machine = Machine()
    clock = PostgresClock(machine)
    clock.told(500_000, since=900, until=1_100)
    machine.wrong = 3_600_000_000
    machine.forward(50)

    assert (clock.now(), clock.ticks()) == (500_050, 1_050)


def test_a_look_that_took_long_moves_nothing_that_fits_it() -> None:
    machine = Machine()
    clock = PostgresClock(machine)
    clock.told(500_000, since=1_000, until=1_000)
    clock.told(500_900, since=1_000, until=2_000)

    assert clock.now() == 500_000


def test_a_database_whose_clock_was_set_is_followed() -> None:
    machine = Machine()
    clock = PostgresClock(machine)
    clock.told(500_000, since=1_000, until=1_000)
    clock.told(900_000, since=1_000, until=1_010)
    ahead = clock.now()
    clock.told(100, since=1_000, until=1_010)

    assert (ahead, clock.now()) == (899_990, 100)
