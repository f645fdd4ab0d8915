#include "record/unlike.h"

#include <fmt/format.h>

#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "record/alike.h"

namespace lockstep {
namespace {

/// For what a wheel of torch was built: "cpu", "cu132". Empty where its version does not say it, as
/// that of PyPI's wheel.
std::string kind_of_wheel(const std::string& version) {
  const std::size_t plus = version.find('+');
  return plus == std::string::npos ? std::string() : version.substr(plus + 1);
}

/// Keys of the versions of Python and of the packages of others that the workers say.
std::vector<std::string> packages_of(const Json& environment) {
  std::vector<std::string> keys;
  for (const auto& [worker, values] : environment.items()) {
    if (!values.is_object()) continue;
    for (const auto& [key, value] : values.items()) {
      if ((key == "python" || key.starts_with("package ")) && !contains(keys, key))
        keys.push_back(key);
    }
  }
  return keys;
}

/// The version of a package, of whatever worker says one.
std::string version_said(const Json& environment, const std::string& key) {
  for (const auto& [worker, values] : environment.items()) {
    if (std::string version = said_by(environment, worker, key); !version.empty()) return version;
  }
  return "none";
}

}  // namespace

std::vector<std::string> unlike(const RunRecord& before, const RunRecord& after) {
  std::vector<std::string> lines;
  const auto differ = [&](std::string_view what, const std::string& was, const std::string& is) {
    if (was != is && !was.empty() && !is.empty())
      lines.push_back(fmt::format("{}: {} before, {} after", what, one_line(was), one_line(is)));
  };
  const std::string was = said_by(before.environment, "eager", "torch"),
                    is = said_by(after.environment, "eager", "torch");
  if (kind_of_wheel(was) != kind_of_wheel(is)) differ("wheels of two kinds", was, is);
  for (const auto& [worker, key, what] :
       {std::tuple("machine", "cpu", "the CPU"), std::tuple("machine", "threads", "threads"),
        std::tuple("eager", "cpu_capability", "torch's CPU level")})
    differ(what, said_by(before.environment, worker, key), said_by(after.environment, worker, key));
  for (const std::string& name : other_digests(before.info, after.info)) {
    if (name != "expectations" && name != "levels")
      lines.push_back(fmt::format("the {} are not the same", name));
  }
  std::vector<std::string> packages = packages_of(before.environment);
  for (const std::string& key : packages_of(after.environment)) {
    if (!contains(packages, key)) packages.push_back(key);
  }
  for (const std::string& key : packages)
    differ(key, version_said(before.environment, key), version_said(after.environment, key));
  return lines;
}

}  // namespace lockstep
