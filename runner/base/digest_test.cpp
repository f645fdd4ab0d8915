#include "base/digest.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(DigestTest, IsThatOfTheWholeWhateverThePieces) {
  // XXH3 of 128 bits for no bytes, from the reference implementation.
  EXPECT_EQ(Digest().hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(Digest().add("ab").add("c").hex(), Digest().add("abc").hex());
  EXPECT_NE(Digest().add("abd").hex(), Digest().add("abc").hex());
}

}  // namespace
}  // namespace lockstep
