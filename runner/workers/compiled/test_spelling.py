"""Spelling of overloads: the text, and that Python reaches the overload it stands for."""

import re
import warnings

import pytest
import torch

from lockstep_worker.problems import Malformed, Unsupported
from lockstep_worker.spelling import Argument, resolve, spell, table

#: overload, arguments -> spelling. One-letter words are tensors (see `tensors`), `nn.` is either
#: of torch.nn.functional and torch._C._nn.
TABLE = """
add.Tensor x y -> x.add(y)
add.Tensor x 1 -> x.add(1)
add.Tensor 1 x -> torch.add(1, x)
add_.Tensor x y -> x.add_(y)
sub.Tensor x y -> x.sub(y)
mul.Tensor x 2.5 -> x.mul(2.5)
div.Tensor_mode x y rounding_mode='floor' -> x.div(y, rounding_mode='floor')
pow.Tensor_Scalar x 2 -> x.pow(2)
pow.Scalar 2 x -> torch.pow(2, x)
pow.Tensor_Tensor x y -> x.pow(y)
relu.default x -> x.relu()
relu_.default x -> x.relu_()
sigmoid.default x -> x.sigmoid()
exp.default x -> x.exp()
rsqrt.default x -> x.rsqrt()
atan2.default x y -> x.atan2(y)
clamp.default x 0.0 1.0 -> x.clamp(0.0, 1.0)
clamp.Tensor x None y -> x.clamp(None, y)
clamp_min.default x 0.5 -> x.clamp_min(0.5)
where.self b x y -> torch.where(b, x, y)
where.ScalarOther b x 0.0 -> torch.where(b, x, 0.0)
where.Scalar b 1.0 2.0 -> torch.where(b, 1.0, 2.0)
to.dtype x torch.float16 -> x.to(torch.float16)
to.dtype x torch.float16 False True -> x.to(torch.float16, False, True)
to.dtype q torch.float16 False True torch.channels_last -> q.to(torch.float16, False, True, memory_format=torch.channels_last)
_to_copy.default x dtype=torch.float64 -> torch.ops.aten._to_copy.default(x, dtype=torch.float64)
clone.default x -> x.clone()
type_as.default x y -> x.type_as(y)
sum.default x -> x.sum()
sum.dim_IntList x [0] -> x.sum([0])
mean.dim x [1] True -> x.mean([1], True)
var.correction x [0] correction=0 -> x.var([0], correction=0)
var.dim x [0] False -> x.var([0], False)
std_mean.correction x [0] correction=1 -> torch.std_mean(x, [0], correction=1)
prod.dim_int x 0 -> x.prod(0)
amax.default x [0] -> x.amax([0])
max.default x -> x.max()
max.dim x 0 -> x.max(0)
max.other x y -> x.max(y)
argmax.default x -> x.argmax()
all.dim b 0 -> b.all(0)
any.default b -> b.any()
logsumexp.default x [0] -> x.logsumexp([0])
norm.ScalarOpt_dim x 2.0 [0] -> torch.ops.aten.norm.ScalarOpt_dim(x, 2.0, [0])
cumsum.default x 0 -> x.cumsum(0)
sort.default x -> x.sort()
sort.stable x stable=True -> x.sort(stable=True)
topk.default x 2 -> x.topk(2)
median.dim x 0 -> x.median(0)
count_nonzero.default x -> x.count_nonzero()
mm.default x y -> x.mm(y)
matmul.default x y -> x.matmul(y)
bmm.default t t -> t.bmm(t)
addmm.default x x y beta=2 -> x.addmm(x, y, beta=2)
linear.default x y -> nn.linear(x, y)
einsum.default 'ij,jk->ik' [x,y] -> torch.ops.aten.einsum.default('ij,jk->ik', [x,y])
dot.default v v -> v.dot(v)
outer.default v v -> v.outer(v)
baddbmm.default t t t -> t.baddbmm(t, t)
view.default x [9] -> x.view([9])
reshape.default x [-1] -> x.reshape([-1])
permute.default x [1,0] -> x.permute([1,0])
transpose.int x 0 1 -> x.transpose(0, 1)
t.default x -> x.t()
squeeze.dim x 0 -> x.squeeze(0)
unsqueeze.default x 0 -> x.unsqueeze(0)
expand.default v [3,3] -> v.expand([3,3])
slice.Tensor x 0 0 2 -> torch.ops.aten.slice.Tensor(x, 0, 0, 2)
select.int x 0 1 -> x.select(0, 1)
narrow.default x 0 0 2 -> x.narrow(0, 0, 2)
split.Tensor x 2 -> torch.ops.aten.split.Tensor(x, 2)
split_with_sizes.default x [1,2] -> x.split_with_sizes([1,2])
chunk.default x 2 -> x.chunk(2)
unbind.int x -> x.unbind()
cat.default [x,y] 1 -> torch.cat([x,y], 1)
stack.default [x,y] -> torch.stack([x,y])
flip.default x [0] -> x.flip([0])
roll.default x [1] [0] -> x.roll([1], [0])
tril.default x -> x.tril()
diagonal.default x -> x.diagonal()
as_strided.default x [2,2] [1,1] -> x.as_strided([2,2], [1,1])
mT.default x -> torch.ops.aten.mT.default(x)
flatten.using_ints x -> x.flatten()
unfold.default x 0 2 1 -> x.unfold(0, 2, 1)
repeat.default x [2,1] -> x.repeat([2,1])
tile.default x [2] -> x.tile([2])
gather.default x 0 i -> x.gather(0, i)
index_select.default x 0 k -> x.index_select(0, k)
index.Tensor x [k] -> torch.ops.aten.index.Tensor(x, [k])
index_put.default x [k] y -> x.index_put([k], y)
index_put_.default x [k] y -> x.index_put_([k], y)
index_put.default x [None,k] y -> torch.ops.aten.index_put.default(x, [None,k], y)
scatter.value x 0 i 1.0 -> x.scatter(0, i, 1.0)
scatter_add.default x 0 i y -> x.scatter_add(0, i, y)
masked_fill.Scalar x b 0.0 -> x.masked_fill(b, 0.0)
take.default x k -> x.take(k)
nonzero.default x -> x.nonzero()
zeros.default [2] -> torch.zeros([2])
full.default [2] 1.5 -> torch.full([2], 1.5)
arange.default 4 -> torch.arange(4)
arange.start_step 0 4 2 -> torch.arange(0, 4, 2)
ones_like.default x -> torch.ones_like(x)
empty_like.default x -> torch.empty_like(x)
rand.default [2] -> torch.rand([2])
bernoulli.p x 0.5 -> x.bernoulli(0.5)
scalar_tensor.default 3.0 -> torch.scalar_tensor(3.0)
linspace.default 0.0 1.0 5 -> torch.linspace(0.0, 1.0, 5)
eye.default 3 -> torch.eye(3)
gelu.default x approximate='tanh' -> nn.gelu(x, approximate='tanh')
silu.default x -> nn.silu(x)
softplus.default x -> nn.softplus(x)
leaky_relu.default x 0.1 -> nn.leaky_relu(x, 0.1)
elu.default x -> nn.elu(x)
hardtanh.default x -> nn.hardtanh(x)
mse_loss.default x y -> nn.mse_loss(x, y, reduction=1)
mse_loss.default x y 0 -> nn.mse_loss(x, y, 0)
l1_loss.default x y reduction=2 -> nn.l1_loss(x, y, reduction=2)
huber_loss.default x y -> nn.huber_loss(x, y, reduction=1)
log_sigmoid.default x -> nn.log_sigmoid(x)
glu.default w -> nn.glu(w)
one_hot.default k -> nn.one_hot(k)
upsample_nearest2d.vec q None [2.0,2.0] -> nn.upsample_nearest2d(q, None, [2.0,2.0])
pad.default x [1,1] 'constant' 0.0 -> nn.pad(x, [1,1], 'constant', 0.0)
reflection_pad1d.default x [1,1] -> nn.reflection_pad1d(x, [1,1])
avg_pool2d.default q [2,2] -> nn.avg_pool2d(q, [2,2])
adaptive_avg_pool2d.default q [1,1] -> nn.adaptive_avg_pool2d(q, [1,1])
scaled_dot_product_attention.default t t t -> nn.scaled_dot_product_attention(t, t, t)
nll_loss.default x k -> nn.nll_loss(x, k, reduction=1)
cross_entropy_loss.default x k -> nn.cross_entropy_loss(x, k, reduction=1)
conv2d.default q r -> torch.conv2d(q, r)
convolution.default q r None [1,1] [0,0] [1,1] False [0,0] 1 -> torch.convolution(q, r, None, [1,1], [0,0], [1,1], False, [0,0], 1)
conv2d.padding q r None [1,1] 'same' -> torch.conv2d(q, r, None, [1,1], 'same')
batch_norm.default q None None None None True 0.1 1e-05 False -> torch.batch_norm(q, None, None, None, None, True, 0.1, 1e-05, False)
layer_norm.default x [3] -> torch.layer_norm(x, [3])
group_norm.default q 1 -> torch.group_norm(q, 1)
embedding.default x k -> torch.embedding(x, k)
dropout.default x 0.5 True -> torch.dropout(x, 0.5, True)
softmax.int x 0 -> x.softmax(0)
log_softmax.int x 0 -> x.log_softmax(0)
_softmax.default x 0 False -> torch._softmax(x, 0, False)
max_pool2d.default q [2,2] -> torch.max_pool2d(q, [2,2])
native_layer_norm.default x [3] None None 1e-05 -> torch.native_layer_norm(x, [3], None, None, 1e-05)
special_erf.default x -> torch.special.erf(x)
special_zeta.default x y -> torch.special.zeta(x, y)
special_expit.default x -> torch.special.expit(x)
linalg_qr.default x -> torch.linalg.qr(x)
linalg_norm.default x -> torch.linalg.norm(x)
linalg_vector_norm.default x -> torch.linalg.vector_norm(x)
linalg_cholesky_ex.default s -> torch.linalg.cholesky_ex(s)
linalg_solve.default s x -> torch.linalg.solve(s, x)
fft_fft.default x -> torch.fft.fft(x)
fft_rfft.default x -> torch.fft.rfft(x)
fft_ifft2.default x -> torch.fft.ifft2(x)
bitwise_and.Tensor k k -> k.bitwise_and(k)
__and__.Tensor k k -> k.__and__(k)
bitwise_left_shift.Tensor_Scalar k 1 -> k.bitwise_left_shift(1)
floor_divide.default x y -> x.floor_divide(y)
remainder.Scalar x 2 -> x.remainder(2)
logical_not.default b -> b.logical_not()
eq.Scalar x 1 -> x.eq(1)
lt.Tensor x y -> x.lt(y)
isnan.default x -> x.isnan()
lerp.Scalar x y 0.5 -> x.lerp(y, 0.5)
addcmul.default x y y value=2 -> x.addcmul(y, y, value=2)
fmod.Tensor x y -> x.fmod(y)
complex.default x y -> torch.complex(x, y)
view_as_real.default c -> torch.view_as_real(c)
real.default c -> torch.real(c)
item.default u -> u.item()
_local_scalar_dense.default u -> torch.ops.aten._local_scalar_dense.default(u)
add.out x y out=o -> torch.add(x, y, out=o)
max.dim_max x 0 max=o3 max_values=k3 -> torch.max(x, 0, out=(o3, k3))
_foreach_add.Scalar [x,y] 1 -> torch._foreach_add([x,y], 1)
rot90.default x -> x.rot90()
trapezoid.x x y -> torch.trapezoid(x, y)
"""  # noqa: E501  one call a line

