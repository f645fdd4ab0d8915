#pragma once

#include <functional>
#include <span>
#include <string>

#include "program/program.h"

namespace lockstep {

/// A value as a person reads it: `x`, `3`, `0.5`, `float16`, `[1, 2]`, `"mean"`.
std::string print(const Value& value);

/// "grad=true, autocast=cpu bfloat16"; empty for a context that sets nothing.
std::string print(const Context& context);

/// What stands for the literal tensor at a place: its text, without a final newline.
using LiteralText = std::function<std::string(std::size_t)>;

/// "models/net.py:8 in Net.forward"
std::string print(const SourceLine& source);

/// Whether a step's line ends with where somebody's program says it.
enum class WithSources { no, yes };

/// Steps as code, a line each, every one after `indent`.
std::string print(std::span<const Step> steps, const LiteralText& literal,
                  const std::string& indent, WithSources sources = WithSources::no);

/// A program as code: its steps under its context, what it returns, and the backward after it; each
/// line indented by two.
std::string print(const Program& program, const LiteralText& literal,
                  WithSources sources = WithSources::no);

}  // namespace lockstep
