#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// Text that XML leaves as it is, cleaned of what is not to be shown (text.h).
std::string xml_text(std::string_view raw);
/// ` name="value"`.
std::string xml_attribute(std::string_view name, std::string_view value);

/// Text that Markdown and HTML both leave as it is, on one line of about so many bytes.
std::string markdown(std::string_view text, std::size_t limit = 500);
/// The same as code; ids and commands stay whole.
std::string markdown_code(std::string_view text);

}  // namespace lockstep
