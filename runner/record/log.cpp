#include "record/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/bounded_json.h"
#include "base/files.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/text.h"
#include "paths/path.h"
#include "record/explanation.h"
#include "verdict/contradiction.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr JsonBounds kRecordBounds = {
    .bytes = kLogLimits.line, .depth = 64, .values = kLogLimits.values};
constexpr const char* kNotOurs =
    "no run of Lockstep writes that much: ask where the log comes from";

/// How to mend what the system refused.
std::string hint_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "make room there, or give another place; what was written before stays readable";
    case EROFS:
    case EACCES:
    case EPERM:
      return "give a place that this user can write to";
    case ENOTDIR:
      return "part of this path is a file, not a directory";
    case EIO:
      return "the disk or its connection failed; what was written before stays readable";
    default:
      return {};
  }
}

tl::unexpected<Error> refuse(std::string_view what, const fs::path& path, int error) {
  return fail(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)),
              hint_for(error));
}

/// One record as a line.  Bytes that are no UTF-8 (a message of a compiler may hold anything)
/// become U+FFFD: a log that a JSON parser refuses would be worth nothing.
std::string line_of(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// The line of a record that says what it is before the rest, which is not empty.
std::string line_of(std::string_view type, const Json& rest) {
  return fmt::format("{{\"type\":\"{}\",{}", type, line_of(rest).substr(1));
}

std::string line_of(const Verdict& verdict) { return line_of("verdict", to_json(verdict)); }

/// Of a log that is packed: bytes, and how many of them for each that is there.
constexpr Unpacked kUnpacked = {kLogLimits.bytes, 200};

/// The lines of the log in a file, which may be packed.
Result<LineReader> lines_of(const fs::path& file) {
  if (file.extension() == ".gz") {
    auto bytes = read_file(file);
    if (!bytes) return tl::unexpected(bytes.error());
    const auto packed = std::make_shared<std::string>(std::move(*bytes));
    return LineReader([packed, next = gunzip_pieces(*packed, kUnpacked)] { return next(); },
                      kLogLimits.line);
  }
  auto pieces = FilePieces::open(file, kLogLimits.bytes);
  if (!pieces) return tl::unexpected(pieces.error());
  const auto shared = std::make_shared<FilePieces>(std::move(*pieces));
  return LineReader([shared] { return shared->next(); }, kLogLimits.line);
}

/// What is wrong with the id of a verdict, which is a way below a suite, and names files of it;
/// empty: nothing.
std::string fault_of_id(const std::string& id) {
  constexpr std::size_t kLongest = 4096;
  if (id.size() > kLongest) return fmt::format("more than {} bytes", kLongest);
  if (std::any_of(id.begin(), id.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "control characters";
  const std::size_t of_case = std::min(id.find_first_of("[@"), id.size());
  for (std::size_t begin = 0; begin <= id.size();) {
    const std::size_t end = std::min(id.find('/', begin), id.size());
    const std::string_view part = std::string_view(id).substr(begin, end - begin);
    if (part == ".." || (begin <= of_case && (part.empty() || part == ".")))
      return fmt::format("the part `{}` of a way", part);
    begin = end + 1;
  }
  return {};
}

/// Whether a file that a verdict names is below the run's own folder for them.
bool is_saved_tensor(const std::string& name) {
  return name.starts_with("tensors/") && fault_of_id(name).empty();
}

/// What is wrong with the names in a verdict; empty: nothing.
std::string fault_of_names(const Verdict& verdict) {
  for (const std::string* id : {&verdict.facts.id, &verdict.facts.instance, &verdict.facts.path}) {
    if (const std::string fault = fault_of_id(*id); !fault.empty())
      return fmt::format("found {} in the id `{}`", fault, one_line(*id, 120));
  }
  for (const OutputComparison& output : verdict.found.outputs) {
    for (const std::string& name : output.tensors) {
      if (!is_saved_tensor(name))
        return fmt::format("found the file `{}`, expected one below tensors/", one_line(name, 120));
    }
  }
  return {};
}

/// Shows the lines of a run that is known as a whole in the order in which a log has them, as long
/// as `take` wants more.
void each_whole_line(const RunRecord& record, const std::function<bool(const std::string&)>& take) {
  if (!take(line_of(to_json(record.info)))) return;
  std::map<std::string, const Json*> environments;
  for (const auto& [name, values] : record.environment.items()) environments[name] = &values;
  for (const auto& [name, values] : environments) {
    if (!take(line_of(Json{{"type", "environment"}, {"name", name}, {"values", *values}}))) return;
  }
  for (const Verdict& verdict : record.verdicts) {
    if (!take(line_of(verdict))) return;
  }
  if (record.end && !take(line_of(to_json(*record.end)))) return;
  for (const Verdict& verdict : record.verdicts) {
    const Json& explained = verdict.account.explained;
    if (!explained.is_null() && !take(line_of("explanation", explained))) return;
  }
}

}  // namespace

RunLog::RunLog(RunLog&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_),
      torn_(other.torn_) {}

RunLog::~RunLog() {
  if (fd_ >= 0) ::close(fd_);
}

Result<RunLog> RunLog::open(fs::path path, int flags) {
  const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | flags, 0644);
  if (fd < 0) return refuse("open", path, errno);
  RunLog log(fd, std::move(path), 0);
  // Two writers would interleave two runs.  A file system without locks is no reason to refuse.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(fmt::format("another process is writing {}", log.path_.string()),
                "wait until it is done, or give another place");
  }
  return log;
}

