# Turns the assets of this folder into C++: cmake -D OUTPUT=html_assets.cpp -P embed.cmake
# The scripts become one, in this order.
set(page page.html)
set(style style.css)
set(script data.js filter.js details.js numbers.js accuracy.js grid.js operators.js paper.js view.js)

set(text "// Made from reports/html/ by embed.cmake.\n#include \"reports/html/assets.h\"\n\n")
string(APPEND text "namespace lockstep::html_assets {\n\n")
foreach(name page style script)
  set(bytes "")
  foreach(asset ${${name}})
    file(READ ${CMAKE_CURRENT_LIST_DIR}/${asset} hex HEX)
    string(APPEND bytes "${hex}")
  endforeach()
  string(LENGTH "${bytes}" size)
  math(EXPR size "${size} / 2")
  # Every byte as \xNN, in literals of 25 bytes: nothing in an asset can end a literal.
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(REPEAT "." 100 line)
  string(REGEX REPLACE "(${line})" "\\1\"\n    \"" bytes "${bytes}")
  string(APPEND text "const std::string_view ${name}(\n    \"${bytes}\",\n    ${size});\n\n")
endforeach()
string(APPEND text "}  // namespace lockstep::html_assets\n")
file(WRITE ${OUTPUT} "${text}")
