#include <fmt/format.h>

#include "commands/commands.h"
#include "commands/errors.h"
#include "reports/explanation.h"
#include "reports/terminal.h"
#include "requests/explaining.h"
#include "requests/one_verdict.h"

namespace lockstep {

Exit command_explain(const ExplainingOptions& options) {
  watch_for_interrupts();
  auto table = read_knobs(options.basis.at, options.knobs);
  if (!table) return tell(table.error());
  auto asked = prepare_one(options.basis, "an explanation is of one");
  if (!asked) return tell(asked.error());
  auto found = explanation_of(asked->item(), asked->plan, *asked->session, *table,
                              deadline_in(options.seconds));
  if (interrupted()) return Exit::interrupted;
  if (!found) {
    print_error(found.error());
    return Exit::internal;
  }
  const Explanation& explanation = *found;
  const Terminal terminal = real_terminal();
  const bool color = options.out.empty() && use_color(terminal, terminal.out_is_terminal,
                                                      color_choice(options.basis.at.color));
  const std::string text = options.json ? to_json(explanation).dump(1) + "\n"
                                        : explanation_text(explanation, Style(color));
  if (!write_answer(options.out, text)) return Exit::internal;
  const bool conforms = explanation.layer.empty() || explanation.status == "conform";
  return conforms ? Exit::ok : Exit::failures;
}

}  // namespace lockstep
