#!/usr/bin/env bash
# The espalier job coco 100% on Slurm: run this file where sbatch is; it prints the ids of what it submits.
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

# ingest
parts1=$(submit '--job-name=coco 100%:ingest' --mem=8G '--comment=a b' --array=0-3%2 "$self" task '/opt/my tools/espalier' run '/data/it'\''s here/job.yaml' --store '/data/store $(HOME)' --set 'train.name="a\b {{ x }}"' --set train.rate=50% --stage ingest --progress plain --of 4)
job1=$(submit '--job-name=coco 100%:ingest' --mem=8G '--comment=a b' --dependency=afterany:$parts1 "$self" task '/opt/my tools/espalier' run '/data/it'\''s here/job.yaml' --store '/data/store $(HOME)' --set 'train.name="a\b {{ x }}"' --set train.rate=50% --stage ingest --progress plain)
echo "$job1" ingest

# encode
parts2=$(submit '--job-name=coco 100%:encode' --mem=8G '--comment=a b' --array=0-3%2 --dependency=afterok:$job1 "$self" task '/opt/my tools/espalier' run '/data/it'\''s here/job.yaml' --store '/data/store $(HOME)' --set 'train.name="a\b {{ x }}"' --set train.rate=50% --stage encode --progress plain --of 4)
job2=$(submit '--job-name=coco 100%:encode' --mem=8G '--comment=a b' --dependency=afterany:$parts2 "$self" task '/opt/my tools/espalier' run '/data/it'\''s here/job.yaml' --store '/data/store $(HOME)' --set 'train.name="a\b {{ x }}"' --set train.rate=50% --stage encode --progress plain)
echo "$job2" encode

# grids
parts3=$(submit '--job-name=coco 100%:grids' --mem=8G '--comment=a b' --array=0-3%2 --dependency=afterok:$job1 "$self" task '/opt/my tools/espalier' run '/data/it'\''s here/job.yaml' --store '/data/store $(HOME)' --set 'train.name="a\b {{ x }}"' --set train.rate=50% --stage grids --progress plain --of 4)
job3=$(submit '--job-name=coco 100%:grids' --mem=8G '--comment=a b' --dependency=afterany:$parts3 "$self" task '/opt/my tools/espalier' run '/data/it'\''s here/job.yaml' --store '/data/store $(HOME)' --set 'train.name="a\b {{ x }}"' --set train.rate=50% --stage grids --progress plain)
echo "$job3" grids

# train[model=a/b,seed=1]
job4=$(submit '--job-name=coco 100%:train[model=a/b,seed=1]' --mem=8G '--comment=a b' --dependency=afterok:$job2:$job3 "$self" task '/opt/my tools/espalier' run '/data/it'\''s here/job.yaml' --store '/data/store $(HOME)' --set 'train.name="a\b {{ x }}"' --set train.rate=50% --stage 'train[model=a/b,seed=1]' --progress plain)
echo "$job4" 'train[model=a/b,seed=1]'

# train[model=a:b,seed=1]
job5=$(submit '--job-name=coco 100%:train[model=a:b,seed=1]' --mem=8G '--comment=a b' --dependency=afterok:$job2:$job3 "$self" task '/opt/my tools/espalier' run '/data/it'\''s here/job.yaml' --store '/data/store $(HOME)' --set 'train.name="a\b {{ x }}"' --set train.rate=50% --stage 'train[model=a:b,seed=1]' --progress plain)
echo "$job5" 'train[model=a:b,seed=1]'
