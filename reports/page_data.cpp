#include "reports/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/gzip.h"
#include "base/json.h"
#include "base/parallel.h"
#include "record/fingerprints.h"
#include "record/judged.h"
#include "record/tally.h"
#include "reports/accuracy.h"
#include "reports/by_path.h"
#include "reports/json.h"
#include "reports/marks.h"
#include "reports/text.h"
#include "reports/tolerated.h"
#include "reports/words.h"

namespace lockstep {
namespace {

/// What lists and filters read of a verdict.  The page decodes it with a whole part, and the rest
/// of a verdict when somebody looks at it.
constexpr std::array kColumns = {
    "id",       "instance",  "path",      "device",      "title",        "status",
    "standing", "grade",     "reason",    "nearer",      "fingerprints", "tags",
    "dtypes",   "operators", "unstable",  "vacuous",     "weak",         "foreign_fraction",
    "seconds",  "stage",     "execution", "expectation", "front_end"};

/// The rest stands in blocks of so many verdicts, each compressed by itself.
constexpr std::size_t kBlock = 256;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// What two equal values have in common, and no other one has it: made for every key of every
/// verdict, where JSON takes ten times as long.
void append_key(std::string& key, const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    key += fmt::format_int(text.size()).c_str();
    (key += '"') += text;
  } else if (value.is_array()) {
    key += '[';
    for (const Json& each : value) append_key(key, each);
    key += ']';
  } else {
    key += dumped(value);
  }
}

/// One key of many verdicts: each value once, and for each verdict its place, -1 where it has none.
struct ValueColumn {
  Json values = Json::array();
  Json places = Json::array();
  std::unordered_map<std::string, std::size_t> known;

  void add(Json value) {
    std::string key;
    append_key(key, value);
    const auto [place, is_new] = known.emplace(std::move(key), values.size());
    if (is_new) values.push_back(std::move(value));
    places.push_back(place->second);
  }
  void add_none() { places.push_back(-1); }
  Json json() { return {{"values", std::move(values)}, {"places", std::move(places)}}; }
};

/// What the list shows, sorts and searches of all verdicts, which it sees one at a time: together
/// they are much memory.
class Columns {
 public:
  void add(const Verdict& verdict, const Json& json) {
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      const auto found = json.find(kColumns[i]);
      if (found == json.end()) {
        columns_[i].add_none();
      } else {
        columns_[i].add(*found);
      }
    }
    derive(verdict, json);
  }

  /// What a part of the page has of them.
  Json part() { return {{"columns", columns()}, {"derived", derived()}}; }

 private:
  Json columns() {
    Json columns = Json::object();
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (!columns_[i].values.empty()) columns[kColumns[i]] = columns_[i].json();
    }
    return columns;
  }

  /// What is made of outputs and errors.
  Json derived() {
    return {{"tolerated", passed_.json()},
            {"ulps", ulps_.json()},
            {"errors", errors_.json()},
            {"marks", marks_.json()}};
  }

  void derive(const Verdict& verdict, const Json& json) {
    const OutputComparison* worst = tolerated(verdict).output;
    if (worst == nullptr) {
      passed_.add_none();
    } else {
      const Json& output =
          json["outputs"][static_cast<std::size_t>(worst - verdict.found.outputs.data())];
      Json shown = Json::object();
      for (const char* key :
           {"name", "differing", "elements", "max_abs", "max_rel", "max_ulp", "policy"})
        if (output.contains(key)) shown[key] = output[key];
      passed_.add(std::move(shown));
    }
    std::uint64_t greatest = 0;
    for (const OutputComparison& output : verdict.found.outputs)
      greatest = std::max<std::uint64_t>(greatest, output.max_ulp.value_or(0));
    ulps_.add(greatest);
    marks_.add(marks_of(verdict));
    std::string classes;
    for (const char* side : {"eager_error", "compiled_error"}) {
      const auto error = json.find(side);
      if (error != json.end() && error->contains("class"))
        classes += (classes.empty() ? "" : "\n") + (*error)["class"].get<std::string>();
    }
    if (classes.empty()) {
      errors_.add_none();
    } else {
      errors_.add(std::move(classes));
    }
  }

  std::array<ValueColumn, kColumns.size()> columns_;
  ValueColumn passed_, ulps_, errors_, marks_;
};

