#include "wire/observation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>

#include "judge/judge.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// A directory of a worker, removed at the end.
class Directory {
 public:
  Directory() {
    char name[] = "/tmp/lockstep-observation-XXXXXX";
    path_ = ::mkdtemp(name);
    write("0", std::string(80, '\x3f'));
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { fs::remove_all(path_); }

  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  Result<Observation> read(std::string_view json) const {
    write("observation.json", json);
    return read_observation(path_);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

constexpr std::string_view kGood = R"({"outcome": "returned",
 "runs": [{"calls": [{"outputs": {"y": {"storage": 0, "dtype": "float32", "shape": [4, 5], "strides": [5, 1], "offset": 0, "device": "cpu",
   "layout": "strided", "requires_grad": true, "conj": false, "neg": false, "is": "x"},
   "n": 3, "b": true, "none": null, "f": {"float": "-0x1.8p+1"}, "z": {"complex": ["inf", "nan"]}, "s": {"str": "mean"},
   "q": {"storage": 0, "dtype": "qint8", "shape": [2], "strides": [1], "quantizer": {"scheme": "per_channel_affine", "scales": [0.5, {"float": "0x1p-2"}],
   "zero_points": [0, 3], "axis": 0}}},
   "inputs": {"x": {"storage": 0, "dtype": "uint8", "shape": [], "strides": []}}, "grads": {}}]}],
 "storages": [{"file": "0", "bytes": 80}],
 "reference": {"outcome": "raised", "error": {"class": "ValueError", "message": "no"}},
 "error": null, "reason": null, "stage": "run", "proof": {"graphs": 1}, "phases": {"compile": 1.5, "run": 1}, "peak_memory_bytes": 5, "unknown": []})";

TEST(Observation, ReadsEverything) {
  const Directory directory;
  const auto read = directory.read(kGood);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->outcome, Outcome::returned);
  const CallResult& call = read->repetitions.at(0).at(0);
  ASSERT_EQ(call.outputs.size(), 8u);
  EXPECT_EQ(call.outputs[0].first, "y");  // in the program's order
  const auto& y = std::get<TensorView>(call.outputs[0].second);
  EXPECT_EQ(y.dtype->name, "float32");
  EXPECT_EQ(y.bytes.size(), 80u);
  EXPECT_TRUE(y.requires_grad);
  EXPECT_EQ(y.is, "x");
  const auto scalar = [&](std::size_t i) { return std::get<ScalarValue>(call.outputs[i].second); };
  EXPECT_EQ(scalar(1), ScalarValue(std::int64_t{3}));
  EXPECT_EQ(scalar(2), ScalarValue(true));
  EXPECT_EQ(scalar(3), ScalarValue());
  EXPECT_EQ(scalar(4), ScalarValue(-3.0));
  EXPECT_TRUE(std::isinf(std::get<std::complex<double>>(scalar(5)).real()));
  EXPECT_EQ(scalar(6), ScalarValue(std::string("mean")));
  const auto& quantizer = std::get<TensorView>(call.outputs[7].second).quantizer;
  ASSERT_TRUE(quantizer);
  EXPECT_EQ(quantizer->scales, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(describe(call.inputs[0].second), "uint8[]");
  ASSERT_TRUE(read->reference);
  EXPECT_EQ(read->reference->error->class_name, "ValueError");
  EXPECT_EQ(read->reference->error->kind, ErrorKind::error);
  EXPECT_EQ(read->proof["graphs"], 1);
  EXPECT_EQ(read->phases.at("compile"), 1.5);
  EXPECT_EQ(read->stage, "run");
}

TEST(Observation, RaisedAndUnsupported) {
  const Directory directory;
  const auto raised = directory.read(
      R"({"outcome": "raised", "error": {"stage": "compile", "class": "A", "message": "m", "wrapped": ["B"], "kind": "internal"}})");
  ASSERT_TRUE(raised);
  EXPECT_EQ(raised->error, (RaisedError{"compile", "A", "m", {"B"}, ErrorKind::internal}));
  EXPECT_EQ(directory.read(R"({"outcome": "unsupported", "reason": "no fp8"})")->reason, "no fp8");
  const std::string message = R"({"outcome": "raised", "error": {"class": "A", "message": ")" +
                              std::string(1 << 20, 'x') + "\"}}";
  EXPECT_LT(directory.read(message)->error->message.size(), 20000u);
}

