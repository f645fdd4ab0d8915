#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "cases/decode.h"
#include "cases/suite.h"
#include "paths/needs.h"
#include "paths/path.h"
#include "plan/filter.h"

namespace lockstep {

/// A case with one choice of its matrix on one device.
struct Instance {
  std::string id;
  std::string device;
  std::shared_ptr<const Case> declared;
  std::size_t items = 0;  ///< how many verdicts it gives
  /// Neighbours with the same number may be compiled in one graph (share.h).
  std::size_t shared_graph = 0;
  /// The case on other devices on which a path is compared with eager; null: it is not meant for
  /// that device.
  std::map<std::string, std::shared_ptr<const Case>> on_devices = {};
};

/// One verdict to come.
struct PlanItem {
  std::size_t instance = 0;  ///< index into Plan::instances
  std::size_t path = 0;      ///< index into Plan::paths
  std::string id;            ///< instance/path
  Declared declared = {};    ///< what the path says of it: what it does not support is not executed
  std::size_t place = 0;     ///< in the whole plan, where this one is a shard of it (shard.h)
};

/// What a run will do, in order: the items of an instance are neighbours, and so are the instances
/// of a shared graph.
struct Plan {
  std::vector<Path> paths;
  std::vector<Instance> instances;
  std::vector<PlanItem> items;
  std::vector<std::string> devices;
  std::string digest;  ///< of the ids in order
};

/// From what a plan is made.
struct PlanRequest {
  const std::vector<CaseFile>* suite = nullptr;
  std::vector<Path> paths;  ///< all that are known
  std::vector<std::string> devices;
  Filter filter;
  DecodeContext context;
  /// For terms that look into a log: what it says of a verdict's id.
  const std::map<std::string, LogWords>* earlier = nullptr;
  /// Cases that ask for no relations are asked the usual ones (cases/relations.h).
  bool relations = false;
  bool alone = false;            ///< no case shares a compilation
  bool ignore_declared = false;  ///< plan also what a path declares not to support for execution
  /// Take instances also where no path does, unless the filter names paths or looks into a log.
  bool pathless = false;
};

/// The digest of a plan's ids, in order.
std::string digest_of(const std::vector<std::string_view>& ids);

/// Whether a filter decides the paths itself, so that the default ones do not count.
bool names_paths(const Filter& filter);

/// Every selected case × matrix × device × path.  Without a filter that names paths or looks
/// into a log, the default ones.  Cases that cannot be decoded add diagnostics.
Plan make_plan(const PlanRequest& request, Diagnostics& diagnostics);

/// Keeps only the items that `wanted` accepts, and the instances that have some.
void keep_items(Plan& plan, const std::function<bool(const PlanItem&)>& wanted);

/// Puts the instances into another order, given as their present places, and their items with them,
/// before anybody asks for the places and the digest of these.
void reorder(Plan& plan, const std::vector<std::size_t>& order);

/// Puts the shared graphs into an order that the seed decides, the same on every machine. Instances
/// of a graph and items of an instance stay together.
void shuffle(Plan& plan, std::uint64_t seed);

/// The dtypes of a case's inputs, each once, in order.
std::vector<std::string> input_dtypes(const Case& declared);

/// Ids of all instances that the filter selects, without decoding a case.
std::vector<std::string> instance_ids(const PlanRequest& request);

/// The ids that the filter selects: of verdicts if it names paths or looks into a log, else of
/// instances on any path. Decodes cases where the answer depends on what only that tells, each
/// once for choices of its matrix that differ in numbers alone, and keeps none.
std::vector<std::string> selected_ids(const PlanRequest& request, Diagnostics& diagnostics);

/// The same ids, each with its case file and what that declares, decoded once for choices that
/// differ in numbers alone.
struct Selected {
  std::string id;
  const CaseFile* file = nullptr;
  std::vector<std::string> operators, dtypes;
};
std::vector<Selected> selected(const PlanRequest& request, Diagnostics& diagnostics);

/// Shows the operators and the dtypes of decoded cases, each once for choices of its matrix that
/// differ in numbers alone, until `enough` returns true.  Those that cannot be decoded are left
/// out.
void visit_decoded(const PlanRequest& request,
                   const std::function<bool(const std::vector<std::string>& operators,
                                            const std::vector<std::string>& dtypes)>& enough);

/// For each case that is selected but on no path or device that the request takes, what it needs:
/// "`bugs/1` runs only on the path a: --path a".  A few of them, for people.
std::vector<std::string> missed_cases(const PlanRequest& request);

/// The id that someone who asked for `wanted` may have meant, or empty.
std::string nearest_id(const PlanRequest& request, const std::string& wanted);

/// The same for a word of another kind: a tag, an operator, a dtype, a path or a device.
std::string nearest_word(const PlanRequest& request, std::string_view kind,
                         const std::string& wanted);

}  // namespace lockstep
