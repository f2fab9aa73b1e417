"""The manifests of examples/kubernetes: their form, and what their commands do, index by index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import teda_audit

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed, so the manifests are not checked")

FOLDER = Path(os.environ.get("TEDA_KUBERNETES", Path(__file__).parents[2] / "examples" / "kubernetes"))
# Few trials, of a mechanism that is quick.
SMALL = "--mech krr --epsilon 2 --dataset categories:3 --lambda 0 --trials 1200"
LARGE = "--mech em --epsilon 1,10,100 --trials 10000"


def manifests(name: str) -> dict[str, dict]:
    documents = yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8"))
    return {document["kind"]: document for document in documents}


def run(job: dict, data: Path, index: int) -> subprocess.CompletedProcess[str]:
    """A pod's only container, without the cluster."""
    container = job["spec"]["template"]["spec"]["containers"][0]
    given = {variable["name"]: variable["value"] for variable in container["env"]}
    environment = {**os.environ, **given, "DATA": str(data), "TEDA_CACHE": str(data / "cache")}
    environment["JOB_COMPLETION_INDEX"] = str(index)
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    arguments = [text.replace(LARGE, SMALL) for text in container["args"]]
    return subprocess.run([*container["command"], *arguments], env=environment, capture_output=True, text=True)


def test_the_form_of_the_manifests() -> None:
    shards, merge = manifests("shards.yaml"), manifests("merge.yaml")
    claim, job = shards["PersistentVolumeClaim"], shards["Job"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["backoffLimitPerIndex"] > 0
    assert job["spec"]["maxFailedIndexes"] <= job["spec"]["completions"]
    assert f"$shard/{job['spec']['completions']}\"" in job["spec"]["template"]["spec"]["containers"][0]["args"][0]
    actions = {}
    for rule in job["spec"]["podFailurePolicy"]["rules"]:
        for code in rule.get("onExitCodes", {}).get("values", ["condition"]):
            actions[code] = rule["action"]
    assert actions == {2: "FailIndex", 130: "Ignore", "condition": "Ignore"}
    for job in (job, merge["Job"]):
        assert job["apiVersion"] == "batch/v1"
        pod = job["spec"]["template"]["spec"]
        # What a policy for failures asks for.
        assert pod["restartPolicy"] == "Never"
        [container], [volume] = pod["containers"], pod["volumes"]
        for rule in job["spec"]["podFailurePolicy"]["rules"]:
            if "onExitCodes" in rule:
                assert rule["onExitCodes"]["containerName"] == container["name"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert container["volumeMounts"] == [{"name": volume["name"], "mountPath": "/data"}]
        assert {"name": "DATA", "value": "/data"} in container["env"]


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no sh")
def test_the_indices_are_the_shards_of_one_run(tmp_path: Path) -> None:
    job, merge = manifests("shards.yaml")["Job"], manifests("merge.yaml")["Job"]
    completions = job["spec"]["completions"]
    for index in range(completions - 1):
        done = run(job, tmp_path, index)
        assert done.returncode == 0, done.stderr
    missing = run(merge, tmp_path, 0)
    assert missing.returncode == 2 and f"{completions}/{completions}" in missing.stderr
    assert run(job, tmp_path, completions - 1).returncode == 0
    # A pod that is begun again finds that nothing is left to do.
    assert run(job, tmp_path, 0).returncode == 0
    for _ in range(2):
        joined = run(merge, tmp_path, 0)
        assert joined.returncode == 0, joined.stderr
    whole = teda_audit.audit("krr", epsilon=2, texts="categories:3", lambda_=0, trials=1200)
    for name in ("trials", "guesses", "texts"):
        left, right = ((run / f"{name}.parquet").read_bytes() for run in (tmp_path / "run", whole.directory))
        assert left == right, name
