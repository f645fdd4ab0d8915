#pragma once

#include <string_view>

/// The files of this folder, turned into C++ by embed.cmake when Lockstep is built.
namespace lockstep::html_assets {

extern const std::string_view page;    ///< page.html
extern const std::string_view style;   ///< style.css
extern const std::string_view script;  ///< view.js and what it stands on
extern const std::string_view gate_page, gate_style, gate_script;  ///< gate.html, .css, .js

}  // namespace lockstep::html_assets
