#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reader.h"
#include "policies/rules.h"

namespace lockstep {

/// What a path may declare not to support, besides operators, dtypes and devices.
enum class Feature { dynamic_shapes, gradients, mutation, complex, strides, bits };

/// Everything that depends on a feature alone.  The table in declarations.cpp is its only home.
struct FeatureInfo {
  Feature feature;
  std::string_view name;  ///< as in path files
  std::string_view had;   ///< for the documentation: by which instances
};

/// All features in the order of the enumeration.
std::span<const FeatureInfo> all_features();

std::string_view name_of(Feature feature);

/// What a path does not support: instances that have one of the operators, one of the dtypes, one
/// of the devices and one of the features.  A list that is empty takes all; globs, `!glob`
/// excludes.
struct Unsupported {
  std::vector<std::string> operators;
  std::vector<std::string> dtypes;
  std::vector<std::string> devices;
  std::vector<Feature> features;
  std::string torch;   ///< range of the releases that it is about; empty: all
  std::string reason;  ///< a sentence

  bool operator==(const Unsupported&) const = default;
};

/// What a path file says that the path does not do.
struct Declarations {
  std::vector<Unsupported> unsupported;
  std::vector<RefusalRule> refuses;
  std::vector<ToleranceRule> tolerances = {};

  bool operator==(const Declarations&) const = default;
};

/// The keys `unsupported`, `refuses` and `tolerances` of a path file (docs/vendor/declare.md);
/// what is wrong is added to the reader.  Whether operators and devices exist is not asked here
/// (plan/names.h, check_declarations).
Declarations decode_declarations(Reader& reader, const Node& path);

}  // namespace lockstep
