// A vendor's compiler and its worker, from the worker protocol alone (docs/design/protocol.md):
// nothing of Lockstep, torch or Python is in it.  It "compiles" a handful of operators for float32
// on host memory; with --bug its relu has the fault of many a relu: what is no number becomes 0.
//
//     g++ -std=c++17 -O2 vendor.cpp -o vendor

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;
using Shape = std::vector<std::int64_t>;
using Memory = std::shared_ptr<std::vector<float>>;

bool g_bug = false;

// What the program does that eager raises an error for, and what this compiler does not know.
struct ProgramError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Tensor {
  Memory memory;
  Shape shape, strides;  // strides and offset in elements
  std::int64_t offset = 0;
};

// What a name of a program stands for.
struct Value {
  Json plain;  // a number; null where it is a tensor
  std::shared_ptr<Tensor> tensor;
  std::string input;  // its name, where it is an input
};

std::int64_t count(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

Tensor fresh(const Shape& shape) {
  Tensor tensor{std::make_shared<std::vector<float>>(count(shape)), shape, Shape(shape.size()), 0};
  std::int64_t stride = 1;
  for (std::size_t dim = shape.size(); dim-- > 0; stride *= std::max<std::int64_t>(shape[dim], 1))
    tensor.strides[dim] = stride;
  return tensor;
}

// The element of a tensor that belongs to a place of a shape to which it is broadcast.
float at(const Tensor& tensor, const Shape& shape, std::int64_t place) {
  std::int64_t where = tensor.offset;
  for (std::size_t dim = shape.size(); dim-- > 0; place /= shape[dim]) {
    const std::size_t missing = shape.size() - tensor.shape.size();
    if (dim < missing) continue;
    if (tensor.shape[dim - missing] != 1)
      where += place % shape[dim] * tensor.strides[dim - missing];
  }
  return (*tensor.memory)[where];
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const std::int64_t x = back <= a.size() ? a[a.size() - back] : 1,
                       y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1) throw ProgramError("The sizes of the operands do not match");
    shape[shape.size() - back] = x == 1 ? y : x;
  }
  return shape;
}

using Unary = float (*)(float);
Tensor each(const Tensor& x, Unary compute) {
  Tensor y = fresh(x.shape);
  for (std::int64_t i = 0; i < count(x.shape); ++i) (*y.memory)[i] = compute(at(x, x.shape, i));
  return y;
}

Tensor each(const Tensor& a, const Tensor& b, const std::function<float(float, float)>& compute) {
  const Shape shape = broadcast(a.shape, b.shape);
  Tensor y = fresh(shape);
  for (std::int64_t i = 0; i < count(shape); ++i)
    (*y.memory)[i] = compute(at(a, shape, i), at(b, shape, i));
  return y;
}

Tensor product(const Tensor& a, const Tensor& b) {
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1] != b.shape[0])
    throw ProgramError("The operands of mm are no matrices that fit");
  Tensor y = fresh({a.shape[0], b.shape[1]});
  for (std::int64_t i = 0; i < a.shape[0]; ++i) {
    for (std::int64_t k = 0; k < b.shape[1]; ++k) {
      double sum = 0;
      for (std::int64_t j = 0; j < a.shape[1]; ++j)
        sum +=
            double{at(a, a.shape, i * a.shape[1] + j)} * double{at(b, b.shape, j * b.shape[1] + k)};
      (*y.memory)[i * b.shape[1] + k] = static_cast<float>(sum);
    }
  }
  return y;
}

float relu(float x) { return g_bug ? (x > 0 ? x : 0) : (x <= 0 ? 0 : x); }

class Program {
 public:
  Program(const Json& message, const Json& call) : program_(message.at("program")) {
    for (const Json& storage : message.at("storages")) {
      std::ifstream file(storage.at("file").get<std::string>(), std::ios::binary);
      auto memory = std::make_shared<std::vector<float>>(storage.at("bytes").get<std::size_t>() /
                                                         sizeof(float));
      file.read(reinterpret_cast<char*>(memory->data()),
                static_cast<std::streamsize>(memory->size() * sizeof(float)));
      storages_.push_back(memory);
    }
    for (const auto& [name, given] : call.at("inputs").items())
      names_[name] = {given, tensor_of(given), name};
    if (!program_.value("backward", Json()).is_null()) throw Unsupported("gradients");
    if (!program_.value("context", Json::object()).empty()) throw Unsupported("a context");
    if (call.contains("context")) throw Unsupported("a context of one call");
    if (program_.contains("carry")) throw Unsupported("what one call hands over to the next");
    std::set<Json> returned;
    for (const Json& name : program_.at("outputs")) {
      if (!name.is_string()) throw Unsupported("outputs that are constants");
      if (!returned.insert(name).second) throw Unsupported("an output that comes twice");
    }
  }

