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
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/bounded_json.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "record/explanation.h"
#include "verdict/contradiction.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Of one record: far more than a verdict with all that a worker may say of itself.
constexpr JsonBounds kRecordBounds = {.bytes = 64 << 20, .depth = 64, .values = 1 << 22};

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

Json typed(std::string_view type, const Json& rest) {
  Json record = {{"type", type}};
  record.update(rest);
  return record;
}

/// Shows the records of a run that is known as a whole in the order in which a log has them.
void each_record(const RunRecord& record, const std::function<void(const Json&)>& show) {
  show(to_json(record.info));
  std::map<std::string, const Json*> environments;
  for (const auto& [name, values] : record.environment.items()) environments[name] = &values;
  for (const auto& [name, values] : environments)
    show({{"type", "environment"}, {"name", name}, {"values", *values}});
  for (const Verdict& verdict : record.verdicts) show(typed("verdict", to_json(verdict)));
  if (record.end) show(to_json(*record.end));
  for (const Verdict& verdict : record.verdicts) {
    if (!verdict.account.explained.is_null()) show(typed("explanation", verdict.account.explained));
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
  Result<void> done = log->append(to_json(info));
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
  Result<std::string> text = read_file(log->path_);
  if (!text) return tl::unexpected(text.error());
  // The caller has read the log already. This looks again, because appending to another file would
  // spoil it.
  if (Result<RunRecord> record = parse_log(*text, log->path_.string()); !record) {
    return tl::unexpected(record.error());
  }
  log->size_ = text->rfind('\n') + 1;
  log->torn_ = log->size_ != text->size();
  if (Result<void> done = log->cut(); !done) return tl::unexpected(done.error());
  return log;
}

Result<RunLog> RunLog::append_to(const fs::path& directory, const RunInfo& now) {
  Result<RunLog> log = reopen(directory);
  if (!log) return log;
  const Json resumed = {{"type", "resumed"}, {"version", now.version}, {"started", now.started}};
  if (Result<void> done = log->append(resumed); !done) return tl::unexpected(done.error());
  return log;
}

Result<RunLog> RunLog::to(int fd, const RunInfo& info) {
  Result<RunLog> log = RunLog(fd, "the output", 0);
  if (Result<void> done = log->append(to_json(info)); !done) return tl::unexpected(done.error());
  return log;
}

Result<void> RunLog::write(const fs::path& directory, const RunRecord& record) {
  Result<RunLog> log = create(directory, record.info);
  if (!log) return tl::unexpected(log.error());
  Result<void> done;
  each_record(record, [&](const Json& each) {
    if (done && each["type"] != "run") done = log->append(each);
  });
  return done ? log->sync() : done;
}

Result<void> RunLog::environment(std::string_view name, const Json& values) {
  return append({{"type", "environment"}, {"name", name}, {"values", values}});
}

Result<void> RunLog::verdict(const Verdict& verdict) {
  return append(typed("verdict", to_json(verdict)));
}

Result<void> RunLog::end(const RunEnd& end) {
  if (Result<void> written = append(to_json(end)); !written) return written;
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
  return append(typed("explanation", explanation));
}

Result<void> RunLog::append(const Json& record) {
  if (torn_) {
    if (Result<void> done = cut(); !done) return done;
  }
  const std::string line = line_of(record);
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
  each_record(record, [&](const Json& each) { text += line_of(each); });
  return text;
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
    return {};
  }

  Result<void> take_environment(const Json& json) {
    if (!json.contains("name") || !json["name"].is_string() || !json.contains("values"))
      return fail("an environment record needs a name and values");
    record_.environment[json["name"].get<std::string>()] = json["values"];
    return {};
  }

  Result<void> take_verdict(const Json& json, std::size_t number) {
    Result<Verdict> verdict = verdict_from_json(json);
    if (!verdict) return tl::unexpected(verdict.error());
    const std::string& id = verdict->facts.id;
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
  std::size_t resumptions_ = 0, end_line_ = 0;
};

}  // namespace

Result<RunRecord> parse_log(std::string_view text, std::string_view where) {
  LogParser parser;
  std::size_t number = 0;
  for (std::size_t begin = 0, newline; (newline = text.find('\n', begin)) != std::string_view::npos;
       begin = newline + 1) {
    ++number;
    const auto at = [&](const std::string& what) {
      return fail(fmt::format("{}:{}: {}", where, number, what));
    };
    const Result<Json> json = record_of(text.substr(begin, newline - begin));
    if (!json) {
      if (number == 1)
        return at("this is no run log: a run log begins with a record of type \"run\"");
      return at(
          fmt::format("this line is no record; the log was damaged: {}", json.error().message));
    }
    if (const Result<void> taken = parser.take(*json, number); !taken)
      return at(taken.error().message);
  }
  if (number == 0) {
    return fail(fmt::format("{}: there is no whole record in this run log", where),
                "the run was ended before it wrote its first line; start it anew");
  }
  return parser.end();
}

Result<RunRecord> read_log(const fs::path& path) {
  std::error_code error;
  const fs::path file = fs::is_directory(path, error) ? path / RunLog::kFileName : path;
  const Result<std::string> text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  auto record = parse_log(*text, file.string());
  if (record) record->directory = file.parent_path();
  return record;
}

}  // namespace lockstep
