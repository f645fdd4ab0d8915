#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cases/decode.h"
#include "cases/expand.h"
#include "cases/suite.h"
#include "engine/fake.h"
#include "engine/scratch.h"
#include "explain/trials.h"
#include "program/program_json.h"

namespace lockstep {

/// A torch for tests. It knows to.dtype, add, mul, relu, neg, clone and bernoulli, which draws, of
/// contiguous floating tensors of one shape. Its compiler is wrong in ways that the test chooses.
class FakeTorch {
 public:
  struct Tensor {
    const Dtype* dtype = nullptr;
    std::vector<std::int64_t> shape;
    std::vector<double> values;
    bool stored = true;  ///< what the program took or has seen: else a register of the compiler's
  };

  explicit FakeTorch(std::filesystem::path folder) : folder_(std::move(folder)) {}

  bool fuses_casts = false;      ///< keeps registers wide, unless the path emulates casts
  bool seeing_ends_it = false;   ///< … and no value that is returned is one
  std::string wrong_operator;    ///< whose results are one too large, such as "aten::relu.default"
  std::string slightly_wrong;    ///< the same, by a thousandth
  bool first_is_wrong = false;   ///< the first step of a program, whichever
  std::string wrong_when_fused;  ///< the same, where the program has other steps
  std::string wrong_in_company;  ///< the same, where several programs are compiled in one graph
  bool wrong_with_threads = false;          ///< the first step, where one thread is not asked for
  std::string raising_operator;             ///< that eager refuses, and the compiler does not
  std::size_t executed = 0, backwards = 0;  ///< of these with a backward, compiled

  std::optional<Observation> answer(const Job& job) {
    ++executed;
    const Json& message = job.parts.at(0).message;
    const bool compiled = job.parts[0].worker.name == "compiled";
    const std::string mode = message["mode"];
    Observation seen;
    seen.outcome = Outcome::returned;
    seen.stage = "run";
    seen.proof = {{"graphs", 1}, {"operators", 3}};
    Json storages = Json::array();
    for (const StorageFile& storage : job.storages)
      storages.push_back({{"file", storage.file.filename().string()}, {"bytes", storage.bytes}});
    const std::filesystem::path folder =
        job.storages.empty() ? folder_ : job.storages.front().file.parent_path();
    const auto inputs = read_calls(folder, storages, message["calls"]);
    EXPECT_TRUE(inputs) << (inputs ? "" : inputs.error().message);
    seen.storages = inputs->storages;
    Json literals = Json::array();
    const auto program = program_from_json(message["program"], literals);
    EXPECT_TRUE(program);
    if (compiled && program->backward) ++backwards;
    const Json config = message["path"].value("config", Json::object());
    const bool faithful =
        config.value("torch._inductor.config.emulate_precision_casts", Json(false)) == true;
    const bool wide = mode == "fp64" || (compiled && fuses_casts && !faithful);
    CallResult call;
    call.inputs = inputs->calls.at(0);
    std::map<std::string, Tensor> given;
    for (const auto& [name, value] : call.inputs) {
      if (const auto* view = std::get_if<TensorView>(&value)) given[name] = read(*view);
    }
    const auto repeat = message["repeat"].get<std::size_t>();
    for (std::size_t k = 0; k < repeat; ++k) {
      const double seed = message.value("reseed", false) && k + 1 == repeat ? 1 : 0;
      const auto values = execute(
          *program, given, {compiled, wide, mode == "fp64", seed, message.value("threads", 0)});
      if (!values) {
        seen.outcome = Outcome::raised;
        seen.error = RaisedError{"eager", "RuntimeError", "refused", {}, ErrorKind::error};
        seen.repetitions.clear();
        return seen;
      }
      CallResult result = call;
      for (const std::string& name : returned_values(*program))
        result.outputs.emplace_back(name, write(values->at(name), mode == "fp64", seen));
      seen.repetitions.push_back({std::move(result)});
    }
    return seen;
  }

  std::filesystem::path folder() const { return folder_; }

 private:
  struct Execution {
    bool compiled, wide, is_gold;
    double seed;
    int threads;  ///< 0: those of the run
  };

  /// The values of a program; nothing: eager raises.
  std::optional<std::map<std::string, Tensor>> execute(const Program& program,
                                                       std::map<std::string, Tensor> values,
                                                       const Execution& how) const {
    for (const Step& step : program.steps) {
      const OpCall& op = std::get<OpCall>(step.does);
      const bool lacks = (op.op == "aten::add.Tensor" || op.op == "aten::mul.Tensor" ||
                          op.op == "aten::to.dtype") &&
                         op.arguments.args.size() < 2;
      if (lacks || (op.op == raising_operator && !how.compiled)) return std::nullopt;
      const std::string& name = *step.let.front();
      Tensor made = apply(op, values);
      if (op.op == "aten::bernoulli.default") {
        for (double& value : made.values) value = value * 2 + how.seed;
      }
      const bool is_seen = contains(returned_values(program), name);
      if (!how.wide || (seeing_ends_it && !how.is_gold && is_seen)) round(made);
      const bool company = name.starts_with("m0_") || name.starts_with("m1_");
      const bool wrong = op.op == wrong_operator ||
                         (program.steps.size() > 1 && op.op == wrong_when_fused) ||
                         (company && op.op == wrong_in_company);
      const bool first = (first_is_wrong || (wrong_with_threads && how.threads != 1)) &&
                         &step == &program.steps.front();
      for (double& value : made.values) {
        if (how.compiled && wrong) value += 1;
        if (how.compiled && first) value += 1;
        if (how.compiled && op.op == slightly_wrong) value += 0x1p-10;
      }
      values[name] = std::move(made);
    }
    return values;
  }