Result<RunLog> RunLog::create(const fs::path& directory, const RunInfo& info) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return refuse("make", directory, error.value());
  // It gets its name with its first record: without that, nobody could resume it.
  const fs::path unnamed = directory / fmt::format(".{}-{}", kFileName, ::getpid());
  Result<RunLog> log = open(unnamed, O_CREAT | O_TRUNC);
  if (!log) return log;
  Result<void> done = log->append(line_of(to_json(info)));
  log->path_ = directory / kFileName;
  if (done && ::link(unnamed.c_str(), log->path_.c_str()) != 0) {
    const int why = errno;
    if (why == EEXIST || fs::exists(log->path_, error)) {
      done = fail(fmt::format("{} exists already", log->path_.string()),
                  "resume that run, or give another place");
    } else if (::rename(unnamed.c_str(), log->path_.c_str()) != 0) {  // no hard links here
      done = refuse("open", log->path_, errno);
    }
  }
  ::unlink(unnamed.c_str());
  if (!done) return tl::unexpected(done.error());
  return log;
}

Result<RunLog> RunLog::reopen(const fs::path& directory) {
  Result<RunLog> log = open(directory / kFileName, 0);
  if (!log) return log;
  auto lines = lines_of(log->path_);
  if (!lines) return tl::unexpected(lines.error());
  // Whoever resumes has read the log; this looks again because appending to something else would
  // spoil it.
  if (Result<RunRecord> record = parse_log(*lines, log->path_.string()); !record) {
    return tl::unexpected(record.error());
  }
  log->size_ = lines->bytes();
  log->torn_ = lines->torn() > 0;
  if (Result<void> done = log->cut(); !done) return tl::unexpected(done.error());
  return log;
}

Result<RunLog> RunLog::append_to(const fs::path& directory, const RunInfo& now) {
  Result<RunLog> log = reopen(directory);
  if (!log) return log;
  const Json resumed = {{"type", "resumed"}, {"version", now.version}, {"started", now.started}};
  if (Result<void> done = log->append(line_of(resumed)); !done) return tl::unexpected(done.error());
  return log;
}

Result<RunLog> RunLog::to(int fd, const RunInfo& info) {
  Result<RunLog> log = RunLog(fd, "the output", 0);
  if (Result<void> done = log->append(line_of(to_json(info))); !done)
    return tl::unexpected(done.error());
  return log;
}

Result<void> RunLog::write(const fs::path& directory, const RunRecord& record) {
  Result<RunLog> log = create(directory, record.info);
  if (!log) return tl::unexpected(log.error());
  Result<void> done;
  bool begun = false;  // with the first line, which the log has
  each_whole_line(record, [&](const std::string& line) {
    if (std::exchange(begun, true)) done = log->append(line);
    return done.has_value();
  });
  return done ? log->sync() : done;
}

Result<void> RunLog::environment(std::string_view name, const Json& values) {
  return append(line_of(Json{{"type", "environment"}, {"name", name}, {"values", values}}));
}

Result<void> RunLog::verdicts(std::span<const Verdict> verdicts) {
  constexpr std::size_t kAtOnce = 512;  // lines that are held
  std::vector<std::string> lines(std::min(kAtOnce, verdicts.size()));
  for (; !verdicts.empty(); verdicts = verdicts.subspan(lines.size())) {
    lines.resize(std::min(lines.size(), verdicts.size()));
    in_parallel(lines.size(), 16, [&](std::size_t i) { lines[i] = line_of(verdicts[i]); });
    for (const std::string& line : lines) {
      if (Result<void> written = append(line); !written) return written;
    }
  }
  return {};
}

Result<void> RunLog::end(const RunEnd& end) {
  if (Result<void> written = append(line_of(to_json(end))); !written) return written;
  return sync();
}

