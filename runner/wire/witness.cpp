#include "wire/witness.h"

#include "base/enum_table.h"

namespace lockstep {
namespace {

struct WitnessRow {
  Witness witness;
  std::string_view name;
};
constexpr std::array kWitnesses = {WitnessRow{Witness::observed, "observed"},
                                   WitnessRow{Witness::stated, "stated"}};
static_assert(has_every_row(kWitnesses, &WitnessRow::witness));

}  // namespace

std::string_view name_of(Witness witness) {
  return kWitnesses[static_cast<std::size_t>(witness)].name;
}

std::optional<Witness> find_witness(std::string_view name) {
  const WitnessRow* found = find_named(kWitnesses, name);
  return found == nullptr ? std::nullopt : std::optional(found->witness);
}

std::vector<std::string> witness_names() { return names_of(kWitnesses); }

}  // namespace lockstep
