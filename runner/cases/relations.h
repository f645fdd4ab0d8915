#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cases/case.h"
#include "verdict/kinds.h"

namespace lockstep {

/// Rows of a result that have to be rows of the result of another call.
struct RowRange {
  std::int64_t at = 0;     ///< the first of them in the later call
  std::int64_t count = 1;  ///< how many there are
  std::size_t of = 0;      ///< the other call
  std::int64_t from = 0;   ///< where they are there
};

/// A relation between calls: what one gives has to be what others give.
struct RelationOfCalls {
  RelationKind kind = RelationKind::batch;
  std::string what;            ///< for people: "rows 0 to 2 of 64 alone"
  std::size_t call = 0;        ///< of the case with these calls
  std::size_t of = 0;          ///< the call of which the whole result is that of `call`
  std::vector<RowRange> rows;  ///< instead: along which rows they are those of other calls
  /// RelationSpec::of.
  std::vector<std::pair<std::string, std::int64_t>> outputs;
};

/// The dimension along which an output has the rows of a relation; nothing: it is not about that
/// output.
std::optional<std::int64_t> along_of(const RelationOfCalls& relation, const std::string& output);

/// A case with the calls that its relations ask for, behind its own.
struct RelatedCase {
  Case declared;
  std::vector<RelationOfCalls> relations;
};

/// Batches and orders of rows are asked on three draws of the inputs (fresh.h): a softmax over the
/// batch may keep them on one.
RelatedCase with_calls_of_relations(const Case& declared);

/// Why no relation between calls can be asked of a case; empty: it can.
std::string why_unrelated(const Case& declared);

/// The relations that can be asked of a case that says none: every tensor whose first dimension is
/// that of the first one is a batch, and the first call is asked again in every way. None where
/// `why_unrelated` says something.
std::vector<RelationSpec> usual_relations(const Case& declared);

/// The words for a layout: the same numbers begin one element later in memory ("shifted"), have the
/// first two dimensions exchanged in memory ("transposed") or, of four dimensions, the second
/// innermost ("channels_last"). A tensor that has not the dimensions stays as it is.
std::vector<std::string> layout_names();

}  // namespace lockstep