#: The same values by another overload, since bindings choose by the arguments.
EQUIVALENT = """
add.Scalar x 1 -> x.add(1)
add.Scalar x 1.5 2.5 -> x.add(1.5, alpha=2.5)
mul_.Scalar x 2 -> x.mul_(2)
eq.Tensor x 1 -> x.eq(1)
to.other x y -> x.to(y)
conj.default c -> c.conj()
contiguous.default x -> x.contiguous()
is_contiguous.memory_format q torch.channels_last -> q.is_contiguous(memory_format=torch.channels_last)
size.int x 0 -> x.size(0)
sym_size.int x -1 -> x.size(-1)
is_floating_point.default x -> x.is_floating_point()
"""  # noqa: E501  one call a line


def tensors():
    positive = torch.rand(3, 3) + 0.1
    return {
        "torch": torch,
        "x": positive.clone(),
        "y": torch.rand(3, 3) + 0.1,
        "b": torch.rand(3, 3) > 0.5,
        "t": torch.rand(2, 3, 3),
        "v": torch.rand(3),
        "i": torch.zeros(3, 3, dtype=torch.int64),
        "k": torch.tensor([0, 2, 1]),
        "q": torch.rand(1, 2, 4, 4),
        "r": torch.rand(2, 2, 3, 3),
        "w": torch.rand(2, 4),
        "s": positive @ positive.t() + torch.eye(3),
        "c": torch.rand(3, dtype=torch.complex64),
        "u": torch.rand(()),
        "o": torch.empty(3, 3),
        "o3": torch.empty(3),
        "k3": torch.empty(3, dtype=torch.int64),
    }