  void run() {
    for (const Json& step : program_.at("steps")) {
      if (!step.contains("op")) throw Unsupported("a step that calls no operator");
      const std::string op = step["op"];
      Tensor result = compute(op, step.at("args"), step.value("kwargs", Json::object()));
      const Json& let = step.at("let");
      if (let.size() == 1 && let[0].is_string())
        names_[let[0]] = {nullptr, std::make_shared<Tensor>(std::move(result)), ""};
      ++calls_;
    }
  }

  // The views of outputs and of inputs after the call, on storages that are written to `out`.
  Json described(const std::string& out, Json& storages) const {
    std::map<const void*, std::size_t> written;
    const auto describe = [&](const Value& value, bool is_output) -> Json {
      if (!value.tensor) return value.plain;
      const auto [found, is_new] = written.emplace(value.tensor->memory.get(), storages.size());
      if (is_new) {
        const std::string name = std::to_string(storages.size());
        const std::vector<float>& memory = *value.tensor->memory;
        std::ofstream(out + "/" + name, std::ios::binary)
            .write(reinterpret_cast<const char*>(memory.data()),
                   static_cast<std::streamsize>(memory.size() * sizeof(float)));
        storages.push_back({{"file", name}, {"bytes", memory.size() * sizeof(float)}});
      }
      Json view = {{"storage", found->second},
                   {"dtype", "float32"},
                   {"shape", value.tensor->shape},
                   {"strides", value.tensor->strides},
                   {"offset", value.tensor->offset},
                   {"device", "cpu"},
                   {"layout", "strided"},
                   {"requires_grad", false}};
      if (is_output && !value.input.empty()) view["is"] = value.input;
      return view;
    };
    Json outputs = Json::object(), inputs = Json::object();
    for (const Json& name : program_.at("outputs"))
      outputs[name.get<std::string>()] = describe(names_.at(name), true);
    for (const Json& name : program_.at("inputs"))
      inputs[name.get<std::string>()] = describe(names_.at(name), false);
    return {{"outputs", outputs}, {"inputs", inputs}, {"grads", Json::object()}};
  }

  int calls() const { return calls_; }

 private:
  std::shared_ptr<Tensor> tensor_of(const Json& view) const {
    if (!view.is_object() || !view.contains("storage")) return nullptr;
    if (view.at("dtype") != "float32" || view.value("requires_grad", false) ||
        view.value("conj", false) || view.value("neg", false))
      throw Unsupported("a tensor that is no plain float32");
    return std::make_shared<Tensor>(Tensor{storages_.at(view["storage"]), view.at("shape"),
                                           view.at("strides"),
                                           view.value("offset", std::int64_t{0})});
  }

  // A tensor, or a number as one without dimensions.
  Tensor operand(const Json& value) const {
    if (value.is_object() && value.contains("ref")) {
      const Value& named = names_.at(value["ref"]);
      if (named.tensor) return *named.tensor;
      return operand(named.plain);
    }
    Tensor number = fresh({});
    if (value.is_number()) {
      (*number.memory)[0] = value.get<float>();
    } else if (value.is_object() && value.contains("float")) {
      (*number.memory)[0] = std::strtof(value["float"].get<std::string>().c_str(), nullptr);
    } else {
      throw Unsupported("an argument that is neither a tensor nor a number");
    }
    return number;
  }

