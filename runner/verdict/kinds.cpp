#include "verdict/kinds.h"

#include "base/enum_table.h"
#include "base/text.h"

namespace lockstep {
namespace {

constexpr std::array kNearer = {
    NearerInfo{Nearer::compiled, "compiled", "compiled nearer to fp64",
               "the compiled result is nearer to the gold"},
    NearerInfo{Nearer::eager, "eager", "eager nearer to fp64", "eager is nearer to the gold"},
    NearerInfo{Nearer::both, "both", "equally near to fp64",
               "eager and the compiled result are equally near to the gold"},
    NearerInfo{Nearer::ill_conditioned, "ill-conditioned", "ill-conditioned",
               "ill-conditioned: a rounding of the inputs moves the result more than that"},
};
static_assert(has_every_row(kNearer, &NearerInfo::nearer));

constexpr std::array kUnsupportedBy = {
    UnsupportedByInfo{UnsupportedBy::case_, "case", false, "it demands another torch"},
    UnsupportedByInfo{UnsupportedBy::torch, "torch", false, "lacks an operator"},
    UnsupportedByInfo{UnsupportedBy::reference, "reference", false, "eager"},
    UnsupportedByInfo{UnsupportedBy::declaration, "declaration", true, "of the path"},
    UnsupportedByInfo{UnsupportedBy::machine, "machine", false, "it has no such CPU level"},
    UnsupportedByInfo{UnsupportedBy::path, "path", true, "its worker, though nobody declared it"},
};
static_assert(has_every_row(kUnsupportedBy, &UnsupportedByInfo::by));

constexpr std::array kRelations = {
    RelationInfo{RelationKind::batch, "batch",
                 "rows alone, elsewhere, or among others have the bits that they have among all"},
    RelationInfo{RelationKind::rows, "rows",
                 "rows in another order give the same rows in that order"},
    RelationInfo{RelationKind::layout, "layout",
                 "the same numbers at other strides or another alignment give the same bits"},
    RelationInfo{
        RelationKind::again, "again",
        "behind other calls, for which it may be compiled anew, a call gives the same bits"},
    RelationInfo{RelationKind::process, "process",
                 "so it does in another process, which finds what the first one compiled"},
    RelationInfo{RelationKind::threads, "threads", "and with another number of threads"},
};
static_assert(has_every_row(kRelations, &RelationInfo::kind));

constexpr std::array kBecause = {
    BecauseInfo{Because::bug, "bug", true, "a bug that is reported"},
    BecauseInfo{Because::intended, "intended", true, "intended by the compiler"},
    BecauseInfo{Because::undefined, "undefined", true, "undefined by both sides"},
    BecauseInfo{Because::unreported, "unreported", true, "not yet reported"},
    BecauseInfo{Because::front_end, "front end", false,
                "raised by torch's front end, before the path's backend is handed anything"},
};
static_assert(has_every_row(kBecause, &BecauseInfo::because));

constexpr std::string_view kDeclared = "declared: ";

}  // namespace

std::span<const NearerInfo> all_nearer() { return kNearer; }

const NearerInfo& info(Nearer nearer) { return kNearer[static_cast<std::size_t>(nearer)]; }

std::string_view name_of(Nearer nearer) { return info(nearer).name; }

std::optional<Nearer> find_nearer(std::string_view name) {
  const NearerInfo* found = find_named(kNearer, name);
  return found == nullptr ? std::nullopt : std::optional(found->nearer);
}

std::span<const UnsupportedByInfo> all_unsupported_by() { return kUnsupportedBy; }

const UnsupportedByInfo& info(UnsupportedBy by) {
  return kUnsupportedBy[static_cast<std::size_t>(by)];
}

std::string_view name_of(UnsupportedBy by) { return info(by).name; }

std::optional<UnsupportedBy> find_unsupported_by(std::string_view name) {
  const UnsupportedByInfo* found = find_named(kUnsupportedBy, name);
  return found == nullptr ? std::nullopt : std::optional(found->by);
}

std::string declared_reason(std::string_view words) {
  return std::string(kDeclared) + one_line(words);
}

std::string words_of_declaration(const std::string& reason) {
  return reason.starts_with(kDeclared) ? reason.substr(kDeclared.size()) : reason;
}

std::span<const RelationInfo> all_relations() { return kRelations; }

const RelationInfo& info(RelationKind kind) { return kRelations[static_cast<std::size_t>(kind)]; }

std::string_view name_of(RelationKind kind) { return info(kind).name; }

std::optional<RelationKind> find_relation(std::string_view name) {
  const RelationInfo* found = find_named(kRelations, name);
  return found == nullptr ? std::nullopt : std::optional(found->kind);
}

std::vector<std::string> relation_names() { return names_of(kRelations); }

std::span<const BecauseInfo> all_because() { return kBecause; }

std::string_view name_of(Because because) {
  return kBecause[static_cast<std::size_t>(because)].name;
}

std::optional<Because> find_because(std::string_view name) {
  const BecauseInfo* found = find_named(kBecause, name);
  return found == nullptr ? std::nullopt : std::optional(found->because);
}

std::vector<std::string> because_names() {
  std::vector<std::string> names;
  for (const BecauseInfo& row : kBecause) {
    if (row.of_rules) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace lockstep
