#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "verdict/verdict.h"

namespace lockstep {

/// Where eager is executed that a path is compared with, of an instance.
Site reference_site(const Path& path, const Instance& instance);

/// The case for the reports, cut where it is long: `lockstep show` has all of it.
std::string program_text(const Instance& instance);

/// What the plan knows of the verdict of an item; `program` as program_text has it.
CaseFacts case_facts(const Plan& plan, std::size_t item, std::string program);

/// The item at a place of the whole plan, of which this plan may be a shard. Nothing: it has none.
std::optional<std::size_t> item_at(const Plan& plan, std::size_t place);

/// The item of a verdict in a log. `index` is its place in the whole plan; this plan may be a
/// shard. Nothing: it is none of this plan.
std::optional<std::size_t> find_item(const Plan& plan, const CaseFacts& facts);

}  // namespace lockstep
