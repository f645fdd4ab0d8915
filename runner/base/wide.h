#pragma once

namespace lockstep {

/// For products of sizes and strides, which must not overflow.
__extension__ typedef unsigned __int128 Wide;

}  // namespace lockstep
