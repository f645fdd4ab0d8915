#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fuzzing.h"
#include "judge/judge.h"
#include "wire/message_reader.h"
#include "wire/observation.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// The messages of testdata: those that are accepted, and all.
struct Written {
  std::vector<std::string> accepted;
  std::vector<std::string> all;

  const std::string& one(fuzz::Random& random) const {
    return random.one_of(random.often(7) ? accepted : all);
  }
};

Written written(const char* file, const char* key) {
  Written result;
  std::ifstream lines(fs::path(LOCKSTEP_SOURCE_DIR) / "runner/wire/testdata" / file);
  for (std::string line; std::getline(lines, line);) {
    const Json example = Json::parse(line);
    const std::string text =
        example.contains(key) ? example[key].dump() : example["text"].get<std::string>();
    if (text.size() > 4000) continue;
    result.all.push_back(text);
    if (!example.contains("refused")) result.accepted.push_back(text);
  }
  return result;
}

/// Whatever a worker says, in whatever pieces it comes: messages or a fault.
TEST(Fuzz, EveryLineOfAWorkerGivesAMessageOrAFault) {
  const Written lines = written("worker_lines.jsonl", "line");
  const auto [begin, count] = fuzz::stint();
  fuzz::Stopwatch watch;
  std::size_t messages = 0, faults = 0;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    fuzz::Random random(seed * 1'000'003);
    std::string said;
    for (std::size_t i = 1 + random.below(3); i > 0; --i)
      said += fuzz::changed_json(lines.one(random), random) + (random.often(7) ? "\n" : "");
    watch.time(seed, [&] {
      MessageReader reader;
      for (std::size_t at = 0; at < said.size();) {
        const std::size_t size = 1 + random.below(said.size());
        messages += reader.take(std::string_view(said).substr(at, size)).size();
        at += size;
      }
      ASSERT_LT(reader.fault().size(), 1500U) << "seed " << seed << ":\n" << said;
      faults += reader.fault().empty() ? 0 : 1;
    });
    if (HasFatalFailure()) return;
  }
  std::printf("%zu messages, %zu faults\n", messages, faults);
  watch.print("line");
  if (count < 1000) return;
  EXPECT_GT(messages, count / 5) << "little is a message: the fuzzer tests the first checks only";
  EXPECT_GT(faults, count / 5);
}

std::int64_t elements_of(const Observation& observation) {
  std::int64_t all = 0;
  for (const Repetition& repetition : observation.repetitions) {
    for (const CallResult& call : repetition) {
      for (const NamedValues* group : {&call.outputs, &call.inputs, &call.grads}) {
        for (const auto& [name, value] : *group) {
          const auto* view = std::get_if<TensorView>(&value);
          if (view != nullptr && __builtin_add_overflow(all, view->elements(), &all))
            return INT64_MAX;
        }
      }
    }
  }
  return all;
}

/// Whatever a worker writes: an error, or an observation that can be judged.
TEST(Fuzz, EveryObservationGivesAnErrorOrAVerdict) {
  const Written observations = written("observations.jsonl", "observation");
  const fs::path folder =
      fs::path(testing::TempDir()) / ("lockstep-fuzz-wire-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "0", std::ios::binary) << std::string(80, '\x3f');
  const auto [begin, count] = fuzz::stint();
  fuzz::Stopwatch watch;
  std::size_t read = 0, refused = 0, judged = 0;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    fuzz::Random random(seed * 1'000'003);
    const std::string& original = observations.one(random);
    const std::string text = fuzz::changed_json(original, random);
    SCOPED_TRACE(seed);
    watch.time(seed, [&] {
      const auto observation = parse_observation(text, folder);
      ++(observation ? read : refused);
      if (!observation) {
        ASSERT_LT(observation.error().message.size(), 2000U) << text;
        return;
      }
      // A view may be expanded to more elements than a fuzzer has time for.
      if (elements_of(*observation) > 4096) return;
      const auto other = parse_observation(original, folder);
      JudgeRequest request;
      request.compiled = &*observation;
      for (const Observation* eager : {&*observation, other ? &*other : nullptr}) {
        if (eager == nullptr) continue;
        request.eager = eager;
        ASSERT_FALSE(judge(request).reason.size() > 10'000U) << text;
        ++judged;
      }
    });
    if (HasFatalFailure()) break;
  }
  fs::remove_all(folder);
  std::printf("%zu observations, %zu refused, %zu verdicts\n", read, refused, judged);
  watch.print("observation");
  if (count < 1000) return;
  EXPECT_GT(judged, count / 10) << "little is read: the fuzzer tests the first checks only";
  EXPECT_GT(refused, count / 5);
}

}  // namespace
}  // namespace lockstep
