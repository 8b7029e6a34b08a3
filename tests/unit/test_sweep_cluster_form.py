"""Cluster files and what `--cluster` may be: forms, mistakes at file:line:column, scripts, refusals."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.files.check_files import check_file
from archsim.lab.sweep import clusters
from archsim.lab.sweep.cluster_form import Batch, Local, read
from tests.tools.mutation_seeds import CLUSTER

JOBS = f"\n{CLUSTER}"  # below an empty line, from which the places in messages count


def test_a_file_says_it_all() -> None:
    assert read(JOBS) == Batch(
        "slurm", 8, 16, 64 << 30, 4 * 3600, "batch", "project7", ("--exclusive", "-C fast"),
        ("module load python/3.11",), "ib0", "/shared/bin/python",
    )  # fmt: skip
    assert read("kind: local\nworkers: 3\n") == Local(3)
    assert read('kind: local\nworkers: 3\ndashboard: ":8787"\n') == Local(3, ":8787")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: slurm", "kind: slrm", "f:3:1: kind: found 'slrm'; allowed slurm, lsf, pbs, local (did you mean"),
        ("kind: slurm", "", "f:2:1: kind: missing"),
        ("queue:", "queu:", "f:8:1: queu: unknown key 'queu'; allowed account, cores, dashboard, directives,"),
        ("queue:", "queu:", "(did you mean 'queue'?)"),
        ("jobs: 8", "jobs: 0", "f:4:1: jobs: found 0; allowed whole numbers 1 to 100000"),
        ("jobs: 8", "", "f:2:1: jobs: missing"),
        ("jobs: 8", "jobs: many", "f:4:1: jobs: found 'many'; allowed whole numbers 1 to 100000"),
        ("64 GiB", "64", "f:6:1: memory: found 64, a bare number where a unit is due"),
        ("64 GiB", "64 Gib/s", "f:6:1: memory: found '64 Gib/s'; allowed"),
        ("4 h", "90 s", "f:7:1: walltime: found '90 s'; allowed whole minutes"),
        ("4 h", "0 h", "f:7:1: walltime: found '0 h'; allowed whole minutes, more than nothing"),
        ("-C fast", r"a\nb", "f:10:29: directives[1]: found 'a\\nb'; allowed text of one line"),
        ("[module load python/3.11]", "module", "f:11:1: environment: found 'module'; allowed a list"),
        ("cluster/1", "cluster/2", "f:2:1: schema: found 'archsim.cluster/2'; allowed archsim.cluster/1"),
        ("kind: slurm", "kind: local", "f:4:1: jobs: unknown key 'jobs'; allowed dashboard, kind, schema, workers"),
        ("queue: batch", "dashboard: here", "f:8:1: dashboard: found 'here'; allowed host:port such as 0.0.0.0:8787"),
        ("queue: batch", "dashboard: ':99999'", "f:8:1: dashboard: found ':99999'; allowed host:port"),
    ],
)  # fmt: skip
def test_mistakes_are_said_where_they_are(old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(JOBS.replace(old, new), "f")
    assert said in str(caught.value)


def test_all_mistakes_are_said_at_once() -> None:
    """Each at its place, in the order of the file; of a kind that is not known what any kind may say is judged."""
    with pytest.raises(ConfigError) as caught:
        read("kind: slrm\njobs: 0\nqueu: a\nwalltime: 90 s\ndirectives: [a, 3]\n", "f")
    places = [line.split(": ")[0].strip() for line in str(caught.value).splitlines()]
    assert places == ["5 problems:", "f:1:1", "f:2:1", "f:3:1", "f:4:1", "f:5:17"]
    with pytest.raises(ConfigError, match=r"(?s)4 problems:.*f:1:1: cores: missing.*memory.*walltime.*f:2:1: jobs"):
        read("kind: slurm\njobs: 0\n", "f")


def test_keys_of_jobs_are_not_those_of_this_machine() -> None:
    with pytest.raises(ConfigError, match="f:3:1: memory: unknown key 'memory'; allowed dashboard, kind,"):
        read("kind: local\nworkers: 2\nmemory: 4 GiB\n", "f")


def test_check_knows_cluster_files(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(JOBS)
    assert check_file(path) == "cluster 'slurm', 8 jobs of 16 cores"
    path.write_text("kind: local\nworkers: 2\n")
    assert check_file(path) == "cluster 'local', 2 workers"


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("slurm", ["#SBATCH -p batch", "#SBATCH -A project7", "#SBATCH --mem=64G", "#SBATCH -C fast"]),
        ("lsf", ["#BSUB -q batch", '#BSUB -P "project7"', "#BSUB -n 16", "#BSUB -W 04:00", "#BSUB --exclusive"]),
        ("pbs", ["#PBS -q batch", "#PBS -A project7", "#PBS -l walltime=04:00:00"]),
    ],
)  # fmt: skip
def test_scripts_are_made_without_the_batch_system(kind: str, lines: list[str]) -> None:
    cluster = read(JOBS.replace("slurm", kind))
    assert isinstance(cluster, Batch)
    script = clusters.script(cluster).splitlines()
    assert set(lines) <= set(script) and script[-2] == "module load python/3.11"
    worker = script[-1].split()
    assert worker[:4] == ["/shared/bin/python", "-m", "distributed.cli.dask_worker", "tcp://SCHEDULER"]
    for option, value in (("--nthreads", "1"), ("--nworkers", "16"), ("--lifetime", "14340s"), ("--interface", "ib0")):
        assert worker[worker.index(option) + 1] == value


def test_a_short_job_leaves_no_later_than_it_ends() -> None:
    cluster = read(JOBS.replace("4 h", "1 min"))
    assert isinstance(cluster, Batch) and "--lifetime 30s" in clusters.script(cluster)


def test_what_cluster_may_be(tmp_path: Path) -> None:
    assert clusters.place(3, None) == 3 and clusters.place(None, None) == clusters.processors()
    assert clusters.place(None, "tcp://host:8786") == "tcp://host:8786"
    with pytest.raises(ConfigError, match="no number of processes"):
        clusters.place(3, "tcp://host:8786")
    with pytest.raises(ConfigError, match=f"{tmp_path / 'no.yaml'}: "):
        clusters.place(None, str(tmp_path / "no.yaml"))


@pytest.mark.parametrize("place", ["tcp://127.0.0.1:9", Local(1), read(JOBS)])
def test_without_dask_the_extra_is_named(place: clusters.ClusterPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("distributed", "dask_jobqueue"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"pip install 'archsim\[cluster\]'"):
        clusters.crew(place)


def test_loading_dask_leaves_interrupts_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """dask_jobqueue.runner sets a handler of SIGINT as it is imported, by which Ctrl-C would end with exit code 0."""
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.delitem(sys.modules, "dask_jobqueue.runner", raising=False)
    clusters._module("dask_jobqueue.runner")
    assert "dask_jobqueue.runner" in sys.modules and signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "carrier://pigeon"])
def test_a_scheduler_that_does_not_answer_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "CONNECT_S", 0.5)
    began = time.monotonic()
    with pytest.raises(ConfigError, match=f"--cluster {address}: no Dask scheduler answers"):
        clusters.crew(address)
    assert time.monotonic() - began < 10


def test_a_machine_without_the_batch_system_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="kind: slurm: this machine has no 'sbatch' to submit jobs with"):
        clusters.crew(read(JOBS))


@pytest.mark.slow
def test_a_local_cluster_listens_on_this_machine_alone_unless_asked() -> None:
    """Scheduler, workers and their pages: every socket of this process and its children."""
    import psutil

    def addresses() -> set[str]:
        own = psutil.Process()
        found = [each.net_connections("inet") for each in (own, *own.children(recursive=True))]
        return {str(one.laddr.ip) for one in sum(found, []) if one.status == psutil.CONN_LISTEN}

    before = addresses()
    with clusters.crew(Local(1)):
        assert addresses() - before <= {"127.0.0.1", "::1"}
    with clusters.crew(Local(1, "0.0.0.0:0")):
        assert "0.0.0.0" in addresses() - before
