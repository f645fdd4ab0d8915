// Times the judge on two files of raw elements and one of their gold, in double:
//
//     judge-bench EAGER COMPILED GOLD DTYPE THREADS REPEATS
//
// Prints one JSON object: seconds (best of the repeats) of the whole comparison of an output, of
// the pass alone, and of reading the same bytes; of `no_worse` with the gold, and of reading all
// three files; and how many elements differ.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "base/files.h"
#include "judge/numerics/close.h"
#include "judge/numerics/compare.h"

namespace {

using namespace lockstep;

template <class Work>
double best_seconds(int repeats, Work work) {
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

/// Adds up the bytes as 64-bit words: the least that a comparison must do with memory.  Several
/// sums, so that no addition waits for another.
std::uint64_t add_words(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, 32> sums{};
  std::array<std::uint64_t, 32> words;
  std::size_t i = 0;
  for (; i + sizeof words <= bytes.size(); i += sizeof words) {
    std::memcpy(words.data(), bytes.data() + i, sizeof words);
    for (std::size_t j = 0; j < words.size(); ++j) sums[j] += words[j];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t each : sums) sum += each;
  return sum;
}

/// Reads all of these.
std::uint64_t read(std::span<const std::span<const std::byte>> all, int threads) {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads));
  const auto work = [&](std::size_t t) {
    for (const std::span<const std::byte> each : all) {
      const std::size_t part = each.size() / sums.size();
      sums[t] += add_words(each.subspan(t * part, part));
    }
  };
  if (all.front().size() < (1 << 20)) sums.resize(1);
  {
    std::vector<std::jthread> helpers;
    for (std::size_t t = 1; t < sums.size(); ++t) helpers.emplace_back(work, t);
    work(0);
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

TensorView view_of(const FileCopy& file, const Dtype& dtype) {
  TensorView view;
  view.dtype = &dtype;
  view.bytes = file.bytes();
  view.shape = {static_cast<std::int64_t>(file.bytes().size()) / dtype.bytes};
  view.strides = {1};
  return view;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "judge-bench EAGER COMPILED GOLD DTYPE THREADS REPEATS\n";
    return 2;
  }
  const auto eager_file = FileCopy::open(argv[1]);
  const auto compiled_file = FileCopy::open(argv[2]);
  const auto gold_file = FileCopy::open(argv[3]);
  const Dtype* dtype = find_dtype(argv[4]);
  if (!eager_file || !compiled_file || !gold_file || dtype == nullptr) {
    std::cerr << "cannot open the files, or no such dtype\n";
    return 2;
  }
  const int threads = std::atoi(argv[5]);
  const int repeats = std::atoi(argv[6]);
  const TensorView eager = view_of(**eager_file, *dtype);
  const TensorView compiled = view_of(**compiled_file, *dtype);
  const TensorView gold =
      view_of(**gold_file, *find_dtype(dtype->is_complex() ? "complex128" : "float64"));
  Policy close, no_worse;
  close.kind = Policy::Kind::close;
  no_worse.kind = Policy::Kind::no_worse;
  no_worse.parameter = 2;
  Subject subject;
  subject.eager = &eager;
  subject.compiled = &compiled;

  volatile std::uint64_t sink = 0;
  const std::array all = {eager.bytes, compiled.bytes, gold.bytes};
  const double read_two =
      best_seconds(repeats, [&] { sink = sink + read(std::span(all).first(2), threads); });
  std::int64_t differing = 0;
  const double whole = best_seconds(repeats, [&] {
    Comparison comparison(subject, {threads, {}});
    OutputComparison output;
    comparison.add_numbers(output);
    differing = output.differing;
    sink = sink + static_cast<std::uint64_t>(comparison.check(close).holds()) +
           static_cast<std::uint64_t>(comparison.grade());
  });
  const double pass = best_seconds(repeats, [&] {
    const std::array views = {&eager, &compiled};
    const PairNumbers numbers =
        compare_pair(TensorWalk(views), *dtype, close_tolerance(*dtype), {threads, {}});
    sink = sink + static_cast<std::uint64_t>(numbers.differing);
  });
  subject.golds[Gold::fp64] = &gold;
  const double read_three = best_seconds(repeats, [&] { sink = sink + read(all, threads); });
  const double with_gold = best_seconds(repeats, [&] {
    Comparison comparison(subject, {threads, {}});
    OutputComparison output;
    comparison.add_numbers(output);
    sink = sink + static_cast<std::uint64_t>(comparison.check(no_worse).holds());
  });
  fmt::print(
      "{{\"judge\": {:.9f}, \"pass\": {:.9f}, \"read\": {:.9f}, \"no_worse\": {:.9f}, "
      "\"read_gold\": {:.9f}, \"differing\": {}}}\n",
      whole, pass, read_two, with_gold, read_three, differing);
}
