#include "workers/eager/applied.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <algorithm>
#include <cmath>

#include "program/higher_order.h"
#include "program/visit.h"
#include "workers/eager/context.h"
#include "workers/eager/errors.h"
#include "workers/eager/names.h"

namespace lockstep::eager {
namespace {

using c10::IValue;

/// The level at which numbers carry tangents, while this lives.
class TangentLevel {
 public:
  TangentLevel()
      : index_(or_unsupported("`jvp` in C++",
                              [] { return torch::autograd::ForwardADLevel::get_next_idx(); })) {}
  ~TangentLevel() { torch::autograd::ForwardADLevel::release_idx(index_); }
  TangentLevel(const TangentLevel&) = delete;
  TangentLevel& operator=(const TangentLevel&) = delete;

  Value value() const { return {static_cast<std::int64_t>(index_)}; }

 private:
  std::uint64_t index_;
};

Value ref(std::string name) { return {Ref{std::move(name)}}; }

Value number(std::int64_t value) { return {value}; }

std::vector<Value> list(const std::vector<Value>& first, const std::vector<Value>& second) {
  std::vector<Value> all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

}  // namespace

std::vector<Value> Applied::results() {
  if (call_.name == "cond") return cond();
  if (call_.name == "while_loop") return while_loop();
  if (call_.name == "scan") return scan();
  if (call_.name == "associative_scan") return associative_scan();
  if (call_.name == "vmap") return vmap();
  if (call_.name == "grad") return grad();
  if (call_.name == "jvp") return jvp();
  if (call_.name == "flex_attention") return flex_attention();
  return run(*sub_program(call_, "do"), call_.arguments.args);  // checkpoint, nested_compile_region
}

std::vector<Value> Applied::run(const SubProgram& program, const std::vector<Value>& given) {
  for (std::size_t i = 0; i < given.size(); ++i) on_.name(program.inputs[i], given[i]);
  for (const Step& step : program.steps) on_.step(step);
  std::vector<Value> results;
  for (const std::string& name : program.outputs) {
    // The next execution of these steps gives their names to other values.
    results.push_back(ref(on_.fresh()));
    on_.name(std::get<Ref>(results.back().is).name, ref(name));
  }
  return results;
}

std::vector<Value> Applied::cond() {
  const bool yes = on_.decide(*word_of(call_, "pred"));
  return run(*sub_program(call_, yes ? "do" : "else"), call_.arguments.args);
}

std::vector<Value> Applied::while_loop() {
  const std::int64_t most = integer_of(call_, "most", 1);
  std::vector<Value> carried = call_.arguments.args;
  for (std::int64_t i = 0; on_.decide(run(*sub_program(call_, "while"), carried)[0]); ++i) {
    TORCH_CHECK(i < most, "while_loop: more than ", most, " iterations");
    carried = run(*sub_program(call_, "do"), carried);
  }
  if (carried == call_.arguments.args) {  // nobody gets what he gave
    for (Value& each : carried) each = op("aten::clone.default", {each});
  }
  return carried;
}

std::vector<Value> Applied::scan() {
  const std::int64_t dim = integer_of(call_, "dim", 0);
  const std::int64_t count = length(call_.arguments.args[0], dim);
  std::vector<Value> carried = list_of(call_, "init");
  const std::size_t carries = carried.size();
  std::vector<std::vector<Value>> left(sub_program(call_, "do")->outputs.size() - carries);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<Value> results =
        run(*sub_program(call_, "do"), list(carried, slices(dim, reversed() ? count - 1 - i : i)));
    carried.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carries));
    for (std::size_t k = 0; k < left.size(); ++k) left[k].push_back(results[carries + k]);
  }
  for (std::vector<Value>& each : left) {
    if (reversed()) std::reverse(each.begin(), each.end());
    carried.push_back(stacked(each, dim));
  }
  return carried;
}

