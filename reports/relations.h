#pragma once

#include <string>

#include "record/log.h"

namespace lockstep {

/// A table of Markdown: for each path, operator and dtype of a record, and each kind of relation,
/// who keeps it (cases/relations.h). Empty where nothing was asked.
std::string relations_text(const RunRecord& record);

}  // namespace lockstep
