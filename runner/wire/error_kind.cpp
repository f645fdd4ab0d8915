#include "wire/error_kind.h"

#include "base/enum_table.h"

namespace lockstep {
namespace {

struct ErrorKindRow {
  ErrorKind kind;
  std::string_view name;
};
constexpr std::array kErrorKinds = {ErrorKindRow{ErrorKind::error, "error"},
                                    ErrorKindRow{ErrorKind::refused, "refused"},
                                    ErrorKindRow{ErrorKind::internal, "internal"}};
static_assert(has_every_row(kErrorKinds, &ErrorKindRow::kind));

}  // namespace

std::string_view name_of(ErrorKind kind) {
  return kErrorKinds[static_cast<std::size_t>(kind)].name;
}

std::optional<ErrorKind> find_error_kind(std::string_view name) {
  const ErrorKindRow* found = find_named(kErrorKinds, name);
  return found == nullptr ? std::nullopt : std::optional(found->kind);
}

std::vector<std::string> error_kind_names() { return names_of(kErrorKinds); }

}  // namespace lockstep