/// Takes out of the verdicts of a block what several of them repeat (the program of a case, the
/// proof of a path), and puts it there once: `common` of a verdict maps such a key to a place in
/// `common` of the block.
Json pooled(Json verdicts) {
  Json common = Json::array();
  std::unordered_map<std::string, std::size_t> places;
  for (Json& verdict : verdicts) {
    Json references = Json::object();
    for (const char* key : {"case_file", "links", "program", "proof", "stderr_tail"}) {
      const auto found = verdict.find(key);
      if (found == verdict.end()) continue;
      std::string text = dumped(*found);
      if (text.size() < 24) continue;
      const auto [place, is_new] = places.emplace(std::move(text), common.size());
      if (is_new) common.push_back(std::move(*found));
      references[key] = place->second;
      verdict.erase(key);
    }
    if (!references.empty()) verdict["common"] = std::move(references);
  }
  return {{"common", std::move(common)}, {"verdicts", std::move(verdicts)}};
}

/// JSON that can stand inside <script>: without "<" nothing in it can end the element or begin a
/// comment.  Cleaned as a whole, for its strings are what the page shows.
std::string inside_script(const Json& document) {
  const std::string json = clean(dumped(document));
  std::string result;
  result.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

/// How much conforms by path, of all that was judged and of what every path judged.
Json rates_json(const RunRecord& record) {
  const RatesByPath rates = rates_by_path(record);
  const auto json = [](const Rate& rate) {
    return Json{{"conform", rate.conform}, {"judged", rate.judged}};
  };
  Json paths = Json::array();
  for (const RatesByPath::Of& each : rates.paths)
    paths.push_back({{"path", each.path}, {"own", json(each.own)}, {"common", json(each.common)}});
  return {{"differ", rates.differ}, {"paths", std::move(paths)}};
}

/// From where the page will be to the files of its run; nothing where nobody knows.
Json files_of(const RunRecord& record, const std::filesystem::path& page) {
  if (page.empty() || page == "-") return nullptr;
  std::error_code error;
  const std::filesystem::path directory = record.directory.empty() ? "." : record.directory,
                              files = std::filesystem::relative(
                                  std::filesystem::absolute(directory),
                                  std::filesystem::absolute(page).parent_path(), error);
  return error || files.empty() ? Json() : Json(files.generic_string());
}

/// How soon somebody has to see a verdict: 0 is what fails, last is what conforms and nothing else.
std::size_t urgency(const Verdict& verdict) {
  const Column column = column_of(verdict, false);
  const bool plain = column == Column::conform && marks_of(verdict).empty();
  return static_cast<std::size_t>(column) + (plain ? 1 : 0);
}

using Verdicts = std::vector<const Verdict*>;

/// The verdicts in parts of at most so many, each in the order of the plan, the most urgent
/// instances first. The page shows an instance on all its paths, so no two parts share one.
std::vector<Verdicts> parts_of(const RunRecord& record, std::size_t most) {
  struct Instance {
    std::size_t urgency = SIZE_MAX;
    Verdicts verdicts = {};
  };
  std::vector<Instance> instances;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const Verdict& verdict : record.verdicts) {
    const auto [place, is_new] = places.emplace(verdict.facts.instance, instances.size());
    if (is_new) instances.emplace_back();
    Instance& instance = instances[place->second];
    instance.urgency = std::min(instance.urgency, urgency(verdict));
    instance.verdicts.push_back(&verdict);
  }
  std::stable_sort(instances.begin(), instances.end(),
                   [](const Instance& a, const Instance& b) { return a.urgency < b.urgency; });
  std::vector<Verdicts> parts(1);
  for (const auto& [_, verdicts] : instances) {
    const std::size_t size = parts.back().size();
    if (size > 0 && verdicts.size() > most - std::min(size, most)) parts.emplace_back();
    parts.back().insert(parts.back().end(), verdicts.begin(), verdicts.end());
  }
  for (Verdicts& part : parts) std::sort(part.begin(), part.end());  // they point into one vector
  return parts;
}

