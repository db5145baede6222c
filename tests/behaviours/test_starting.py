"""The start of a gateway with many servers: all at the same time, and nobody waits for one that never answers."""

import sys
from pathlib import Path

import httpx2

from interlock.cli.gateway import running_at
from interlock.store.folder import DataFolder
from tests.cli.running import Outcome, eventually, run_process, serve_process
from tests.forward.fleets import small
from tests.running import server_yaml
from tests.talking import NO_TLS

COUNT = 20
TOGETHER = f"""
place = sys.argv[1]
open(os.path.join(place, str(os.getpid())), "w").close()
while len(os.listdir(place)) < {COUNT}:
    time.sleep(0.01)
serve()
"""
"""A server that answers nothing before all of them are there: who starts them one after the other never ends."""


def test_twenty_servers_start_together_and_one_that_never_answers_delays_nobody(tmp_path: Path) -> None:
    program, place, config, data = (tmp_path / name for name in ("server.py", "place", "interlock.yaml", "data"))
    program.write_text(small("any", TOGETHER).argv[-1], encoding="utf-8")
    place.mkdir()
    argv = [sys.executable, "-I", "-S", str(program), str(place)]
    servers = [server_yaml("mute", ["sleep", "1000"]), *(server_yaml(f"s{number}", argv) for number in range(COUNT))]
    config.write_text("posture: open\nlisten: {port: 0}\nservers:\n" + "".join(servers), encoding="utf-8")

    def il(*words: str) -> Outcome:
        return run_process(*words, "--data-dir", str(data), "--config", str(config))

    def healths() -> dict[str, str]:
        return {each["id"]: each["health"] for each in il("status", "--json").json["servers"]}

    with serve_process(data, "--config", str(config)):
        eventually(lambda: list(healths().values()).count("ready") == COUNT)
        readiness = httpx2.get(f"{running_at(DataFolder(data))}/readyz", verify=NO_TLS)
        called = il("call", "tool-write", "--tool-name", "s7:echo", "--json_args", '{"n": 7}')
        afterwards = healths()

    assert readiness.status_code == 200
    assert called.exit == 0, called.err
    assert afterwards["mute"] == "starting"
