#pragma once

#include <nlohmann/json.hpp>

namespace lockstep::eager {

/// Every operator of the dispatcher with its overloads, tags, arguments and returns, and every
/// dtype, in a deterministic order: what the torch-free runner decodes cases with.  Types are those
/// of `Argument::real_type()`, with SymInt as `int`; defaults are values of the protocol.
nlohmann::ordered_json schemas();

}  // namespace lockstep::eager