std::vector<Value> Applied::associative_scan() {
  const std::int64_t dim = integer_of(call_, "dim", 0);
  const std::int64_t count = length(call_.arguments.args[0], dim);
  std::vector<std::vector<Value>> left(call_.arguments.args.size());
  std::vector<Value> before;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<Value> now = slices(dim, reversed() ? count - 1 - i : i);
    before = i == 0 ? now : run(*sub_program(call_, "do"), list(before, now));
    for (std::size_t k = 0; k < left.size(); ++k) left[k].push_back(before[k]);
  }
  std::vector<Value> results;
  for (std::vector<Value>& each : left) {
    if (reversed()) std::reverse(each.begin(), each.end());
    results.push_back(stacked(each, dim));
  }
  return results;
}

std::vector<Value> Applied::vmap() {
  const std::vector<Value>& args = call_.arguments.args;
  std::vector<Value> in_dims = list_of(call_, "in_dims"), out_dims = list_of(call_, "out_dims");
  if (in_dims.empty()) in_dims.assign(args.size(), number(0));
  if (out_dims.empty()) out_dims.assign(results_of(call_), number(0));
  std::int64_t count = -1;
  for (std::size_t k = 0; k < args.size() && count < 0; ++k) {
    if (const auto* dim = std::get_if<std::int64_t>(&in_dims[k].is)) count = length(args[k], *dim);
  }
  TORCH_CHECK_VALUE(count >= 0, "vmap: no argument is mapped over");
  std::vector<std::vector<Value>> rows(out_dims.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<Value> given = args;
    for (std::size_t k = 0; k < args.size(); ++k) {
      if (const auto* dim = std::get_if<std::int64_t>(&in_dims[k].is))
        given[k] = slice(args[k], *dim, i);
    }
    const std::vector<Value> results = run(*sub_program(call_, "do"), given);
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].push_back(results[k]);
  }
  std::vector<Value> results;
  for (std::size_t k = 0; k < rows.size(); ++k)
    results.push_back(stacked(rows[k], std::get<std::int64_t>(out_dims[k].is)));
  return results;
}

std::vector<Value> Applied::grad() {
  // Whether somebody outside asks for gradients of these gradients.
  OuterNames names;
  const Step asking{{}, call_};
  walk(asking, names);
  bool asked = false;
  for (const std::string& name : names.used) {
    const IValue& value = lookup(on_.scope_, name);
    asked = asked || (at::GradMode::is_enabled() && value.isTensor() &&
                      value.toTensor().defined() && value.toTensor().requires_grad());
  }
  Context context;
  context.grad = true;
  const ContextGuard guard(context);
  std::vector<Value> places = list_of(call_, "argnums");
  if (places.empty()) places = {number(0)};
  std::vector<Value> given = call_.arguments.args, wrt;
  for (const Value& place : places) {
    Value& each = given[static_cast<std::size_t>(std::get<std::int64_t>(place.is))];
    const bool tracked = asked && tensor(each).requires_grad();
    each = op(tracked ? "aten::alias.default" : "aten::detach.default", {each});
    if (!tracked) op("aten::requires_grad_.default", {each});
    wrt.push_back(each);
  }
  const std::vector<Value> of = run(*sub_program(call_, "do"), given);
  Step step;
  for (std::size_t i = 0; i < wrt.size(); ++i) step.let.emplace_back(on_.fresh());
  step.does = GradCall{of, wrt, std::nullopt, asked};
  on_.step(step);
  std::vector<Value> results;
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    results.push_back(ref(*step.let[i]));
    const bool nothing =
        on_.lost(*step.let[i]).empty() && lookup(on_.scope_, *step.let[i]).isNone();
    if (nothing) results.back() = op("aten::zeros_like.default", {wrt[i]});
  }
  return results;
}

