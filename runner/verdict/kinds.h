#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The closed words of a verdict besides its status, grade and standing.  The tables in kinds.cpp
// are their only home.

namespace lockstep {

/// Which side is nearer to the gold where results diverge.
enum class Nearer { compiled, eager, both, ill_conditioned };

struct NearerInfo {
  Nearer nearer;
  std::string_view name;      ///< as in logs and filters
  std::string_view phrase;    ///< at the end of a finding
  std::string_view sentence;  ///< a line of its own
};

/// All of them in the order of the enumeration.
std::span<const NearerInfo> all_nearer();
const NearerInfo& info(Nearer nearer);
std::string_view name_of(Nearer nearer);
std::optional<Nearer> find_nearer(std::string_view name);

/// Who does without what a case needs, where the status is `unsupported`.
enum class UnsupportedBy { case_, torch, reference, declaration, machine, path };

struct UnsupportedByInfo {
  UnsupportedBy by;
  std::string_view name;     ///< as in logs
  bool of_path;              ///< it is the path that does without
  std::string_view meaning;  ///< for people
};

/// All of them in the order of the enumeration.
std::span<const UnsupportedByInfo> all_unsupported_by();
const UnsupportedByInfo& info(UnsupportedBy by);
std::string_view name_of(UnsupportedBy by);
std::optional<UnsupportedBy> find_unsupported_by(std::string_view name);

/// The reason of a verdict about what its path declares as unsupported, in the words of the path
/// file: "declared: There is no kernel."
std::string declared_reason(std::string_view words);
/// The words of the path file in such a reason; of any other all of it.
std::string words_of_declaration(const std::string& reason);

/// What the results of a path keep, whatever eager says.
enum class RelationKind {
  batch,    ///< rows alone, elsewhere, or among others have the bits that they have among all
  rows,     ///< rows in another order give the same rows in that order
  layout,   ///< the same numbers at other strides or another alignment give the same bits
  again,    ///< behind other calls, for which it may be compiled anew, a call gives the same bits
  process,  ///< so it does in another process, which finds what the first one compiled
  threads,  ///< and with another number of threads
};

struct RelationInfo {
  RelationKind kind;
  std::string_view name;     ///< as in cases, path files and logs
  std::string_view meaning;  ///< for people
};

/// All of them in the order of the enumeration.
std::span<const RelationInfo> all_relations();
const RelationInfo& info(RelationKind kind);
std::string_view name_of(RelationKind kind);
std::optional<RelationKind> find_relation(std::string_view name);
std::vector<std::string> relation_names();

/// Why a divergence is known.
enum class Because { bug, intended, undefined, unreported, front_end };

struct BecauseInfo {
  Because because;
  std::string_view name;     ///< as in expectations, logs and filters
  bool of_rules;             ///< a rule of expected/known may say it; else a run says it
  std::string_view meaning;  ///< for people
};

/// All of them in the order of the enumeration.
std::span<const BecauseInfo> all_because();
std::string_view name_of(Because because);
std::optional<Because> find_because(std::string_view name);
/// Those that a rule of expected/known may say.
std::vector<std::string> because_names();

}  // namespace lockstep
