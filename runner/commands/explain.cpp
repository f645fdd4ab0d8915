#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/explaining.h"
#include "commands/one_item.h"
#include "reports/explanation.h"
#include "reports/terminal.h"

namespace lockstep {

Exit command_explain(const Options& options) {
  watch_for_interrupts();
  auto table = knobs_of(options);
  if (!table) return Exit::usage;
  auto asked = one_verdict(options, "an explanation is of one");
  if (!asked) return asked.error();
  auto found =
      explanation_of(asked->item(), asked->plan, asked->session, *table, deadline_of(options));
  if (interrupted()) return Exit::interrupted;
  if (!found) {
    print_error(found.error());
    return Exit::internal;
  }
  const Explanation& explanation = *found;
  const Terminal terminal = real_terminal();
  const bool color = options.out.empty() &&
                     use_color(terminal, terminal.out_is_terminal, color_choice(options.color));
  const std::string text = options.json ? to_json(explanation).dump(1) + "\n"
                                        : explanation_text(explanation, Style(color));
  if (!write_answer(options.out, text)) return Exit::internal;
  return explanation.layer.empty() ? Exit::ok : Exit::failures;
}

}  // namespace lockstep
