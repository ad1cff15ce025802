"""SQLite's FTS5, tantivy and all-MiniLM-L6-v2 by ONNX Runtime, indexed and asked like bleve and ours.

usage: peers.py fts5|tantivy|minilm index ROOT DIR
       peers.py fts5|tantivy|minilm ask DIR PROMPTS THREADS SECONDS
"""
import glob, importlib, json, os, re, sqlite3, sys, threading, time


def skills(root):
    """Yields folder, name, description and body of what "ours write" has written."""
    for path in sorted(glob.glob(root + "/**/SKILL.md", recursive=True)):
        with open(path, encoding="utf-8", newline="") as f:
            front, _, body = f.read()[4:].partition("\n---\n")
        fields = dict(line.split(": ", 1) for line in front.split("\n"))
        yield os.path.basename(os.path.dirname(path)), json.loads(fields["name"]), json.loads(fields["description"]), body


class Fts5:
    def index(root, dir):
        db = sqlite3.connect(dir + "/fts.db")
        db.execute("CREATE VIRTUAL TABLE s USING fts5(folder UNINDEXED, name, description, body, tokenize='porter unicode61')")
        db.executemany("INSERT INTO s VALUES (?, ?, ?, ?)", skills(root))
        db.commit()

    def __init__(self, dir, threads):
        self.dir, self.own = dir, threading.local()  # a connection for each thread

    def best(self, prompt):
        if not hasattr(self.own, "db"):
            self.own.db = sqlite3.connect("file:%s/fts.db?mode=ro" % self.dir, uri=True)
        words = dict.fromkeys(re.findall(r"\w+", prompt.lower()))
        query = " OR ".join('"%s"' % w for w in words)
        rows = self.own.db.execute("SELECT folder FROM s WHERE s MATCH ? ORDER BY rank LIMIT 5", (query,)).fetchall()
        return rows[0][0] if rows else ""


class Tantivy:
    def index(root, dir):
        import tantivy
        fields = tantivy.SchemaBuilder().add_text_field("folder", stored=True, tokenizer_name="raw")
        for name in ("name", "description", "body"):
            fields = fields.add_text_field(name, tokenizer_name="en_stem")
        writer = tantivy.Index(fields.build(), path=dir).writer()
        for folder, name, description, body in skills(root):
            writer.add_document(tantivy.Document(folder=folder, name=name, description=description, body=body))
        writer.commit()
        writer.wait_merging_threads()

    def __init__(self, dir, threads):
        import tantivy
        self.i = tantivy.Index.open(dir)
        self.searcher = self.i.searcher()

    def best(self, prompt):
        words = " ".join(re.findall(r"\w+", prompt.lower()))
        query, _ = self.i.parse_query_lenient(words, ["name", "description", "body"])
        hits = self.searcher.search(query, 5, count=False).hits
        docs = [self.searcher.doc(at)["folder"][0] for _, at in hits]
        return docs[0] if docs else ""


class Minilm:
    """Embeds names and descriptions, as finders of skills do, and compares with all of them."""

    def index(root, dir):
        import numpy
        listed = [(folder, name + ": " + description) for folder, name, description, _ in skills(root)]
        listed.sort(key=lambda s: len(s[1]))  # texts of about one length make a batch
        model = Minilm.model(1)
        vectors = [Minilm.embed(model, [t for _, t in listed[i:i + 8]]) for i in range(0, len(listed), 8)]
        numpy.save(dir + "/vectors.npy", numpy.concatenate(vectors))
        with open(dir + "/folders.json", "w") as f:
            json.dump([folder for folder, _ in listed], f)

    def model(threads):
        import onnxruntime, tokenizers
        import onnxmodel
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = max(1, len(os.sched_getaffinity(0)) // threads)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # its threads would use up a processor
        tokens = tokenizers.Tokenizer.from_file(onnxmodel.FOLDER + "/tokenizer.json")
        tokens.enable_truncation(256)
        tokens.enable_padding()
        return tokens, onnxruntime.InferenceSession(onnxmodel.path(), options, providers=["CPUExecutionProvider"])

    def embed(model, texts):
        import numpy
        tokens, session = model
        coded = tokens.encode_batch(texts)
        ids, mask = (numpy.array([getattr(c, k) for c in coded], numpy.int64) for k in ("ids", "attention_mask"))
        states, = session.run(None, {"ids": ids, "mask": mask})
        sums = (states * mask[:, :, None]).sum(1)
        return (sums / numpy.linalg.norm(sums, axis=1, keepdims=True)).astype(numpy.float32)

    def __init__(self, dir, threads):
        os.environ["OPENBLAS_NUM_THREADS"] = str(max(1, len(os.sched_getaffinity(0)) // threads))
        import numpy
        self.model, self.vectors = Minilm.model(threads), numpy.load(dir + "/vectors.npy")
        with open(dir + "/folders.json") as f:
            self.folders = json.load(f)

    def best(self, prompt):
        import numpy
        near = self.vectors @ Minilm.embed(self.model, [prompt])[0]
        first = numpy.argpartition(-near, min(5, len(near) - 1))[:5]
        return self.folders[first[numpy.argmax(near[first])]]


def measure(best, prompts, threads, seconds):
    took, lock, count = [], threading.Lock(), iter(range(1 << 60))
    cpu, start = time.process_time(), time.monotonic()

    def client():
        while True:
            with lock:
                i = next(count)
            if i % len(prompts) == 0 and time.monotonic() - start >= seconds:
                return  # only whole rounds: all prompts must count equally
            begun = time.perf_counter()
            best(prompts[i % len(prompts)])
            took.append((time.perf_counter() - begun) * 1000)

    clients = [threading.Thread(target=client) for _ in range(threads)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    took.sort()
    n, cpu = len(took), time.process_time() - cpu
    return {"p50": took[n // 2], "p99": took[n * 99 // 100], "per_s": n / (time.monotonic() - start), "cpu_ms": cpu * 1000 / n}


def main():
    peer = {"fts5": Fts5, "tantivy": Tantivy, "minilm": Minilm}[sys.argv[1]]
    if sys.argv[2] == "index":
        os.makedirs(sys.argv[4])
        peer.index(sys.argv[3], sys.argv[4])
        return
    directory, file, threads, seconds = sys.argv[3:]
    threads, seconds = int(threads), float(seconds)
    with open(file) as f:
        prompts = json.load(f)
    opened = peer(directory, threads)
    top = [opened.best(p) for p in prompts]
    print(json.dumps(measure(opened.best, prompts, threads, seconds) if seconds else {"top": top}))


main()