/// The good observation with one text put in place of another.
std::string changed(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Observation, BrokenOnesAreErrorsThatSayWhere) {
  const Directory directory;
  const auto error = [&](const std::string& json) {
    const auto read = directory.read(json);
    return read ? "none" : read.error().message;
  };
  const std::string at_y = "/runs/0/calls/0/outputs/y";
  EXPECT_THAT(error("{"), HasSubstr("parse error"));
  EXPECT_THAT(error("[]"), HasSubstr("an object expected"));
  EXPECT_THAT(error("{}"), HasSubstr("'outcome' is missing"));
  EXPECT_THAT(error(changed("\"returned\"", "\"done\"")),
              HasSubstr("/outcome: returned, raised or unsupported expected"));
  EXPECT_THAT(error(R"({"outcome": "returned", "runs": []})"), HasSubstr("no call is recorded"));
  EXPECT_THAT(error(R"({"outcome": "raised"})"), HasSubstr("'error' is missing"));
  EXPECT_THAT(error(changed("\"float32\"", "\"float31\"")),
              HasSubstr(at_y + ": unknown dtype 'float31'"));
  EXPECT_THAT(error(changed("\"storage\": 0", "\"storage\": 1")), HasSubstr("storage 1 of 1"));
  EXPECT_THAT(error(changed("\"storage\": 0", "\"storage\": -1")), HasSubstr("storage -1 of 1"));
  EXPECT_THAT(error(changed("\"storage\": 0", "\"storage\": 18446744073709551615")),
              HasSubstr("64-bit integer"));
  EXPECT_THAT(error(changed("[5, 1]", "[5]")), HasSubstr("2 sizes but 1 strides"));
  EXPECT_THAT(error(changed("[5, 1]", "[-5, 1]")), HasSubstr("not negative"));
  EXPECT_THAT(error(changed("[5, 1]", "[6, 1]")), HasSubstr("leaves its storage"));
  EXPECT_THAT(error(changed("\"offset\": 0", "\"offset\": 1")),
              HasSubstr("leaves its storage of 80 bytes"));
  EXPECT_THAT(error(changed("\"offset\": 0", "\"offset\": 9223372036854775807")),
              HasSubstr("leaves its storage"));
  EXPECT_THAT(error(changed("[4, 5]", "[4611686018427387904, 4611686018427387904]")),
              HasSubstr("leaves its storage"));
  EXPECT_THAT(error(changed("\"bytes\": 80", "\"bytes\": 81")),
              HasSubstr("81 bytes claimed, the file has 80"));
  EXPECT_THAT(error(changed("\"file\": \"0\"", "\"file\": \"../0\"")),
              HasSubstr("a plain file name expected"));
  EXPECT_THAT(error(changed("\"file\": \"0\"", "\"file\": \".0\"")),
              HasSubstr("a plain file name expected"));
  EXPECT_THAT(error(changed("\"file\": \"0\"", "\"file\": \"\"")),
              HasSubstr("a plain file name expected"));
  EXPECT_THAT(error(changed("\"file\": \"0\"", "\"file\": \"1\"")), HasSubstr("No such file"));
  EXPECT_THAT(error(changed("-0x1.8p+1", "-3")), HasSubstr("hexadecimal float expected"));
  EXPECT_THAT(error(changed("-0x1.8p+1", "0x-1p1")), HasSubstr("hexadecimal float expected"));
  EXPECT_THAT(error(changed("\"n\": 3", "\"n\": 3.5")), HasSubstr("integer expected"));
  EXPECT_THAT(error(changed("\"n\": 3", "\"n\": {}")),
              HasSubstr("a view, a scalar value or a list of these expected"));
  EXPECT_THAT(error(changed("\"zero_points\": [0, 3]", "\"zero_points\": [0]")),
              HasSubstr("as many scales"));
  EXPECT_THAT(error(changed("\"axis\": 0", "\"axis\": 7")), HasSubstr("along the axis"));
  EXPECT_THAT(error(changed("{\"outcome\": \"raised\", \"error\": {\"class\": \"ValueError\", "
                            "\"message\": \"no\"}}",
                            "3")),
              HasSubstr("an object expected"));
  EXPECT_THAT(
      error(R"({"outcome": "raised", "error": {"class": "A", "message": "", "kind": "odd"}})"),
      HasSubstr("kind"));
  EXPECT_THAT(error(std::string(100000, '[')), HasSubstr("nested deeper"));
  std::string names = R"("x")";
  for (int i = 0; i < 8192; ++i) names += R"(,"x")";
  EXPECT_THAT(error(R"({"outcome": "returned", "runs": [{"calls": [{"outputs": {}, "state": )"
                    R"({"kept": [)" +
                    names + "]}}]}]}"),
              HasSubstr("/runs/0/calls/0/state/kept: at most 8192 names"));
  std::string values = "[";
  for (int i = 0; i < 1 << 20; ++i) values += "0,";
  EXPECT_THAT(error(values + "0]"), HasSubstr("more than 1,048,576 values"));
}