def argument(text):
    kind = (
        "tensor"
        if re.fullmatch(r"[a-z]3?", text)
        else "number"
        if re.fullmatch(r"-?[\d.e-]+|True|False", text)
        else "gaps"
        if "None," in text
        else "other"
    )
    return Argument(text, kind)


def spelled(row):
    call, expected = row.split(" -> ")
    name, *words = call.split(" ")
    named = re.compile(r"([a-z_]+)=(.*)")
    args = [argument(word) for word in words if not named.match(word)]
    kwargs = {m.group(1): argument(m.group(2)) for m in map(named.match, words) if m}
    op = resolve(f"aten::{name}")
    return op, spell(op, args, kwargs), expected


def rows(text):
    return [row for row in text.splitlines() if row]


def reached(text, scope):
    config = torch._C._profiler._ExperimentalConfig(capture_overload_names=True)
    with torch.autograd.profiler.profile(use_kineto=True, experimental_config=config) as profile:
        eval(text, scope)
    return [(e.name, e.overload_name) for e in profile.function_events if e.cpu_parent is None]


def test_the_table_holds_enough():
    assert len(rows(TABLE)) > 150
    assert len(table()) > 2000


def test_texts():
    wrong = []
    for row in rows(TABLE) + rows(EQUIVALENT):
        _, text, expected = spelled(row)
        if re.sub(r"torch\.nn\.functional\.|torch\._C\._nn\.", "nn.", text) != expected:
            wrong.append((row, text))
    assert not wrong


