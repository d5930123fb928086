"""A real Grid Engine in a private folder, in a network of its own, with or without root.

Its daemons listen on every address, so they get a network that has only a loopback
(`namespace.py`); clients have to be run inside it, which `GridEngineCluster.run` and the transport
do. The qmaster finds everything configured when it starts: its spool is written by hand.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import run_command

from tests.rig.processes import Daemon, Keeper, RigError, require, wait_until

DATA = Path("/usr/share/gridengine")
PROGRAMS = Path("/usr/lib/gridengine")  # the daemons and clients behind Debian's wrappers
PORTS = ("6444", "6445")  # of a network that nobody else is in
SLOTS = 16
QUEUES = {
    "all.q": {"pe_list": "smp", "complex_values": "gpu=4"},
    "serial.q": {"pe_list": "NONE", "seq_no": "1"},
}
SECONDS_TO_REPORT = 3  # between the notice of a kill and the kill

_BOOTSTRAP = """\
admin_user {admin}
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params {common};{spool}
binary_path {programs}
qmaster_spool_dir {spool}
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
_CONFIGURATION = {
    "execd_spool_dir": "{folder}/spool/execd",
    "mailer": "/bin/true",
    "login_shells": "none",  # what is in somebody's profile is not what is tested
    "min_uid": "0",
    "min_gid": "0",
    "load_report_time": "00:00:01",
    "reporting_params": "accounting=true reporting=false flush_time=00:00:01"
    " accounting_flush_time=00:00:00 joblog=false sharelog=00:00:00",
    "max_u_jobs": "200",
    "finished_jobs": "0",
}
# A look for work a second after a job came or went, and a start at once while there is room.
_SCHEDULING = """\
algorithm default
schedule_interval 0:0:1
maxujobs 0
queue_sort_method 1
job_load_adjustments NONE
load_adjustment_decay_time 0:7:30
load_formula np_load_avg
schedd_job_info true
flush_submit_sec 1
flush_finish_sec 1
params none
reprioritize_interval 0:0:0
halftime 168
usage_weight_list cpu=1.000000 mem=0.000000 io=0.000000
compensation_factor 5.000000
weight_user 0.250000
weight_project 0.250000
weight_department 0.250000
weight_job 0.250000
weight_tickets_functional 0
weight_tickets_share 0
weight_tickets_override 0
share_override_tickets TRUE
share_functional_shares TRUE
max_functional_jobs_to_schedule 200
report_pjob_tickets TRUE
max_pending_tasks_per_job 50
halflife_decay_list none
policy_hierarchy OFS
weight_ticket 0.500000
weight_waiting_time 0.278000
weight_deadline 3600000.000000
weight_urgency 0.500000
weight_priority 0.000000
max_reservation 0
default_duration INFINITY
"""
_HOST = """\
hostname {name}
load_scaling NONE
complex_values NONE
load_values NONE
processors 0
reschedule_unknown_list NONE
user_lists NONE
xuser_lists NONE
projects NONE
xprojects NONE
usage_scaling NONE
report_variables NONE
"""
_SMP = """\
pe_name smp
slots 64
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $pe_slots
control_slaves FALSE
job_is_first_task TRUE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""
_QUEUE = {
    "hostlist": "localhost",
    "seq_no": "0",
    "load_thresholds": "NONE",
    "suspend_thresholds": "NONE",
    "nsuspend": "1",
    "suspend_interval": "00:05:00",
    "priority": "0",
    "min_cpu_interval": "00:05:00",
    "processors": "UNDEFINED",
    "qtype": "BATCH INTERACTIVE",
    "ckpt_list": "NONE",
    "pe_list": "NONE",
    "rerun": "FALSE",
    "slots": str(SLOTS),
    "tmpdir": "/tmp",
    "shell": "/bin/sh",
    "prolog": "NONE",
    "epilog": "NONE",
    "shell_start_mode": "posix_compliant",
    "starter_method": "NONE",
    "suspend_method": "NONE",
    "resume_method": "NONE",
    "terminate_method": "NONE",
    "notify": f"00:00:{SECONDS_TO_REPORT:02}",
    "owner_list": "NONE",
    "user_lists": "NONE",
    "xuser_lists": "NONE",
    "subordinate_list": "NONE",
    "complex_values": "NONE",
    "projects": "NONE",
    "xprojects": "NONE",
    "calendar": "NONE",
    "initial_state": "default",
} | {
    f"{kind}_{what}": "INFINITY"
    for what in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
    for kind in ("s", "h")
}


class GridEngineTransport:
    """Runs commands where the cluster's clients can reach it."""

    def __init__(self, enter: Sequence[str], env: Mapping[str, str]) -> None:
        self.enter = tuple(enter)
        self._env = dict(env)

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float,  # noqa: ASYNC109
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> CommandResult:
        """Run one command in the cluster's network."""
        changes = {**self._env, **(env or {})}
        whole = [*self.enter, *argv]
        return await run_command(whole, stdin=stdin, timeout=timeout, cwd=cwd, env=changes)