TEST(Observation, OnlyRegularFilesOfBearableSizeAreRead) {
  const Directory directory;
  EXPECT_FALSE(read_observation(directory.path()));  // no file
  ::mkfifo((directory.path() / "pipe").c_str(), 0600);
  EXPECT_FALSE(directory.read(changed("\"file\": \"0\"", "\"file\": \"pipe\"")));
  fs::create_symlink("/etc/passwd", directory.path() / "link");
  EXPECT_FALSE(directory.read(changed("\"file\": \"0\"", "\"file\": \"link\"")));
  fs::create_directory(directory.path() / "folder");
  EXPECT_FALSE(directory.read(changed("\"file\": \"0\"", "\"file\": \"folder\"")));
  directory.write("observation.json", "");
  fs::resize_file(directory.path() / "observation.json", std::uintmax_t{1} << 32);
  EXPECT_THAT(read_observation(directory.path()).error().message,
              HasSubstr("more than an observation may have"));
}

TEST(Observation, EmptyViewsMayStandAnywhere) {
  const Directory directory;
  EXPECT_TRUE(directory.read(changed("\"shape\": [4, 5], \"strides\": [5, 1], \"offset\": 0",
                                     "\"shape\": [0, 5], \"strides\": [500, 1], \"offset\": 99")));
}

// An overlapping view can have far more elements than there is memory: the judge's time must not
// hang on a number in a file.  Expanded and overlapping views of real programs remain.
TEST(Observation, OverlappingViewsHaveABearableNumberOfElements) {
  const Directory directory;
  directory.write("0", "");
  fs::resize_file(directory.path() / "0", std::uintmax_t{1} << 34);  // sparse
  const auto error = [&](std::string_view dtype, std::string_view shape, std::string_view strides) {
    std::string text = changed("\"bytes\": 80", "\"bytes\": 17179869184");
    const std::string_view old = R"("dtype": "float32", "shape": [4, 5], "strides": [5, 1])";
    text.replace(
        text.find(old), old.size(),
        fmt::format(R"("dtype": "{}", "shape": [{}], "strides": [{}])", dtype, shape, strides));
    const auto read = directory.read(text);
    return read ? "none" : read.error().message;
  };
  for (const auto& [shape, strides] : {std::pair("16777216, 16777216", "1, 1"),
                                       {"1048576, 131072", "1, 1"},
                                       {"1048576, 131072, 1", "1, 1, 0"},
                                       {"131072, 2, 65536", "1, 0, 1"}}) {
    EXPECT_THAT(error("float32", shape, strides), HasSubstr("/y: the view")) << shape;
  }
  for (const auto& [shape, strides] : {std::pair("17179869184", "1"),  // as many as the storage has
                                       {"1099511627776, 1000", "0, 1"},  // expanded
                                       {"1048576, 1024", "1, 1"},        // windows
                                       {"0, 16777216, 16777216", "1, 1, 1"}}) {
    EXPECT_EQ(error("uint8", shape, strides), "none") << shape;
  }
}