std::vector<Value> Applied::jvp() {
  const TangentLevel level;
  const std::vector<Value> tangents = list_of(call_, "tangents");
  std::vector<Value> given;
  for (std::size_t i = 0; i < tangents.size(); ++i)
    given.push_back(
        op("aten::_make_dual.default", {call_.arguments.args[i], tangents[i], level.value()}));
  std::vector<Value> primals, found;
  for (const Value& each : run(*sub_program(call_, "do"), given)) {
    const std::string primal = on_.fresh(), tangent = on_.fresh();
    on_.step(
        {{primal, tangent}, OpCall{"aten::_unpack_dual.default", {{each, level.value()}, {}}}});
    primals.push_back(ref(primal));
    const bool nothing = on_.lost(tangent).empty() && !tensor(ref(tangent)).defined();
    found.push_back(nothing ? op("aten::zeros_like.default", {ref(primal)}) : ref(tangent));
  }
  return list(primals, found);
}

std::vector<Value> Applied::flex_attention() {
  const Value query = call_.arguments.args[0], key = call_.arguments.args[1];
  const Value* scale = word_of(call_, "scale");
  const at::Tensor rows = tensor(query), columns = tensor(key);
  const Value one_by =
      scale != nullptr ? *scale : Value{Float{1 / std::sqrt(static_cast<double>(rows.size(-1)))}};
  const auto dtype = [](c10::ScalarType type) {
    return Value{Enumeration{Enumeration::Kind::dtype, dtype_name(type)}};
  };
  const c10::ScalarType own = rows.scalar_type();
  Value score =
      op("aten::matmul.default", {query, op("aten::transpose.int", {key, number(-2), number(-1)})});
  score = op("aten::to.dtype", {score, dtype(own == at::kDouble ? at::kDouble : at::kFloat)});
  score = op("aten::mul.Scalar", {score, one_by});
  std::vector<Value> given = {score};
  const std::vector<std::int64_t> sizes = {rows.size(0), rows.size(1), rows.size(2),
                                           columns.size(2)};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    Value::List shape(4, number(1));
    shape[k] = number(sizes[k]);
    const Value places =
        op("aten::arange.default", {number(sizes[k])},
           {{"device", {Enumeration{Enumeration::Kind::device, on_.sources_.device.str()}}}});
    given.push_back(op("aten::view.default", {places, {shape}}));
  }
  score = run(*sub_program(call_, "do"), given)[0];
  score = op("aten::softmax.int", {score, number(-1)});
  score = op("aten::to.dtype", {score, dtype(own)});
  return {op("aten::matmul.default", {score, call_.arguments.args[2]})};
}

Value Applied::op(const char* overload, std::vector<Value> args,
                  std::vector<std::pair<std::string, Value>> kwargs) {
  const std::string name = on_.fresh();
  on_.step({{name}, OpCall{overload, {std::move(args), std::move(kwargs)}}});
  return ref(name);
}

Value Applied::slice(const Value& tensor, std::int64_t dim, std::int64_t place) {
  return op("aten::select.int", {tensor, number(dim), number(place)});
}

std::vector<Value> Applied::slices(std::int64_t dim, std::int64_t place) {
  std::vector<Value> all;
  for (const Value& each : call_.arguments.args) all.push_back(slice(each, dim, place));
  return all;
}

Value Applied::stacked(const std::vector<Value>& slices, std::int64_t dim) {
  const Value whole = op("aten::stack.default", {{slices}, number(0)});
  return dim == 0 ? whole : op("aten::movedim.int", {whole, number(0), number(dim)});
}

at::Tensor Applied::tensor(const Value& value) const {
  const IValue found = to_ivalue(value, on_.scope_);
  TORCH_CHECK_TYPE(found.isTensor(), call_.name, " takes tensors, not ", found.tagKind());
  return found.toTensor();
}

std::int64_t Applied::length(const Value& value, std::int64_t dim) const {
  return tensor(value).size(dim);
}

bool Applied::reversed() const {
  const Value* value = word_of(call_, "reverse");
  return value != nullptr && std::get<bool>(value->is);
}

}  // namespace lockstep::eager
