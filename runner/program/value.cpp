#include "program/value.h"

namespace lockstep {

std::string_view name_of(Enumeration::Kind kind) {
  switch (kind) {
    case Enumeration::Kind::dtype:
      return "dtype";
    case Enumeration::Kind::device:
      return "device";
    case Enumeration::Kind::layout:
      return "layout";
    case Enumeration::Kind::memory_format:
      return "memory_format";
  }
  return "";
}

bool Value::operator==(const Value& other) const { return is == other.is; }

}  // namespace lockstep
