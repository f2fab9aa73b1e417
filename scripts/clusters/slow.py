"""A mechanism that takes its time in some tasks at their first attempt, so that they are met at work.

What it releases depends on the text and the seed alone: the text itself, or one of two words.
"""

import json
import os
import random
import sys
import time

task = {name: os.environ.get("SLURM_" + name) for name in ("JOB_NAME", "ARRAY_TASK_ID", "ARRAY_TASK_MAX", "RESTART_COUNT")}
slow = task["JOB_NAME"] == "slow" and task["ARRAY_TASK_MAX"] == "7" and task["ARRAY_TASK_ID"] in tuple("1234")
if task["RESTART_COUNT"] or "TEDA_AGAIN" in os.environ:
    slow = False
for line in sys.stdin:
    query = json.loads(line)
    time.sleep(0.4 if slow else 0)
    draw = random.Random(query["seed"]).random()
    text = query["text"] if draw < 0.3 else "yes" if draw < 0.6 else "no"
    print(json.dumps({"id": query["id"], "text": text}), flush=True)
