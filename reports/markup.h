#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace lockstep {

/// Text escaped for XML, without what must not be shown (text.h).
std::string xml_text(std::string_view raw);
/// ` name="value"`, also where the value has several lines.
std::string xml_attribute(std::string_view name, std::string_view value);

/// Text of strangers in which Jenkins finds no marks: it looks for them anywhere in what a test
/// case says, and takes along the file that `[[ATTACHMENT|` names.
std::string unmarked(std::string_view raw);

/// The same of HTML, between tags and in quoted attributes.
std::string html_text(std::string_view raw);

/// A path as a part of an address: everything but letters, digits and `/._-~` is escaped, so that
/// it ends no attribute.
std::string url_path(std::string_view path);

/// A link whose text is its address, which is escaped.
std::string link_to(std::string_view address);
/// The sign of a look, of which no reader of screens speaks.
std::string glyph_markup(std::string_view glyph);

/// A paragraph of HTML with what to type, and a button that copies it; nothing for no words.
std::string copied_command(std::string_view words);

/// The template with each {{name}} replaced by its part; one without a part by nothing.  What is
/// put in is never looked at again, so a part may contain "{{name}}" itself.
std::string filled(std::string_view page, const std::map<std::string_view, std::string>& parts);

/// Text that Markdown and HTML both leave as it is, on one line of about so many bytes.
std::string markdown(std::string_view text, std::size_t limit = 500);
/// The same as code; ids and commands stay whole.
std::string markdown_code(std::string_view text);

}  // namespace lockstep
