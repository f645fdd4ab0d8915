# Writes judge_digest(): cmake -D OUTPUT=judge_digest.cpp -D "SOURCES=runner/a.cpp;…" -P judge_digest.cmake
# from the root of the repository.
set(names_and_digests "")
foreach(source ${SOURCES})
  file(SHA256 ${source} digest)
  string(APPEND names_and_digests "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${names_and_digests}")
string(SUBSTRING ${digest} 0 32 digest)
file(WRITE ${OUTPUT} "// Made by runner/record/judge_digest.cmake.
#include \"record/judge_digest.h\"

namespace lockstep {
std::string_view judge_digest() { return \"${digest}\"; }
}  // namespace lockstep
")
