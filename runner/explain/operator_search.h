#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "explain/operators.h"

namespace lockstep {

/// The search of find_operators.  The steps are the flat ones, by their places.
class OperatorSearch {
 public:
  OperatorSearch(const Suspect& suspect, Trials& trials, Explanation& explanation);
  SeenValues run();

 private:
  using Places = std::vector<std::size_t>;

  // observing.cpp: the values of all steps, seen in the program that diverges.
  void see_all();
  void see_in_turn(const std::vector<std::string>& names);
  void take_values(const Tried& tried, const Observed& observed);
  /// What eager makes of the arguments that steps were given in the compiled program.
  std::optional<GivenValues> remade_by_eager(const Places& steps);
  /// The steps of which eager makes other bits, from the same arguments.
  Places unlike_eager();
  void note_amplifier(std::size_t from);
  void find_draws(const Observation& eager, const Observed& observed);
  void seed_as_there(Case& part) const;

  Places steps_of_the_difference();

  // contributions.cpp
  bool trace(const Places& unlike);
  std::vector<FlatStep> rest_after(std::size_t last) const;
  std::vector<std::optional<GivenValues>> continued_from(
      const std::map<std::size_t, GivenValues>& given);
  Places greatest_contributions() const;
  std::optional<bool> stays_without(const Places& steps);
  void confirm();

  // alone.cpp: parts of the program on eager's values.
  void try_alone(const Places& steps);
  /// Compiles one part of the program for each step, and notes the result. `what` names the part.
  void run_alone(std::vector<std::pair<std::size_t, Case>> parts, const std::string& what);
  bool is_of_this_kind(const Verdict& verdict) const;
  void find_alone();

  // gradients.cpp
  void try_gradients();
  /// What eager's backward hands each tensor.
  struct HandedGradients {
    std::map<std::string, std::string> names;  ///< of the gradients, by those of the tensors
    GivenValues values;
  };
  HandedGradients gradients_of_eager();
  std::optional<Case> gradient_part(std::size_t step, const HandedGradients& handed) const;
  std::optional<Case> carried_back(std::size_t step) const;
  Places greatest_gradients();
  /// Whether some steps diverge as a program of their own on eager's values as the first of them
  /// does in the whole one; nothing: not known.
  std::optional<bool> diverges_together(const Places& steps);
  std::optional<bool> does_wrong(std::size_t step, const Executed& executed) const;
  void find_company(std::size_t step, How how);
  void find_shortest_beginning();
  void find_what_raises();
  Case beginning(std::size_t steps) const;
  Places producers_of(const Places& steps) const;
  /// The steps as an execution of their own; an error where a value is not known.
  Result<Case> part(const Places& steps, const std::vector<std::string>& outputs) const;

  // cast.cpp
  void name_cast(std::size_t step);
  bool explains(const Places& wide, std::size_t step, const std::string& narrow);

  /// Notes a question that is open, once.
  void leave_open(const std::string& question);
  std::string trial_name(const std::string& what) const;
  Places all_steps() const;
  std::vector<std::string> tensors_of(std::size_t step) const;
  void blame(Places steps, How how);

  const Suspect& suspect_;
  Trials& trials_;
  Explanation& out_;
  std::vector<FlatStep> flat_;
  bool bits_ = false;            ///< the least difference counts
  bool writes_ = false;          ///< to what is there
  std::set<std::size_t> draws_;  ///< the steps that draw random numbers
  bool eager_returns_ = true, eager_raises_ = false;
  bool spread_ = false;  ///< the difference comes from many steps, from none much of it
  SeenValues seen_;
  std::map<std::size_t, double> own_;  ///< what a step itself does wrong, as a fraction
  std::vector<std::size_t> alone_;     ///< the steps that diverge alone
  std::map<std::size_t, Executed> tried_alone_;
};

}  // namespace lockstep