Result<void> RunLog::sync() {
  // Network file systems report a full disk only here.
  if (::fdatasync(fd_) != 0 && errno != EINVAL && errno != EROFS) {
    return refuse("write", path_, errno);
  }
  return {};
}

Result<void> RunLog::explanation(const Json& explanation) {
  return append(line_of("explanation", explanation));
}

Result<void> RunLog::append(const std::string& line) {
  if (torn_) {
    if (Result<void> done = cut(); !done) return done;
  }
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = ::write(fd_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      const int error = errno;
      torn_ = rest.size() != line.size();
      if (torn_) static_cast<void>(cut());  // else the next append tries again
      return refuse("write", path_, error);
    }
  }
  size_ += line.size();
  return {};
}

Result<void> RunLog::cut() {
  if (!torn_) return {};
  if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0)
    return refuse("mend the end of", path_, errno);
  torn_ = false;
  return {};
}

std::string log_text(const RunRecord& record) {
  std::string text;
  each_whole_line(record, [&](const std::string& line) {
    text += line;
    return true;
  });
  return text;
}

void each_line(const RunRecord& record, const std::function<bool(std::string_view)>& take) {
  each_whole_line(record, [&](const std::string& line) {
    return take(std::string_view(line).substr(0, line.size() - 1));
  });
}

Result<Json> record_of(std::string_view line) {
  Result<Json> json = parse_bounded_json(line, kRecordBounds);
  if (json && (!json->is_object() || !json->contains("type") || !(*json)["type"].is_string()))
    return fail("it has no `type`");
  return json;
}

namespace {

/// Takes the records of a log in their order.  What is wrong with one is an error that says what.
class LogParser {
 public:
  /// The record in line `number`, the first of which is 1.
  Result<void> take(const Json& json, std::size_t number) {
    const std::string type = json["type"];
    if ((type == "run") != (number == 1)) {
      return fail(number == 1 ? "a run log begins with a record of type \"run\""
                              : "a second run begins here; one log holds one run");
    }
    const bool says_more = type == "environment" || type == "verdict" || type == "end";
    if (says_more && end_line_ > 0) {
      return fail(
          fmt::format("found a record of type \"{}\" after the end in line {}, expected "
                      "one of type \"resumed\" between them",
                      type, end_line_));
    }
    if (type == "run") return take_run(json);
    if (type == "environment") return take_environment(json);
    if (type == "verdict") return take_verdict(json, number);
    if (type == "end") return take_end(json, number);
    if (type == "explanation") return take_explanation(json);
    if (type == "resumed") take_resumed();
    return {};  // Other types are for newer readers: a format may gain some.
  }

  RunRecord end() {
    Json::object_t& environment = *record_.environment.get_ptr<Json::object_t*>();
    for (auto& [name, values] : environment_) environment.emplace_back(name, std::move(values));
    sort_by_place(record_.verdicts);
    return std::move(record_);
  }

 private:
  /// Where an id was seen last.
  struct Seen {
    std::size_t place = 0, line = 0, resumptions = 0;
  };

  Result<void> take_run(const Json& json) {
    Result<RunInfo> info = run_info_from_json(json);
    if (!info) return tl::unexpected(info.error());
    record_.info = std::move(*info);
    for (const PathInfo& path : record_.info.paths) paths_.insert(path.name);
    if (record_.info.paths.size() > kLogLimits.paths) return too_many("paths", kLogLimits.paths);
    std::map<std::string, std::string> above;
    for (const PathInfo& path : record_.info.paths) {
      if (path.declared.is_object() && path.declared.value("above", Json()).is_string())
        above[path.name] = path.declared["above"].get<std::string>();
    }
    for (const auto& [name, below] : above) {
      if (down_from(name, above).size() > kLogLimits.layers)
        return too_many("layers", kLogLimits.layers);
    }
    return {};
  }

  static tl::unexpected<Error> too_many(std::string_view what, std::size_t most) {
    return fail(
        fmt::format("found more than {} {}, the most that a log may have", grouped(most), what),
        kNotOurs);
  }

  Result<void> take_environment(const Json& json) {
    if (!json.contains("name") || !json["name"].is_string() || !json.contains("values"))
      return fail("an environment record needs a name and values");
    const Json& values = json["values"];
    facts_ += values.size();
    if (facts_ > kLogLimits.facts) return too_many("facts of environments", kLogLimits.facts);
    const auto [place, is_new] =
        places_.try_emplace(json["name"].get<std::string>(), environment_.size());
    if (is_new) environment_.emplace_back(place->first, Json());
    environment_[place->second].second = values;
    if (environment_.size() > kLogLimits.environments)
      return too_many("names of environments", kLogLimits.environments);
    return {};
  }

