"""Which operators of torch have structure: their class, from their schemas, and why the family
leaves some of them out."""

import fnmatch
from collections.abc import Iterator

#: The class of an overload is the first one that has one of its parameters, as type and name.
CLASSES = {
    "bag": ("Tensor offsets", "int num_weights"),
    "window": ("int[] kernel_size", "int[] dilation", "int[] output_padding"),
    "resampling": (
        "bool align_corners",
        "int[] output_size",
        "float? scales",
        "float? scales_h",
        "int[] padding",
        "int[] pad",
    ),
    "norm": ("float eps", "int[] normalized_shape", "int num_groups"),
    "loss": ("int reduction",),
    "attention": ("Tensor? attn_mask", "bool is_causal"),
    "place": (
        "Tensor index",
        "Tensor indices",
        "Tensor?[] indices",
        "Tensor mask",
        "Tensor? sorter",
        "Tensor boundaries",
        "str reduce",
    ),
    "triangle": ("bool upper", "str UPLO", "bool pivot", "bool hermitian"),
    "product": (
        "Tensor mat2",
        "Tensor mat1",
        "Tensor batch1",
        "Tensor vec",
        "Tensor vec2",
        "Tensor weight",
        "float p",
    ),
    "reduction": ("bool keepdim", "bool unbiased"),
    "row": ("int dim", "int? dim"),
}

#: Globs of overloads of a class that the family does not call, and why.
EXCUSED = {
    "*_backward*": "the gradient of its operator is asked for",
    "*_copy*": "a view that is copied; operators/views",
    "_*_forward": "its public name is called",
    "_embedding_bag": "embedding_bag is called, whose implementation it is",
    "_softmax": "softmax.int is called, whose implementation it is",
    "_log_softmax": "log_softmax.int is called, whose implementation it is",
    "special_*": "another name of an operator that is called",
    "ger": "another name of outer",
    "norm.*": "another name of linalg_vector_norm",
    "trapz.*": "another name of trapezoid",
    "frobenius_norm.dim": "another name of linalg_vector_norm",
    "nuclear_norm*": "another name of linalg_matrix_norm",
    "linalg_norm*": "calls linalg_vector_norm or linalg_matrix_norm",
    "linalg__powsum": "the inner part of linalg_vector_norm",
    "linalg_vecdot": "a product and its sum; operators/products",
    "hash_tensor": "bits, not numbers; operators/reductions",
    "norm_except_dim": "calls linalg_vector_norm",
    "cat": "moves elements; operators/joins",
    "concat": "another name of cat",
    "concatenate": "another name of cat",
    "stack": "moves elements; operators/joins",
    "unsafe_*": "moves elements; operators/along-a-dimension",
    "repeat_interleave.*": "moves elements; operators/searches",
    "*_scatter": "moves elements; operators/masked-and-placed",
    "unique_*": "the length of its results is in the data; operators/searches",
    "gradient.*": "calls diff and slices; operators/searches",
    "glu": "asks for an even size; operators/along-a-dimension",
    "glu_jvp": "of forward differentiation, which no case has",
    "fft_*": "transforms have a family: operators/fourier-transforms",
    "pad": "calls constant_pad_nd, reflection_pad and replication_pad",
    "grid_sampler": "calls grid_sampler_2d and grid_sampler_3d",
    "adaptive_avg_pool[23]d": "calls what is called",
    "max_pool[123]d": "max_pool1d_with_indices and its relatives are called",
    "max_unpool3d": "as max_unpool2d; operators/pooling",
    "convolution": "conv1d and its relatives are called, which call it",
    "*_overrideable": "a place for backends, without a kernel of torch",
    "mkldnn_convolution": "an implementation; convolution calls it where it applies",
    "slow_conv*": "an implementation; operators/convolutions",
    "thnn_conv2d": "an implementation; operators/convolutions",
    "_native_batch_norm_legit*": "batch_norm is called, whose implementation it is",
    "cholesky": "linalg_cholesky_ex is called",
    "linalg_cholesky": "calls linalg_cholesky_ex",
    "linalg_eigh": "the signs of its vectors are free; operators/factorisations",
    "linalg_ldl_*": "linalg_ldl_factor is called",
    "linalg_lu_factor_ex": "linalg_lu_factor is called",
    "linalg_matrix_rank*": "a count by a bound; operators/linear-algebra",
    "linalg_pinv*": "by svd; operators/linear-algebra",
    "nll_loss_*": "nll_loss is called",
    "nll_loss2d_forward": "nll_loss2d is called",
    "multilabel_margin_loss_forward": "multilabel_margin_loss is called",
    "ctc_loss.*": "four lengths that must fit; operators/losses",
    "embedding_renorm": "writes to its argument; operators/embeddings",
    "fbgemm_*": "for one library's packed weights",
    "smm": "of sparse tensors, which no case has",
    "sspaddmm": "of sparse tensors, which no case has",
    "prelu": "pointwise, but for its weights; operators/two-tensors-more",
}


def name_of(operator: str, overload: str) -> str:
    """As cases call it."""
    short = operator.removeprefix("aten::")
    return short if overload == "default" else f"{short}.{overload}"


def class_of(overload: dict) -> str | None:
    """The class, of `CLASSES`, of an overload of a dump of torch's schemas."""
    parameters = {f"{each['type']} {each['name']}" for each in overload["arguments"]}
    for name, wanted in CLASSES.items():
        if parameters & {*wanted}:
            return name
    return None


def structured(operators: dict) -> Iterator[tuple[str, str]]:
    """(overload, class) of those that a case can call on a CPU: functional ones of dense tensors
    that are not pointwise and draw nothing."""
    for operator, overloads in operators.items():
        for each in overloads if operator.startswith("aten::") else ():
            name = name_of(operator, each["overload"])
            types = [argument["type"] for argument in each["arguments"]]
            if (
                each["cpu"]
                and (not name.startswith("_") or "core" in each["tags"])
                and not {"pointwise", "nondeterministic_seeded", "inplace_view"} & {*each["tags"]}
                and not any(argument["mutates"] for argument in each["arguments"])
                and not any(
                    word in kind for kind in types for word in ("Dimname", "Generator", "Layout")
                )
                and any(kind.startswith("Tensor") for kind in types)
                and each["returns"]
                and all(result["type"].startswith("Tensor") for result in each["returns"])
                and not any("alias_of" in result for result in each["returns"])
                and (found := class_of(each))
            ):
                yield name, found


def unlisted(operators: dict, called: set[str]) -> dict[str, str]:
    """Overload → class, of those that are neither called nor excused. An overload counts as called
    if another one of its operator is."""
    names = {each.partition(".")[0] for each in called}
    return {
        name: of
        for name, of in structured(operators)
        if name.partition(".")[0] not in names
        and not any(fnmatch.fnmatchcase(name, glob) for glob in EXCUSED)
    }
