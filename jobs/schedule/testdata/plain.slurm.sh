#!/usr/bin/env bash
# The espalier job smoke on Slurm: run this file where sbatch is; it prints the ids of what it submits.
set -euo pipefail

# A task: what sbatch runs of this very file. Exit code 75 (a lock, a full disk) puts it back into the queue, at most five times.
if [ "${1-}" = task ]; then
  shift
  code=0
  "$@" || code=$?
  if [ "$code" -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}" || true
  fi
  exit "$code"
fi

self=$(readlink -f "$0")
submit() { sbatch --parsable --requeue --kill-on-invalid-dep=yes "$@"; }

# sample
job1=$(submit --job-name=smoke:sample "$self" task espalier run jobs/smoke.yaml --store out/smoke --stage sample --progress plain)
echo "$job1" sample

# train
job2=$(submit --job-name=smoke:train --dependency=afterok:$job1 "$self" task espalier run jobs/smoke.yaml --store out/smoke --stage train --progress plain)
echo "$job2" train