  static Tensor read(const TensorView& view) {
    Tensor tensor{view.dtype, view.shape, {}};
    const auto size = static_cast<std::size_t>(view.dtype->bytes);
    for (std::int64_t k = 0; k < view.elements(); ++k) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, view.bytes.data() + static_cast<std::size_t>(view.offset + k) * size,
                  size);
      tensor.values.push_back(decode_float(*view.dtype, bits));
    }
    return tensor;
  }

  static void round(Tensor& tensor) {
    for (double& value : tensor.values)
      value = decode_float(*tensor.dtype, encode_float(*tensor.dtype, value));
  }

  static Tensor apply(const OpCall& op, const std::map<std::string, Tensor>& values) {
    const std::vector<Value>& args = op.arguments.args;
    const auto tensor = [&](std::size_t i) { return values.at(std::get<Ref>(args[i].is).name); };
    Tensor made = tensor(0);
    if (op.op == "aten::to.dtype") {
      made.dtype = find_dtype(std::get<Enumeration>(args[1].is).word);
    } else if (op.op == "aten::relu.default") {
      for (double& value : made.values) value = std::max(value, 0.0);
    } else if (op.op == "aten::neg.default") {
      for (double& value : made.values) value = -value;
    } else if (op.op == "aten::add.Tensor" || op.op == "aten::mul.Tensor") {
      const Tensor other = tensor(1);
      for (std::size_t i = 0; i < made.values.size(); ++i) {
        const double with = other.values[i];
        made.values[i] =
            op.op == "aten::add.Tensor" ? made.values[i] + with : made.values[i] * with;
      }
      if (other.dtype->bytes > made.dtype->bytes) made.dtype = other.dtype;
    } else {
      EXPECT_TRUE(op.op == "aten::clone.default" || op.op == "aten::bernoulli.default") << op.op;
    }
    return made;
  }

  DataValue write(const Tensor& tensor, bool is_gold, Observation& seen) {
    const Dtype& dtype = is_gold ? *find_dtype("float64") : *tensor.dtype;
    std::string bytes;
    for (const double value : tensor.values) {
      const std::uint64_t bits = encode_float(dtype, value);
      bytes.append(reinterpret_cast<const char*>(&bits), static_cast<std::size_t>(dtype.bytes));
    }
    const std::filesystem::path file = folder_ / fmt::format("made{}", made_++);
    EXPECT_TRUE(write_file(file, bytes));
    seen.storages.push_back(*FileCopy::open(file));
    TensorView view;
    view.dtype = &dtype;
    view.shape = tensor.shape;
    view.strides.assign(tensor.shape.size(), 1);
    for (std::size_t d = tensor.shape.size(); d-- > 1;)
      view.strides[d - 1] = view.strides[d] * tensor.shape[d];
    view.bytes = seen.storages.back()->bytes();
    view.storage = static_cast<int>(seen.storages.size()) + 100;
    return view;
  }

  std::filesystem::path folder_;
  std::size_t made_ = 0;
};

/// Tests that execute cases on a FakeTorch.
class OnFakeTorch : public testing::Test {
 protected:
  OnFakeTorch() : scratch_(std::move(*Scratch::create())), torch_(scratch_.path()) {}

  /// The case that a text declares, but for format and title.
  static std::shared_ptr<const Case> decode(const std::string& text) {
    JsonFile file{"cases/bugs/1.json", "{\"format\": 1, \"title\": \"t\", " + text + "}", {}};
    Diagnostics diagnostics;
    parse_json(file, diagnostics);
    auto decoded = decode_case(file, file.root, "bugs/1", {}, diagnostics);
    for (const Diagnostic& each : diagnostics) ADD_FAILURE() << to_string(each);
    return std::make_shared<const Case>(std::move(*decoded));
  }

  static Path path(const std::string& name, const std::string& backend) {
    Path made;
    made.name = name;
    made.title = "The path " + name;
    made.layer = name == "inductor" ? "Inductor" : "";
    made.contract = Contract::values;
    made.worker = "compiled";
    made.devices = {"*"};
    made.compiles = true;
    made.declared = {{"name", name}, {"backend", backend}, {"config", Json::object()}};
    return made;
  }

  Trials trials(double seconds = 60) {
    Workplace workplace;
    workplace.scratch = scratch_.path();
    workplace.eager = {"eager", {"eager"}, {}};
    workplace.worker_of = [](const Path& each) {
      return each.worker == "eager" ? WorkerSpec{"eager", {"eager"}, {}}
                                    : WorkerSpec{"compiled", {"compiled"}, {}};
    };
    workplace.torch = "2.13.0";
    return {engine_, std::move(workplace), "cpu",
            Trials::Clock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000))};
  }

  Scratch scratch_;
  FakeTorch torch_;
  FakeEngine engine_{2, [this](const Job& job) { return torch_.answer(job); }};
};

}  // namespace lockstep
