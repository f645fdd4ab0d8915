#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace lockstep::eager {

/// Moves every element of a storage (the parts of complex ones) to its neighbour in its dtype, away
/// from 0 or towards it: which of both is a hash of its place and of the storage's
/// number, so that it is the same on every machine and neither neighbours nor inputs move together.
/// Zeros, subnormals and the smallest normal numbers stay, because a unit there has nothing to do
/// with the number's size; so do NaN, infinities, what would become one, and elements of a dtype
/// that is not floating.
void perturb_storage(std::span<std::byte> storage, std::string_view dtype, std::size_t number);

}  // namespace lockstep::eager
