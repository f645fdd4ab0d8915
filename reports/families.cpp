#include "reports/families.h"

#include <algorithm>

#include "base/text.h"

namespace lockstep {
namespace {

// Columns: name, tag, globs, which are names as in torch's native_functions.yaml.  A sweep says how
// inputs are chosen, not what is computed; but sweeps take pointwise operators alone, casts and
// gradients among them.
constexpr Family kFamilies[] = {
    Family{"pointwise sweeps", "sweep", ""},
    Family{"transcendental", "transcendental", ""},
    Family{"casts", "precision-cast",
           "to _to_copy type_as view_as_complex view_as_real *quantize* float half double int long "
           "bool"},
    Family{"reductions", "reduction",
           "sum mean prod amax amin max min any all argmax argmin aminmax var var_mean std "
           "std_mean norm *vector_norm logsumexp nansum nanmean count_nonzero trace dist cdist* "
           "pdist *_reduce"},
    Family{"matrix products", "matmul",
           "mm bmm matmul addmm addmv addbmm baddbmm addr linear bilinear dot vdot mv einsum "
           "tensordot inner outer ger kron chain_matmul *_mm *_mm_* linalg_matmul linalg_multi_dot "
           "linalg_vecdot"},
    Family{"convolutions", "convolution",
           "conv* _conv* *_conv* thnn_conv* slow_conv* im2col col2im fold unfold"},
    Family{"attention", "attention", "*attention*"},
    Family{"normalizations", "normalization",
           "*softmax* *batch_norm* *layer_norm* *group_norm* *instance_norm* *rms_norm* normalize "
           "*local_response_norm* renorm *weight_norm*"},
    Family{"pooling", "pooling",
           "*pool* upsample* _upsample* interpolate grid_sample* *grid_sampler*"},
    Family{"indexing", "index",
           "index* _index* gather scatter* take take_along_dim masked_* *_scatter embedding* "
           "_embedding* nonzero* where put* _unsafe_index* unsafe_index* argwhere"},
    Family{"random numbers", "random",
           "rand* normal normal_* bernoulli* uniform* *dropout* multinomial exponential* cauchy* "
           "geometric* log_normal* random* poisson rrelu*"},
    Family{"losses", "", "*_loss *_loss_* cross_entropy* kl_div* *cross_entropy*"},
    Family{"linear algebra and FFT", "",
           "linalg_* cholesky* svd qr lu* det logdet slogdet inverse pinverse triangular_solve "
           "matrix_* fft_* _fft_* stft istft geqrf ormqr orgqr lobpcg"},
    Family{"sorting and scans", "",
           "sort argsort msort topk kthvalue cumsum cumprod cummax cummin logcumsumexp median "
           "nanmedian mode unique* _unique* searchsorted bucketize quantile nanquantile histc "
           "histogram* bincount"},
    Family{"shapes and copies", "",
           "view* _unsafe_view reshape* transpose* permute* cat concat* stack *stack split* chunk "
           "tensor_split expand* squeeze* unsqueeze* flatten unflatten as_strided* t mT H narrow* "
           "select slice* unbind unsafe_split* unsafe_chunk flip* roll rot90 *pad* repeat* tile "
           "movedim moveaxis swap* contiguous clone copy* *_copy detach* alias* diagonal* diag* "
           "ravel broadcast* meshgrid resize* set* lift* block_diag pixel_* channel_shuffle"},
    Family{"creation", "",
           "zeros* ones* full* empty* new_* arange linspace logspace eye tril* triu* scalar_tensor "
           "fill* zero* *_window"},
};

/// "sum" of "aten::sum.dim_IntList", "add" of "aten::add_.Tensor".
std::string_view base_name_of(std::string_view op) {
  if (const std::size_t colons = op.rfind("::"); colons != std::string_view::npos)
    op.remove_prefix(colons + 2);
  op = op.substr(0, op.find('.'));
  if (op.size() > 1 && op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
  return op;
}

bool takes_name(std::string_view globs, std::string_view name) {
  while (!globs.empty()) {
    const std::size_t blank = std::min(globs.find(' '), globs.size());
    if (glob_match(globs.substr(0, blank), name)) return true;
    globs.remove_prefix(std::min(blank + 1, globs.size()));
  }
  return false;
}

}  // namespace

std::span<const Family> all_families() { return kFamilies; }

std::string_view family_of(const Verdict& verdict) {
  for (const Family& family : kFamilies) {
    if (!family.tag.empty() && contains(verdict.facts.tags, family.tag)) return family.name;
  }
  if (!verdict.facts.operators.empty()) {
    const std::string_view name = base_name_of(verdict.facts.operators.front());
    for (const Family& family : kFamilies) {
      if (takes_name(family.globs, name)) return family.name;
    }
  }
  return "others";
}

}  // namespace lockstep
