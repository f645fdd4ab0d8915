#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/record.h"
#include "verdict/differences.h"

namespace lockstep {

/// One line of the table: an operator's outputs of one dtype on one path.  Of several instances the
/// worst counts.
struct AccuracyRow {
  std::string name;   ///< "aten::sin", "aten::sin (gradient)"
  std::string dtype;  ///< of the outputs: "float16"; "int64 -> float32" where no input has it
  std::string path;
  std::int64_t elements = 0;
  std::int64_t differing = 0;  ///< not bit-equal between eager and compiled
  /// One of each kind, in the order of kInputKinds; without elements where it did not occur.
  std::array<Accuracy, kInputKinds.size()> kinds;
};

/// Why operators of a sweep say nothing.
struct NotSwept {
  std::string reason;
  std::vector<std::string> names;  ///< of the operators, sorted, each once
};

/// How far eager and the compiled paths are from the truth, as the tables of OpenCL and JAX tell it
/// of their functions.
struct AccuracyTable {
  std::vector<AccuracyRow> rows;    ///< of the pointwise cases, by name, dtype and path
  std::vector<NotSwept> not_swept;  ///< unsupported verdicts with the tag `sweep`, by frequency
};

/// Conversions (aten::to) that both sides round correctly are left out: their ulps say nothing.
AccuracyTable accuracy_table(const RunRecord& record);

/// The table in aligned columns, then what was not swept.
std::string accuracy_text(const AccuracyTable& table);

/// `{"format": 1, "rows": […], "not_swept": […]}`: see docs/reference/log.md.
nlohmann::ordered_json accuracy_document(const AccuracyTable& table);

/// The document as text, one row a line.
std::string accuracy_json(const AccuracyTable& table);

}  // namespace lockstep
