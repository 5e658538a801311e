"""Long waits are reported twice: when they have lasted for some time, and when they end."""

from structlog.testing import capture_logs

from engine.runtime.pressure import Pressure


def test_what_lasts_is_told_once_and_so_is_its_end() -> None:
    waiting = {"names": 0, "descriptors": 3}
    pressure = Pressure(
        {"names": lambda: waiting["names"], "descriptors": lambda: waiting["descriptors"]}
    )
    with capture_logs() as logs:
        pressure.look()
        waiting.update(names=5, descriptors=0)  # two short moments
        pressure.look()
        assert logs == []
        for _ in range(3):
            pressure.look()
        waiting["names"] = 0
        for _ in range(2):
            pressure.look()
    told = [(each["event"], each["waited_for"], each.get("waiting")) for each in logs]
    assert told == [("pressure.begun", "names", 5), ("pressure.over", "names", None)]
