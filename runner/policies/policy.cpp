#include "policies/policy.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/dtype.h"
#include "base/enum_table.h"
#include "base/text.h"

namespace lockstep {
namespace {

using Kind = Policy::Kind;

constexpr double kRequired = std::numeric_limits<double>::quiet_NaN();
constexpr GoldSet kReadsNone{};
constexpr GoldSet kReadsFp64 = gold_set({Gold::fp64});
constexpr GoldSet kReadsStepwise = gold_set({Gold::stepwise});
constexpr GoldSet kReadsBoth = gold_set({Gold::fp64, Gold::stepwise});

// Columns: kind, name, brackets, fallback, judges, golds, examples, written, formula.
constexpr std::array kPolicies = {
    PolicyInfo{Kind::bits,
               "bits",
               Brackets::none,
               0,
               Judges::elements,
               kReadsNone,
               {"bits"},
               "`bits`",
               "the bits are the same; any NaN equals any NaN"},
    PolicyInfo{Kind::bits_strict,
               "bits_strict",
               Brackets::none,
               0,
               Judges::elements,
               kReadsNone,
               {"bits_strict"},
               "`bits_strict`",
               "the bits are the same, payloads of NaN too"},
    PolicyInfo{Kind::equal,
               "equal",
               Brackets::none,
               0,
               Judges::elements,
               kReadsNone,
               {"equal"},
               "`equal`",
               "they are ==, so that −0 equals +0; any NaN equals any NaN"},
    PolicyInfo{Kind::ulp,
               "ulp",
               Brackets::count,
               kRequired,
               Judges::elements,
               kReadsNone,
               {"ulp(4)"},
               "`ulp(n)`",
               "they are at most n units in the last place apart"},
    PolicyInfo{
        Kind::close,
        "close",
        Brackets::tolerance,
        0,
        Judges::elements,
        kReadsNone,
        {"close", "close(rtol=1e-3, atol=1e-5)", "close(k=1024)"},
        "`close`, `close(rtol=1e-3, atol=1e-5)`, `close(k=K)`",
        "\\|c − e\\| ≤ atol + rtol·\\|e\\| with torch.testing.assert_close's table by dtype, or "
        "with these tolerances; with k=K also + 16·√K·u·max\\|e\\|, u the unit roundoff, "
        "2⁻²⁴ for what is narrower than float32: two orders of a sum of K terms (the inner "
        "size of a matmul) differ by no more"},
    PolicyInfo{Kind::same,
               "same",
               Brackets::number,
               1e-4,
               Judges::elements,
               kReadsBoth,
               {"same", "same(1e-3)"},
               "`same(tol)`",
               "the rule of PyTorch's accuracy gate, hardened; tol is 1e-4 by default"},
    PolicyInfo{Kind::same_upstream,
               "same_upstream",
               Brackets::number,
               1e-4,
               Judges::numbers,
               kReadsFp64,
               {"same_upstream", "same_upstream(1e-3)"},
               "`same_upstream(tol)`",
               "the same rule as it is"},
    PolicyInfo{
        Kind::no_worse,
        "no_worse",
        Brackets::number,
        1,
        Judges::elements,
        kReadsFp64,
        {"no_worse", "no_worse(2)"},
        "`no_worse(k)`",
        "max\\|c − g\\| ≤ k·max(\\|e − g\\|, 2·\\|s − g\\|) + 2u·max\\|g\\|, g an fp64 gold and s "
        "eight executions that round every step up or down by chance. Of n numbers few are grossly "
        "wrong, \\|c − g\\| > max(\\|g\\|/8, atol, ulp(g)): at most 2·max(k, 1) times as many as "
        "in eager or in the worst s, + min(2 + n/8, 8) + n/1000"},
    PolicyInfo{
        Kind::stepwise,
        "stepwise",
        Brackets::number,
        1,
        Judges::elements,
        kReadsStepwise,
        {"stepwise", "stepwise(2)"},
        "`stepwise(n)`",
        "g rounds every step as eager does; the error against g is at most n ulp more than "
        "eager's. Some elements may err more, because kernels round to the other side of a tie: as "
        "many and as far as in the worst of eight executions that do so, twice at most"},
    PolicyInfo{Kind::exact,
               "exact",
               Brackets::none,
               0,
               Judges::elements,
               kReadsNone,
               {"exact"},
               "`exact`",
               "integers and bools are the same"},
    PolicyInfo{Kind::decided,
               "decided",
               Brackets::none,
               0,
               Judges::elements,
               kReadsFp64,
               {"decided"},
               "`decided`",
               "integers and bools are the same if an fp64 gold, and eight executions that round "
               "every step up or down by chance, agree with eager. If they do not, c is beyond all "
               "of them by at most twice their span, and the verdict is weak"},
    PolicyInfo{Kind::index_equivalent,
               "index_equivalent",
               Brackets::tensor,
               0,
               Judges::elements,
               kReadsNone,
               {"index_equivalent(x)", "index_equivalent(x, dim=1)"},
               "`index_equivalent(of=x, dim=0)`",
               "the indices select equal values (argmax, topk)"},
    PolicyInfo{Kind::metadata,
               "metadata",
               Brackets::none,
               0,
               Judges::tensors,
               kReadsNone,
               {"metadata"},
               "`metadata`",
               "dtype, shape and the rest agree; values are not compared"},
    PolicyInfo{
        Kind::statistical,
        "statistical",
        Brackets::probability,
        1e-9,
        Judges::tensors,
        kReadsNone,
        {"statistical", "statistical(1e-6)"},
        "`statistical`, `statistical(p)`",
        "they may come from one distribution: the share of non-finite numbers, the mean and the "
        "variance differ by no more than chance does with probability p (1e-9). Each test takes "
        "p/3, z its two-sided normal quantile: \\|m_c − m_e\\| ≤ z·√(v_e/n + v_c/m), the others "
        "alike (`runner/judge/numerics/statistical.h`); below 64 elements only NaN or "
        "infinity where eager has none differ"},
    PolicyInfo{Kind::any_of,
               "any_of",
               Brackets::policies,
               0,
               Judges::children,
               kReadsNone,
               {"any_of(close, ulp(4))"},
               "`any_of(…)`",
               "one of these holds"},
    PolicyInfo{Kind::all_of,
               "all_of",
               Brackets::policies,
               0,
               Judges::children,
               kReadsNone,
               {"all_of(close, ulp(4))"},
               "`all_of(…)`",
               "all of these hold"},
};
static_assert(has_every_row(kPolicies, &PolicyInfo::kind));
static_assert(std::all_of(kPolicies.begin(), kPolicies.end(), [](const PolicyInfo& row) {
  return !row.name.empty() && !row.written.empty() && !row.formula.empty();
}));

/// What a contract means for a floating output: `bits`, or one of `close` and this gold.
struct ContractRow {
  Contract contract;
  std::string_view name;
  Policy::Kind policy;
};
constexpr std::array kContracts = {ContractRow{Contract::bits, "bits", Kind::bits},
                                   ContractRow{Contract::casts, "casts", Kind::stepwise},
                                   ContractRow{Contract::values, "values", Kind::no_worse}};
static_assert(has_every_row(kContracts, &ContractRow::contract));

Policy simple(Kind kind) {
  Policy policy;
  policy.kind = kind;
  policy.parameter = info(kind).fallback;
  return policy;
}

}  // namespace

std::string_view name_of(Contract contract) {
  return kContracts[static_cast<std::size_t>(contract)].name;
}

std::optional<Contract> find_contract(std::string_view name) {
  const ContractRow* found = find_named(kContracts, name);
  return found == nullptr ? std::nullopt : std::optional(found->contract);
}

std::vector<std::string> contract_names() {
  std::vector<std::string> names;
  for (const ContractRow& row : kContracts) names.emplace_back(row.name);
  return names;
}

std::span<const PolicyInfo> all_policies() { return kPolicies; }

const PolicyInfo& info(Policy::Kind kind) { return kPolicies[static_cast<std::size_t>(kind)]; }

Policy default_policy(Contract contract, const Dtype& dtype) {
  const bool is_number = dtype.is_floating() || dtype.is_complex();
  const Kind kind = kContracts[static_cast<std::size_t>(contract)].policy;
  if (kind == Kind::bits) return simple(is_number ? Kind::bits : Kind::exact);
  if (!is_number) return simple(Kind::decided);
  Policy either = simple(Kind::any_of);
  either.children = {simple(Kind::close), simple(kind)};
  return either;
}

Policy tolerant(Policy agreed, const Dtype& dtype, std::span<const ToleranceRule> tolerances) {
  if (!dtype.is_floating() && !dtype.is_complex()) return agreed;
  for (const ToleranceRule& rule : tolerances) {
    if (!globs_take(rule.dtypes, dtype.name)) continue;
    if (agreed.kind != Kind::any_of) {
      Policy either = simple(Kind::any_of);
      either.children = {std::move(agreed)};
      agreed = std::move(either);
    }
    Policy& close = agreed.children.emplace_back(simple(Kind::close));
    close.rtol = rule.rtol;
    close.atol = rule.atol;
  }
  return agreed;
}

GoldSet gold_needs(const Policy& policy) {
  GoldSet needs = info(policy.kind).golds;
  for (const Policy& child : policy.children) {
    const GoldSet more = gold_needs(child);
    for (const GoldInfo& each : all_golds()) needs[each.gold] = needs[each.gold] || more[each.gold];
  }
  return needs;
}

bool judges_positions(const Policy& policy) {
  switch (info(policy.kind).judges) {
    case Judges::elements:
    case Judges::numbers:
      return true;
    case Judges::tensors:
      return false;
    case Judges::children:
      break;
  }
  return std::any_of(policy.children.begin(), policy.children.end(), judges_positions);
}

}  // namespace lockstep