/// What the page counts: by kind, by status, by path and kind, and of what conforms by grade and
/// mark, named as in filters.
Json counts_json(const RunRecord& record, bool strict) {
  const auto kinds = [](const Tally& counts) {
    Json json = Json::object();
    for (const ColumnInfo& kind : all_columns())
      if (counts[kind.column] > 0) json[kind.name] = counts[kind.column];
    return json;
  };
  std::map<std::string_view, std::size_t> statuses, grades, marks;
  for (const Verdict& verdict : record.verdicts) {
    ++statuses[info(verdict.found.status).name];
    if (column_of(verdict, strict) != Column::conform) continue;
    if (verdict.found.grade) ++grades[name_of(*verdict.found.grade)];
    for (const std::string_view mark : marks_of(verdict)) ++marks[mark];
  }
  Json paths = Json::object(), conforming = Json::object();
  for (const auto& [path, counts] : tally_by_path(record, strict)) paths[path] = kinds(counts);
  for (const auto& [grade, count] : grades) conforming[fmt::format("grade:{}", grade)] = count;
  for (const auto& [mark, count] : marks) conforming[fmt::format("is:{}", mark)] = count;
  return {{"kind", kinds(tally(record, strict))},
          {"status", statuses},
          {"path", std::move(paths)},
          {"conforming", std::move(conforming)}};
}

/// Of each fingerprint, in their order, what the page counts: by kind, also with --strict, and its
/// operators.
Json fingerprint_counts(const RunRecord& record) {
  Json all = Json::array();
  for (const FingerprintGroup& group : fingerprint_groups(record, false)) {
    std::array<std::map<Column, std::size_t>, 2> columns;
    std::set<std::string_view> known;
    Json operators = Json::array(), kinds = Json::array();
    for (const Verdict* verdict : group.verdicts) {
      for (const bool strict : {false, true}) ++columns[strict][column_of(*verdict, strict)];
      for (const std::string& name : verdict->facts.operators)
        if (known.insert(name).second) operators.push_back(name);
    }
    for (const auto& counts : columns) {
      Json& json = kinds.emplace_back(Json::object());
      for (const auto& [column, count] : counts)
        json[all_columns()[static_cast<std::size_t>(column)].name] = count;
    }
    all.push_back({{"kinds", std::move(kinds)}, {"operators", std::move(operators)}});
  }
  return all;
}

/// The five that took longest, longest first.
Json slowest_json(const RunRecord& record) {
  Verdicts verdicts;
  for (const Verdict& verdict : record.verdicts)
    if (verdict.origin.seconds > 0) verdicts.push_back(&verdict);
  const auto end =
      verdicts.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(5, verdicts.size()));
  std::partial_sort(verdicts.begin(), end, verdicts.end(), [](const Verdict* a, const Verdict* b) {
    return std::pair(-a->origin.seconds, a) < std::pair(-b->origin.seconds, b);
  });
  Json slowest = Json::array();
  for (auto each = verdicts.begin(); each != end; ++each)
    slowest.push_back({{"id", (*each)->facts.id}, {"seconds", (*each)->origin.seconds}});
  return slowest;
}

/// What the page says of the run as a whole.
Json summary_json(const RunRecord& record, const std::filesystem::path& page) {
  Json document = run_frame(record);
  std::map<std::string, double> phases;
  std::set<std::string_view> devices;
  for (const Verdict& verdict : record.verdicts) {
    devices.insert(verdict.facts.device);
    for (const auto& [phase, seconds] : verdict.origin.phases) phases[phase] += seconds;
  }
  document["phases"] = phases;
  document["count"] = record.verdicts.size();
  document["block"] = kBlock;
  document["totals"] = {counts_json(record, false), counts_json(record, true)};
  document["fingerprint_counts"] = fingerprint_counts(record);
  document["slowest"] = slowest_json(record);
  document["device"] = devices.size() == 1 ? Json(*devices.begin()) : Json();
  if (const AccuracyTable table = accuracy_table(record); !table.rows.empty())
    document["accuracy"] = accuracy_document(table);
  const Json words = words_document();
  for (const char* table : {"statuses", "standings", "kinds", "marks"})
    document[table] = words[table];
  document["grades"] = grade_names();
  document["input_kinds"] = kInputKinds;
  document["judged_too_little"] = judged_too_little(record, false);
  document["rates"] = rates_json(record);
  document["files"] = files_of(record, page);
  return document;
}

