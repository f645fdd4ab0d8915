#pragma once

#include <string>

#include "record/log.h"

namespace lockstep {

/// A table of Markdown: for each path, operator and dtype of a record, and each kind of relation,
/// who keeps it (cases/relations.h). Empty where nothing was asked.
std::string relations_text(const RunRecord& record);

/// "kept"; "eager breaks 3 of 13"; "path breaks 2 of 13"; "eager breaks 3, path 2 of 13"; with a
/// question mark behind it where no gold says that the program keeps the relation.
std::string relation_words(const RelationFinding& found);

}  // namespace lockstep