  Tensor compute(const std::string& op, const Json& args, const Json& kwargs) const {
    const auto argument = [&](std::size_t i) { return operand(args.at(i)); };
    if (op == "aten::add.Tensor" || op == "aten::sub.Tensor") {
      const float sign = op == "aten::add.Tensor" ? 1 : -1;
      const float alpha = kwargs.contains("alpha") ? at(operand(kwargs["alpha"]), {}, 0) : 1;
      return each(argument(0), argument(1), [=](float a, float b) { return a + sign * alpha * b; });
    }
    if (op == "aten::mul.Tensor")
      return each(argument(0), argument(1), [](float a, float b) { return a * b; });
    if (op == "aten::neg.default") return each(argument(0), [](float x) { return -x; });
    if (op == "aten::relu.default") return each(argument(0), relu);
    if (op == "aten::mm.default") return product(argument(0), argument(1));
    throw Unsupported("the operator " + op);
  }

  const Json& program_;
  std::vector<Memory> storages_;
  std::map<std::string, Value> names_;
  int calls_ = 0;
};

// One execution; writes the observation.
void execute(const Json& message) {
  const std::string out = message.at("out");
  Json observation = {{"outcome", "returned"},     {"runs", Json::array()},
                      {"storages", Json::array()}, {"stage", "run"},
                      {"reason", nullptr},         {"error", nullptr},
                      {"phases", Json::object()}};
  try {
    int operators = 0;
    for (int repetition = 0; repetition < message.at("repeat").get<int>(); ++repetition) {
      Json calls = Json::array();
      for (const Json& call : message.at("calls")) {
        Program program(message, call);  // its inputs are fresh copies
        program.run();
        calls.push_back(program.described(out, observation["storages"]));
        operators = program.calls();
      }
      observation["runs"].push_back({{"calls", std::move(calls)}});
    }
    observation["proof"] = {{"graphs", 1},
                            {"operators", operators},
                            {"frames", 1},
                            {"frames_skipped", 0},
                            {"execution", "stated"}};  // by this code: nobody else is here
  } catch (const ProgramError& error) {
    observation["outcome"] = "raised";
    observation["error"] = {{"stage", "run"},
                            {"class", "RuntimeError"},
                            {"message", error.what()},
                            {"wrapped", Json::array()},
                            {"kind", "error"}};
  } catch (const Unsupported& error) {
    observation["outcome"] = "unsupported";
    observation["reason"] = error.what();
  }
  std::ofstream(out + "/new") << observation.dump();
  std::rename((out + "/new").c_str(), (out + "/observation.json").c_str());
}

void say(const Json& message) { std::cout << message.dump() << std::endl; }

// Executes in a child of its own: a crash costs one execution.
void run(const Json& message, std::int64_t memory) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    if (memory > 0) {
      const rlimit limit{static_cast<rlim_t>(memory), static_cast<rlim_t>(memory)};
      setrlimit(RLIMIT_AS, &limit);
    }
    try {
      execute(message);
      _exit(0);
    } catch (const std::exception& error) {  // the request was none
      std::cerr << error.what() << std::endl;
      _exit(64);
    }
  }
  setpgid(child, child);
  say({{"type", "started"}, {"run", message["run"]}, {"pid", child}});
  say({{"type", "stage"}, {"run", message["run"]}, {"stage", "run"}});
  int status = 0;
  waitpid(child, &status, 0);
  Json ended = {{"type", "ended"}, {"run", message["run"]}};
  if (WIFSIGNALED(status)) {
    ended["signal"] = WTERMSIG(status);
  } else {
    ended["exit"] = WEXITSTATUS(status);
    if (WEXITSTATUS(status) == 64)
      ended["error"] = "the request is none that this worker understands";
  }
  say(ended);
}

}  // namespace

int main(int argc, char** argv) {
  g_bug = argc > 1 && std::strcmp(argv[1], "--bug") == 0;
  std::int64_t memory = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const Json message = Json::parse(line, nullptr, false);
    const std::string type = message.is_object() ? message.value("type", "") : "";
    if (type == "hello") {
      memory = message.at("limits").value("memory_bytes", std::int64_t{0});
      say({{"type", "hello"},
           {"protocol", 2},
           {"worker", "vendor"},
           {"concurrent", 1},
           {"environment", {{"package vendor", "1.0"}, {"compiler", __VERSION__}}},
           {"devices", {"cpu"}},
           {"dtypes", {"float32"}},
           {"modes", {"plain"}},
           {"seconds", 0}});
    } else if (type == "run") {
      run(message, memory);
    } else if (type == "stop") {
      return 0;
    } else {
      say({{"type", "error"}, {"error", "this is no message of the protocol"}});
    }
  }
}