/// Script elements that nothing executes, made on all cores. Much data is compressed, and little of
/// it is held as it was.
class Elements {
 public:
  explicit Elements(std::size_t compress_from) : compress_from_(compress_from) {}

  void add(std::string id, Json document) {
    constexpr std::size_t kAtOnce = 64;
    documents_.emplace_back(std::move(id), std::move(document));
    if (documents_.size() == kAtOnce) make();
  }

  std::string text() {
    make();
    write();
    return std::move(text_);
  }

 private:
  void make() {
    const std::size_t from = made_.size();
    made_.resize(from + documents_.size());
    in_parallel(documents_.size(), 1, [&](std::size_t i) {
      made_[from + i] = {std::move(documents_[i].first), inside_script(documents_[i].second)};
    });
    documents_.clear();
    for (std::size_t i = from; i < made_.size(); ++i) size_ += made_[i].second.size();
    if (size_ >= compress_from_) write();
  }

  void write() {
    const bool compressed = size_ >= compress_from_;
    if (compressed)
      in_parallel(made_.size(), 1,
                  [&](std::size_t i) { made_[i].second = base64(gzip(made_[i].second)); });
    for (const auto& [id, text] : made_)
      text_ += fmt::format("<script type=\"application/{}\" id=\"{}\">{}</script>\n",
                           compressed ? "gzip" : "json", id, text);
    made_.clear();
  }

  std::size_t compress_from_, size_ = 0;
  std::vector<std::pair<std::string, Json>> documents_;
  std::vector<std::pair<std::string, std::string>> made_;  ///< of these, by their ids
  std::string text_;
};

/// Takes the entries of a part's instances out of all by instance.
Json entries_of(const Verdicts& part, std::unordered_map<std::string, Json>& all) {
  Json entries = Json::object();
  for (const Verdict* verdict : part) {
    const auto found = all.find(verdict->facts.instance);
    if (found == all.end()) continue;
    // Each is there once; to look for it among the others would take the square of their number.
    entries.get_ref<Json::object_t&>().emplace_back(found->first, std::move(found->second));
    all.erase(found);
  }
  return entries;
}

}  // namespace

std::string page_data(const RunRecord& record, const std::filesystem::path& page,
                      const PageSizes& sizes) {
  Elements elements(sizes.compress_from);
  Json data = summary_json(record, page), block = Json::array();
  std::unordered_map<std::string, Json> diverging;
  for (auto& [instance, entry] : data["diverging"].items())
    diverging.emplace(instance, std::move(entry));
  std::size_t blocks = 0, parts = 0;
  const auto end_block = [&] {
    elements.add(fmt::format("block-{}", blocks++), pooled(std::move(block)));
    block = Json::array();
  };
  for (const Verdicts& part : parts_of(record, sizes.part)) {
    Columns columns;
    for (const Verdict* verdict : part) {
      Json json = verdict_document(*verdict);
      columns.add(*verdict, json);
      for (const char* key : kColumns) json.erase(key);
      block.push_back(std::move(json));
      if (block.size() == kBlock) end_block();
    }
    data["parts"].push_back(part.size());
    Json lists = columns.part();
    lists["diverging"] = entries_of(part, diverging);
    if (parts == 0)
      data.update(lists);
    else
      elements.add(fmt::format("part-{}", parts), std::move(lists));
    ++parts;
  }
  if (!block.empty()) end_block();
  elements.add("data", std::move(data));
  return elements.text();
}

}  // namespace lockstep
