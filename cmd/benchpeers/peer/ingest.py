"""Ingests a raw corpus with datasets, pyarrow, polars or DuckDB: ingest.py TOOL CORPUS RAW OUT THREADS [CACHE].

The job is the same for each: read the raw file, drop rows without all columns, make id, task, source, target, references
and image of each row, and write them to Parquet shards of at most 50,000 rows, zstd 3. Prints rows and seconds, imports
not counted. With CACHE, datasets keeps its cache there, so that a second run finds all done.
"""
import collections
import json
import os
import sys
import tempfile
import time

TOOL, CORPUS, RAW, OUT, THREADS = sys.argv[1:6]
N = int(THREADS)
for name in ("OMP_NUM_THREADS", "ARROW_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = THREADS
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
SHARD = 50_000
QQP, COCO = RAW + "/QQP/train.tsv", RAW + "/dataset_coco.json"
QUESTIONS, ANNOTATIONS = RAW + "/v2_OpenEnded_mscoco_train2014_questions.json", RAW + "/v2_mscoco_train2014_annotations.json"
ADGEN = RAW + "/adgen/train.json"
LABELS = ("not_duplicate", "duplicate")


def shards(rows):
    k = max(1, -(-rows // SHARD))
    return [(i * SHARD, "%s/train-%05d-of-%05d.parquet" % (OUT, i, k)) for i in range(k)]


def most_frequent(answers):
    """The first of the most frequent."""
    return collections.Counter(answers).most_common(1)[0][0]


# ---- datasets


def with_datasets():
    import datasets as ds
    ds.disable_progress_bars()
    cache = sys.argv[6] if len(sys.argv) > 6 else tempfile.mkdtemp(dir=OUT)

    def load(kind, path, **kw):
        return ds.load_dataset(kind, data_files=path, split="train", cache_dir=cache, **kw)

    text = ds.Value("string")
    made = ds.Features({"id": text, "task": text, "source": text, "target": text, "references": ds.List(text), "image": text})
    indices = False
    if CORPUS == "qqp":
        columns = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
        t = load("csv", QQP, sep="\t", quoting=3, keep_default_na=False, na_values=[""], features=ds.Features({c: text for c in columns}))
        make = qqp_batch
    elif CORPUS == "coco":
        t, make = load("json", COCO, field="images"), coco_batch
    elif CORPUS == "vqa":
        t = load("json", QUESTIONS, field="questions")
        a = load("json", ANNOTATIONS, field="annotations")
        a = a.map(vqa_answers, batched=True, num_proc=N, remove_columns=a.column_names)
        place = {q: i for i, q in enumerate(a["question_id"])}
        t = t.filter(known, batched=True, fn_kwargs={"place": place})
        a = a.select([place[q] for q in t["question_id"]])
        t = ds.concatenate_datasets([t, a.remove_columns(["question_id"])], axis=1)
        make = vqa_batch
    else:
        t, make, indices = load("json", ADGEN), adgen_batch, True
    t = t.map(make, batched=True, with_indices=indices, num_proc=N, remove_columns=t.column_names, features=made)
    import pyarrow.parquet as pq
    files = shards(len(t))
    if len(sys.argv) > 6 and os.path.exists(files[-1][1]):
        return len(t)  # all is there
    for i, (_, path) in enumerate(files):
        part = t.shard(len(files), i, contiguous=True).with_format("arrow")[:]
        pq.write_table(part, path, compression="zstd", compression_level=3)
    return len(t)


def qqp_batch(b):
    keep = [i for i, (q, d) in enumerate(zip(b["question2"], b["is_duplicate"])) if q is not None and d is not None]
    n = len(keep)
    return {"id": ["qqp/train/" + b["id"][i] for i in keep], "task": ["qqp"] * n,
            "source": ["qqp question1: " + b["question1"][i] + " question2: " + b["question2"][i] for i in keep],
            "target": [LABELS[int(b["is_duplicate"][i])] for i in keep], "references": [[]] * n, "image": [None] * n}


def coco_batch(b):
    refs = [[s["raw"] for s in x] for x in b["sentences"]]
    n = len(refs)
    return {"id": ["coco/%s/%d" % x for x in zip(b["split"], b["cocoid"])], "task": ["caption"] * n, "source": ["caption:"] * n,
            "target": [r[0].strip() for r in refs], "references": refs, "image": [f[:-4] for f in b["filename"]]}


def vqa_answers(b):
    return {"question_id": b["question_id"], "answers_given": [[a["answer"] for a in x] for x in b["answers"]]}


def known(b, place):
    return [q in place for q in b["question_id"]]


def vqa_batch(b):
    n = len(b["question"])
    return {"id": ["vqa/train/%d" % q for q in b["question_id"]], "task": ["vqa"] * n, "source": ["vqa: " + q for q in b["question"]],
            "target": [most_frequent(x) for x in b["answers_given"]], "references": b["answers_given"],
            "image": ["COCO_train2014_%012d" % i for i in b["image_id"]]}


def adgen_batch(b, index):
    n = len(index)
    return {"id": ["adgen/train/%d" % i for i in index], "task": ["adgen"] * n, "source": [adgen_source(c) for c in b["content"]],
            "target": b["summary"], "references": [[s] for s in b["summary"]], "image": [None] * n}


def adgen_source(content):
    return "adgen: [[" + content.replace("#", ", ").replace("*", "], [") + "]]"


# ---- pyarrow


def with_pyarrow():
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    pa.set_cpu_count(N)
    pa.set_io_thread_count(N)
    text = pa.string()

    def constant(value, n, kind=text):
        return pa.array([value], kind).take(pa.array([0] * n, pa.int8()))

    join = pc.binary_join_element_wise
    if CORPUS == "qqp":
        import pyarrow.csv as csv
        types = {"id": text, "question1": text, "question2": text, "is_duplicate": pa.int8()}
        t = csv.read_csv(QQP, parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, double_quote=False, invalid_row_handler=lambda row: "skip"),
                         convert_options=csv.ConvertOptions(column_types=types, include_columns=list(types)))
        n = t.num_rows
        out = {"id": join("qqp/train/", t["id"], ""), "task": constant("qqp", n), "source": join("qqp question1: ", t["question1"], " question2: ", t["question2"], ""),
               "target": pa.array(LABELS).take(t["is_duplicate"].combine_chunks()), "references": constant([], n, pa.list_(text)), "image": pa.nulls(n, text)}
    elif CORPUS == "adgen":
        import pyarrow.json as pj
        t = pj.read_json(ADGEN)
        n, summary = t.num_rows, t["summary"].combine_chunks()
        body = pc.replace_substring(pc.replace_substring(t["content"], "#", ", "), "*", "], [")
        out = {"id": join("adgen/train/", pc.cast(pa.array(range(n)), text), ""), "task": constant("adgen", n), "source": join("adgen: [[", body, "]]", ""),
               "target": summary, "references": pa.ListArray.from_arrays(pa.array(range(n + 1), pa.int32()), summary), "image": pa.nulls(n, text)}
    elif CORPUS == "coco":  # one object: the standard module reads it
        with open(COCO, encoding="utf-8") as f:
            images = json.load(f)["images"]
        out = coco_batch({k: [x[k] for x in images] for k in ("sentences", "split", "cocoid", "filename")})
    else:
        with open(ANNOTATIONS, encoding="utf-8") as f:
            given = {x["question_id"]: [a["answer"] for a in x["answers"]] for x in json.load(f)["annotations"]}
        with open(QUESTIONS, encoding="utf-8") as f:
            rows = [q for q in json.load(f)["questions"] if q["question_id"] in given]
        out = vqa_batch({"question": [q["question"] for q in rows], "question_id": [q["question_id"] for q in rows],
                         "image_id": [q["image_id"] for q in rows], "answers_given": [given[q["question_id"]] for q in rows]})
    t = pa.table(out)
    for at, path in shards(t.num_rows):
        pq.write_table(t.slice(at, SHARD), path, compression="zstd", compression_level=3)
    return t.num_rows


# ---- polars


def with_polars():
    import polars as pl
    c, lit = pl.col, pl.lit
    none, empty = lit(None, dtype=pl.String), lit([], dtype=pl.List(pl.String))

    def inner(path, field):
        return pl.read_json(path, infer_schema_length=None).select(field).explode(field).unnest(field)

    if CORPUS == "qqp":
        t = pl.scan_csv(QQP, separator="\t", quote_char=None, infer_schema=False, truncate_ragged_lines=True)
        t = t.filter(c("question2").is_not_null(), c("is_duplicate").is_not_null())
        t = t.select(id=lit("qqp/train/") + c("id"), task=lit("qqp"), source=pl.format("qqp question1: {} question2: {}", "question1", "question2"),
                     target=pl.when(c("is_duplicate") == "1").then(lit(LABELS[1])).otherwise(lit(LABELS[0])), references=empty, image=none).collect()
    elif CORPUS == "adgen":
        body = c("content").str.replace_all("#", ", ", literal=True).str.replace_all("*", "], [", literal=True)
        t = pl.scan_ndjson(ADGEN).with_row_index("row").select(id=pl.format("adgen/train/{}", "row"), task=lit("adgen"), source=pl.concat_str(lit("adgen: [["), body, lit("]]")),
                                                               target=c("summary"), references=pl.concat_list("summary"), image=none).collect()
    elif CORPUS == "coco":
        raw = c("sentences").list.eval(pl.element().struct.field("raw"))
        t = inner(COCO, "images").select(id=pl.format("coco/{}/{}", "split", "cocoid"), task=lit("caption"), source=lit("caption:"),
                                         target=raw.list.first().str.strip_chars(), references=raw, image=c("filename").str.strip_suffix(".jpg"))
    else:
        a = inner(ANNOTATIONS, "annotations").select("question_id", given=c("answers").list.eval(pl.element().struct.field("answer")))
        t = inner(QUESTIONS, "questions").join(a, on="question_id", how="inner", maintain_order="left")
        mode = c("given").list.eval(pl.element().mode(maintain_order=True).first()).list.first()
        t = t.select(id=pl.format("vqa/train/{}", "question_id"), task=lit("vqa"), source=lit("vqa: ") + c("question"), target=mode, references=c("given"),
                     image=lit("COCO_train2014_") + c("image_id").cast(pl.String).str.zfill(12))
    for at, path in shards(t.height):
        t.slice(at, SHARD).write_parquet(path, compression="zstd", compression_level=3)
    return t.height


# ---- DuckDB


def with_duckdb():
    import duckdb
    db = duckdb.connect()
    db.execute("set threads=%d" % N)
    db.execute("set preserve_insertion_order=true")
    whole = "maximum_object_size=2000000000"
    if CORPUS == "qqp":
        query = """select 'qqp/train/' || id as id, 'qqp' as task, 'qqp question1: ' || question1 || ' question2: ' || question2 as source,
            case is_duplicate when '1' then 'duplicate' else 'not_duplicate' end as target, []::varchar[] as "references", null::varchar as image
            from read_csv('%s', delim='\t', quote='', escape='', header=true, all_varchar=true, null_padding=true, ignore_errors=true)
            where question2 is not null and is_duplicate is not null""" % QQP
    elif CORPUS == "adgen":
        query = """select 'adgen/train/' || (row_number() over () - 1) as id, 'adgen' as task, 'adgen: [[' || replace(replace(content, '#', ', '), '*', '], [') || ']]' as source,
            summary as target, [summary] as "references", null::varchar as image
            from read_json('%s', format='newline_delimited', columns={content: 'varchar', summary: 'varchar'})""" % ADGEN
    elif CORPUS == "coco":
        query = """select 'coco/' || x.split || '/' || x.cocoid as id, 'caption' as task, 'caption:' as source, trim(x.sentences[1].raw) as target,
            list_transform(x.sentences, lambda s: s.raw) as "references", replace(x.filename, '.jpg', '') as image from (select unnest(images) as x
            from read_json('%s', %s, columns={images: 'struct(filename varchar, split varchar, cocoid bigint, sentences struct(raw varchar)[])[]'}))""" % (COCO, whole)
    else:
        query = """with q as (select unnest(questions, recursive := true) from read_json('%s', %s, columns={questions: 'struct(image_id bigint, question varchar, question_id bigint)[]'})),
            a as (select x.question_id as qid, list_transform(x.answers, lambda s: s.answer) as given from (select unnest(annotations) as x
                from read_json('%s', %s, columns={annotations: 'struct(question_id bigint, answers struct(answer varchar)[])[]'})))
            select 'vqa/train/' || question_id as id, 'vqa' as task, 'vqa: ' || question as source, list_mode(given) as target, given as "references",
            'COCO_train2014_' || lpad(image_id::varchar, 12, '0') as image from q join a on q.question_id = a.qid""" % (QUESTIONS, whole, ANNOTATIONS, whole)
    db.execute("create table t as " + query)
    n = db.execute("select count(*) from t").fetchone()[0]
    for at, path in shards(n):
        db.execute("copy (select * from t where rowid >= %d and rowid < %d) to '%s' (format parquet, compression zstd, compression_level 3)" % (at, at + SHARD, path))
    return n


def main():
    __import__(TOOL)
    os.makedirs(OUT, exist_ok=True)
    begin = time.perf_counter()
    rows = {"datasets": with_datasets, "pyarrow": with_pyarrow, "polars": with_polars, "duckdb": with_duckdb}[TOOL]()
    import importlib.metadata as md
    print(json.dumps({"rows": rows, "seconds": time.perf_counter() - begin, "version": md.version(TOOL)}))


if __name__ == "__main__":
    main()