  Result<void> take_verdict(const Json& json, std::size_t number) {
    Result<Verdict> verdict = verdict_from_json(json);
    if (!verdict) return tl::unexpected(verdict.error());
    const std::string& id = verdict->facts.id;
    if (std::string wrong = fault_of_names(*verdict); !wrong.empty()) return fail(std::move(wrong));
    if (paths_.insert(verdict->facts.path).second && paths_.size() > kLogLimits.paths)
      return too_many("paths", kLogLimits.paths);
    if (const std::string wrong = contradiction(*verdict); !wrong.empty()) {
      return fail(fmt::format("the verdict {} contradicts itself: {}", one_line(id, 200),
                              one_line(wrong, 500)));
    }
    const auto [found, fresh] = seen_.try_emplace(id, Seen{record_.verdicts.size()});
    Seen& last = found->second;
    if (fresh) {
      record_.verdicts.emplace_back();
    } else if (last.resumptions == resumptions_) {
      return fail(
          fmt::format("found a second verdict of {}, whose first is in line {}, without a record "
                      "of type \"resumed\" between them",
                      id, last.line));
    }
    last.line = number;
    last.resumptions = resumptions_;
    record_.verdicts[last.place] = std::move(*verdict);
    record_.end.reset();  // in format 1 nothing else tells that the run was resumed
    return {};
  }

  Result<void> take_end(const Json& json, std::size_t number) {
    Result<RunEnd> end = run_end_from_json(json);
    if (!end) return tl::unexpected(end.error());
    record_.end = std::move(*end);
    end_line_ = number;
    return {};
  }

  Result<void> take_explanation(const Json& json) {
    Json explained = json;
    explained.erase("type");
    if (Result<void> checked = check_explanation(explained); !checked) return checked;
    const std::string id = explained["id"];
    const auto found = seen_.find(id);
    if (found == seen_.end()) {
      return fail(fmt::format("found an explanation of {}, of which there is no verdict before",
                              one_line(id, 200)));
    }
    record_.verdicts[found->second.place].account.explained = std::move(explained);
    return {};
  }

  void take_resumed() {
    ++resumptions_;
    record_.end.reset();
    end_line_ = 0;
  }

  RunRecord record_;
  std::unordered_map<std::string, Seen> seen_;
  /// An object that keeps the order of its keys looks for one among all of them.
  std::vector<std::pair<std::string, Json>> environment_;
  std::unordered_map<std::string, std::size_t> places_;  ///< in `environment_`
  std::size_t facts_ = 0;                                ///< in `environment_`, and before
  std::set<std::string> paths_;
  std::size_t resumptions_ = 0, end_line_ = 0;
};

}  // namespace

Result<RunRecord> parse_log(LineReader& lines, std::string_view where) {
  LogParser parser;
  const auto at = [&](const Error& what) {
    return fail(fmt::format("{}:{}: {}", where, lines.count(), what.message), what.hint);
  };
  while (true) {
    const std::size_t before = lines.count();
    const auto line = lines.next();
    if (!line && lines.count() == before) return tl::unexpected(line.error());  // of its pieces
    if (!line) return at({line.error().message, kNotOurs});
    if (!*line) break;
    if (lines.count() > kLogLimits.records)
      return at({fmt::format("found more than {} records, the most that a log may have",
                             grouped(kLogLimits.records)),
                 kNotOurs});
    const Result<Json> json = record_of(**line);
    if (!json && lines.count() == 1)
      return at(
          {fmt::format("this is no run log: a run log begins with a record of type \"run\"; {}",
                       json.error().message),
           ""});
    if (!json)
      return at(
          {fmt::format("this line is no record; the log was damaged: {}", json.error().message),
           ""});
    if (const Result<void> taken = parser.take(*json, lines.count()); !taken)
      return at(taken.error());
  }
  if (lines.count() == 0) {
    return fail(fmt::format("{}: there is no whole record in this run log", where),
                "the run was ended before it wrote its first line; start it anew");
  }
  return parser.end();
}

Result<RunRecord> parse_log(std::string_view text, std::string_view where) {
  LineReader lines(pieces_of(text), kLogLimits.line);
  return parse_log(lines, where);
}

Result<RunRecord> read_log(const fs::path& path) {
  std::error_code error;
  const fs::path file = fs::is_directory(path, error) ? path / RunLog::kFileName : path;
  auto lines = lines_of(file);
  if (!lines) return tl::unexpected(lines.error());
  auto record = parse_log(*lines, file.string());
  if (record) record->directory = file.parent_path();
  return record;
}

}  // namespace lockstep