class GridEngineCluster:
    """A running qmaster with one host of 16 slots in each queue, and ways to use and hurt it."""

    def __init__(self, name: str = "engine") -> None:
        require("sge_qmaster", "sge_execd", "qsub", "nsenter")
        self.name = name
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self._keeper = Keeper()
        try:
            self._start()
        except BaseException:
            self._keeper.close()
            raise

    def _start(self) -> None:
        self.folder = self._keeper.folder / self.name
        self.work = self.folder / "work"
        self.env = {
            "SGE_ROOT": str(self.folder),
            "SGE_CELL": "default",
            "SGE_ARCH": self._architecture(),
            "SGE_QMASTER_PORT": PORTS[0],
            "SGE_EXECD_PORT": PORTS[1],
        }
        self._write_configuration()
        self.enter = self._make_network()
        self.transport = GridEngineTransport(self.enter, self.env)
        self._start_daemons()

    def run(
        self, command: str, *, stdin: str = "", check: bool = True, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell line as on a login node of this cluster, in its work folder."""
        done = subprocess.run(
            [*self.enter, "sh", "-c", command],
            input=stdin,
            env=os.environ | self.env,
            cwd=self.work,
            text=True,
            capture_output=True,
            timeout=timeout,
        )
        if check and done.returncode:
            raise RigError(f"{command}: status {done.returncode}: {done.stderr}{done.stdout}")
        return done

    def listening(self) -> list[str]:
        """What is listened on in the cluster's network, one line each."""
        return self.run("cat /proc/net/tcp | grep ' 0A '").stdout.splitlines()

    def kill_qmaster(self) -> None:
        """SIGKILL. Running jobs go on."""
        self.qmaster.kill()

    def restart_qmaster(self) -> None:
        """Start it again on the state that it had saved. An execd takes long to find it again."""
        self.qmaster.kill()
        self.execd.kill()
        self._start_daemons()

    def clean(self) -> None:
        """The daemons alive, no job left."""
        if not self.qmaster.alive:
            self.restart_qmaster()
        self.run("qdel -f -u '*'", check=False)
        wait_until(lambda: not self.run("qstat -u '*'").stdout, "the queue to empty", every=0.05)

    def close(self) -> None:
        """End everything."""
        self._keeper.close()

    @staticmethod
    def _architecture() -> str:
        script = [str(DATA / "util" / "arch")]
        return subprocess.run(script, check=True, capture_output=True, text=True).stdout.strip()

    def _make_network(self) -> list[str]:
        """The command that runs others in a new network."""
        script = Path(__file__).with_name("namespace.py")
        log = self.folder / "namespace.out"
        owner = self._keeper.start([sys.executable, "-I", "-S", str(script)], log=log)

        def ready() -> bool:
            if not owner.alive:
                raise RigError(f"no network of its own for Grid Engine: {owner.words()}")
            return "ready" in owner.words()

        wait_until(ready, "a network namespace")
        kinds = ["--net", "--uts"]
        if os.geteuid():
            kinds += ["--user", "--preserve-credentials"]
        return ["nsenter", "-t", str(owner.pid), *kinds, "--"]

    def _start_daemon(self, program: str) -> Daemon:
        return self._keeper.start(
            [*self.enter, str(PROGRAMS / program)],
            log=self.folder / f"{program}.out",
            env=os.environ | self.env | {"SGE_ND": "1"},  # stays in the foreground
        )

    def _start_daemons(self) -> None:
        self.qmaster = self._start_daemon("sge_qmaster")
        self._wait_for_qmaster()
        self.execd = self._start_daemon("sge_execd")
        wait_until(self._host_is_up, "sge_execd", every=0.05)

    def _wait_for_qmaster(self) -> None:
        def up() -> bool:
            if not self.qmaster.alive:
                raise RigError(f"sge_qmaster died: {self.qmaster.words()}")
            return self.run("qconf -sh", check=False).returncode == 0

        wait_until(up, "sge_qmaster", every=0.03)

    def _host_is_up(self) -> bool:
        if not self.execd.alive:
            raise RigError(f"sge_execd died: {self.execd.words()}")
        # While a host has not reported, its queues are in a state: au.
        rows = [row.split() for row in self.run("qstat -f").stdout.splitlines() if "@" in row]
        return len(rows) == len(QUEUES) and all(len(row) == 5 for row in rows)

    def _write_configuration(self) -> None:
        common, spool = self.folder / "default" / "common", self.folder / "spool" / "qmaster"
        for folder in (common, spool, self.folder / "spool" / "execd", self.work):
            folder.mkdir(parents=True)
        for name in ("bin", "utilbin", "lib"):
            (self.folder / name).mkdir()
            (self.folder / name / self.env["SGE_ARCH"]).symlink_to(PROGRAMS)
        (self.folder / "util").symlink_to(DATA / "util")
        (common / "act_qmaster").write_text("localhost\n")
        admin = self.user if os.geteuid() else "none"
        (common / "bootstrap").write_text(
            _BOOTSTRAP.format(admin=admin, common=common, spool=spool, programs=PROGRAMS)
        )
        self._spool({"configuration": self._configuration()}, common)
        self._spool({"sched_configuration": _SCHEDULING}, common)
        self._spool({"managers": f"{self.user}\n"}, spool)
        resources = {path.name: path.read_text() for path in self._files("centry")}
        resources["gpu"] = _resource("gpu", "INT", "JOB")
        self._spool(resources, spool / "centry")
        usersets = {path.name: path.read_text() for path in self._files("usersets")}
        self._spool(usersets, spool / "usersets")
        hosts = {name: _HOST.format(name=name) for name in ("global", "template", "localhost")}
        self._spool(hosts, spool / "exec_hosts")
        for kind in ("admin_hosts", "submit_hosts"):
            self._spool({"localhost": "hostname localhost\n"}, spool / kind)
        self._spool({"smp": _SMP}, spool / "pe")
        queues = {name: _lines({"qname": name} | _QUEUE | own) for name, own in QUEUES.items()}
        self._spool(queues, spool / "cqueues")
        for kind in ("jobs", "job_scripts", "zombies", "users", "projects", "ckpt", "calendars"):
            (spool / kind).mkdir()
        for kind in ("hostgroups", "resource_quotas", "advance_reservations"):
            (spool / kind).mkdir()
        (spool / "qinstances").mkdir()
        for queue in QUEUES:
            instance = {"qname": queue, "hostname": "localhost", "state": "0"}
            instance |= {"pending_signal": "0", "pending_signal_del": "0", "version": "0"}
            self._spool({"localhost": _lines(instance)}, spool / "qinstances" / queue)

    def _configuration(self) -> str:
        text = (DATA / "default-configuration").read_text()
        values = dict(line.split(None, 1) for line in text.splitlines() if line[:1].isalpha())
        changed = {key: it.format(folder=self.folder) for key, it in _CONFIGURATION.items()}
        return "conf_name global\n" + _lines(values | changed)

    @staticmethod
    def _files(kind: str) -> list[Path]:
        return sorted((DATA / "util" / "resources" / kind).iterdir())

    @staticmethod
    def _spool(files: Mapping[str, str], folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(f"# Version: 8.1.9\n#\n{text}")


def _lines(values: Mapping[str, str]) -> str:
    return "".join(f"{key} {value}\n" for key, value in values.items())


def _resource(name: str, kind: str, consumable: str) -> str:
    return _lines(
        {
            "name": name,
            "shortcut": name,
            "type": kind,
            "relop": "<=",
            "requestable": "YES",
            "consumable": consumable,
            "default": "0",
            "urgency": "0",
        }
    )
