#pragma once

#include <string>
#include <vector>

#include "base/reader.h"

namespace lockstep {

/// One choice of the matrix of a case.
struct MatrixChoice {
  std::string suffix;  ///< "[dtype=float16,dim=0]", empty without a matrix
  std::vector<std::pair<std::string, Json>> values;
  std::string op;  ///< of a sweep: the overload chosen, "add.Scalar"; else empty
  int call = -1;   ///< of a sweep that lists calls: the one chosen; else -1
};

/// All choices of `root.matrix`, the last key turning fastest; exactly one, empty, where there is
/// no matrix.  A choice of several values that belong together is an object of fields, `is` being
/// what ids say.
std::vector<MatrixChoice> matrix_choices(Reader& reader, const Json& root);

/// Whether a text can be part of an id: 1 to `most` characters, no space, quote, or one of
/// @ / * ? and the backslash.
bool fits_id(const std::string& text, std::size_t most = 80);

/// The document with every string "$key" replaced by the value chosen, every "$key.field" by that
/// field of it, and every "$device" by the device, and without its matrix.  In the place of a
/// sweep's rule or list stands the operator or the call chosen.
/// "$$text" is the string "$text"; values of the matrix are taken as they are.  `unknown` gets the
/// pointers of strings "$name" that no key explains.
Json substitute(const Json& root, const MatrixChoice& choice, const std::string& device,
                std::vector<std::string>& unknown);

}  // namespace lockstep