def test_python_reaches_the_overload():
    torch.manual_seed(0)
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows(TABLE):
            op, text, _ = spelled(row)
            calls = reached(text, tensors())
            if (op._schema.name, op._schema.overload_name) not in calls:
                wrong.append((row, calls))
    assert not wrong


def test_equivalents_run():
    for row in rows(EQUIVALENT):
        eval(spelled(row)[1], tensors())


def test_a_number_that_python_cannot_wrap():
    op = resolve("aten::maximum.default")
    with pytest.raises(Unsupported, match="takes no number for its Tensor 'other'"):
        spell(op, [Argument("x", "tensor"), Argument("2", "number")], {})


def test_layout_of_to_is_written_out():
    op = resolve("aten::to.dtype_layout")
    text = spell(op, [Argument("x", "tensor")], {"layout": Argument("torch.strided", "other")})
    assert text == "torch.ops.aten.to.dtype_layout(x, layout=torch.strided)"


@pytest.mark.parametrize(
    "name",
    [
        "add.Tensor",
        "aten::add",
        "aten::add.Tensor; 1",
        "aten::add.Tensor\n",
        7,
        None,
        "aten::add.__class__.x",
    ],
)
def test_what_is_no_operator(name):
    with pytest.raises(Malformed):
        resolve(name)


@pytest.mark.parametrize(
    "name",
    [
        "aten::add.Nope",
        "aten::nope.default",
        "aten::save.default",
        "nope::add.Tensor",
        "aten::from_file.default",
        "aten::import_module.default",
    ],
)
def test_what_is_not_executed(name):
    with pytest.raises(Unsupported):
        resolve(name)


def test_arguments_follow_the_schema():
    op = resolve("aten::relu.default")
    x = Argument("x", "tensor")
    for args, kwargs in (([x, x], {}), ([x], {"self": x}), ([x], {"nope": x})):
        with pytest.raises(Malformed):
            spell(op, args, kwargs)
    with pytest.raises(Unsupported, match="Generator"):
        spell(
            resolve("aten::rand.generator"),
            [Argument("[2]", "other")],
            {"generator": Argument("g", "other")},
        )