// A hostile worker: whatever it writes, reading ends in an observation or an error, and what was
// read can be judged.
TEST(Observation, FuzzedTextNeverCrashes) {
  const Directory directory;
  std::mt19937 random(17);
  const char* effort = std::getenv("LOCKSTEP_JUDGE_EFFORT");
  const int rounds = 4000 * (effort == nullptr ? 1 : std::max(1, std::atoi(effort)));
  const std::vector<std::string> pieces = {"0",
                                           "-1",
                                           "9223372036854775807",
                                           "18446744073709551615",
                                           "1e308",
                                           "null",
                                           "[]",
                                           "{}",
                                           "\"\"",
                                           "[0]",
                                           "\"float64\"",
                                           "\"complex128\"",
                                           "[1,1,1,1]",
                                           "[0,0]",
                                           "[16777216, 16777216]",
                                           "[1048576, 131072]",
                                           "[1, 1]",
                                           "true",
                                           "4611686018427387904",
                                           "{\"float\":\"0x1p9999\"}"};
  std::vector<Policy> policies;
  for (const std::string_view text :
       {"bits", "bits_strict", "equal", "ulp(2)", "close(k=8)", "same", "same_upstream", "no_worse",
        "stepwise", "exact", "index_equivalent(y)", "index_equivalent(x, dim=1)", "metadata",
        "statistical", "any_of(close, no_worse(1))", "all_of(stepwise, metadata)"}) {
    policies.push_back(*parse_policy(text));
  }
  Directory other;
  other.write("0", std::string(80, '\x40'));
  const auto written = other.read(kGood);
  ASSERT_TRUE(written);
  int good = 0;
  for (int i = 0; i < rounds; ++i) {
    std::string text(kGood);
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        case 2:
          text.insert(at, pieces[random() % pieces.size()]);
          break;
        default: {  // a whole value
          const std::size_t begin = text.find(": ", at);
          if (begin == std::string::npos) break;
          const std::size_t end = text.find_first_of(",}", begin);
          text.replace(begin + 2, end - begin - 2, pieces[random() % pieces.size()]);
        }
      }
    }
    const auto read = directory.read(text);
    if (!read) continue;
    ++good;
    // On every side: against itself, against what was written, and as each gold.
    for (const Observation* eager : {&*read, &*written}) {
      JudgeRequest request;
      request.eager = eager;
      request.compiled = &*read;
      request.golds[Gold::fp64] = request.golds[Gold::perturbed] = request.golds[Gold::stepwise] =
          &*read;
      request.strides = StrideRule::ignore;
      request.policy_of = [&](std::string_view) { return policies[random() % policies.size()]; };
      static_cast<void>(judge(request));
    }
  }
  EXPECT_GT(good, rounds / 50);  // the fuzz reaches the judge
}

TEST(Tensor, ViewsMustFitTheirStorage) {
  const std::vector<std::byte> bytes(64);
  const auto fits = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                        std::int64_t offset) {
    TensorView view;
    view.dtype = find_dtype("float32");
    view.bytes = bytes;
    view.shape = std::move(shape);
    view.strides = std::move(strides);
    view.offset = offset;
    return fits_storage(view);
  };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(fits({4, 4}, {4, 1}, 0));
  EXPECT_FALSE(fits({4, 4}, {4, 1}, 1));
  EXPECT_TRUE(fits({}, {}, 15));
  EXPECT_FALSE(fits({}, {}, 16));
  EXPECT_TRUE(fits({0}, {most}, most));
  EXPECT_FALSE(fits({2}, {most}, most));
  EXPECT_FALSE(fits({most, most}, {0, 0}, 0));
  EXPECT_TRUE(fits({std::int64_t{1} << 40}, {0}, 0));
  EXPECT_FALSE(fits({-1}, {1}, 0));
  EXPECT_FALSE(fits({1}, {-1}, 0));
  EXPECT_FALSE(fits({1}, {1}, -1));
  EXPECT_FALSE(fits({1}, {}, 0));
}

TEST(Tensor, DescribesValues) {
  EXPECT_EQ(describe(DataValue(ScalarValue(std::int64_t{4}))), "int 4");
  EXPECT_EQ(describe(DataValue(ScalarValue())), "None");
  EXPECT_EQ(describe(DataValue(ScalarValue(std::complex<double>(1, -2)))), "complex (1-2j)");
  TensorView view;
  view.dtype = find_dtype("float16");
  view.shape = {2, 3};
  EXPECT_EQ(describe(DataValue(view)), "float16[2, 3]");
}

}  // namespace
}  // namespace lockstep
