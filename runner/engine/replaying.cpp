#include "engine/replaying.h"

#include "engine/saved.h"

namespace lockstep {
namespace fs = std::filesystem;

ReplayingEngine::ReplayingEngine(std::unique_ptr<Engine> engine, fs::path saved)
    : engine_(std::move(engine)), saved_(std::move(saved)) {
  engine_->on_hello = [this](const std::string& name, const Json& hello) {
    if (on_hello) on_hello(name, hello);
  };
  engine_->on_note = [this](const std::string& text) {
    if (on_note) on_note(text);
  };
  engine_->on_started = [this] {
    if (on_started) on_started();
  };
}

void ReplayingEngine::answer(Job job, Observation observation) {
  answered_.emplace_back(std::move(job), std::move(observation));
}

void ReplayingEngine::submit(Job job) {
  const std::size_t parts = job.parts.size();
  const fs::path folder = saved_folder(saved_, job.id, parts == 1 ? 0 : parts - 2);
  std::error_code error;
  if (parts > 1) {
    if (!fs::is_directory(folder, error)) {
      Observation lost;
      lost.reason = "nothing was kept of its parts but the last";
      return answer(std::move(job), std::move(lost));
    }
    job.parts.erase(job.parts.begin(), job.parts.end() - 1);
    job.before = folder;
    return engine_->submit(std::move(job));
  }
  if (!fs::is_directory(folder, error)) return engine_->submit(std::move(job));
  auto observation = read_observation(folder);
  if (!observation) {
    Observation lost;
    lost.reason = "what was kept cannot be read: " + observation.error().message;
    return answer(std::move(job), std::move(lost));
  }
  answer(std::move(job), std::move(*observation));
}

void ReplayingEngine::step(double seconds) {
  if (answered_.empty()) return engine_->step(seconds);
  for (auto& [job, observation] : std::exchange(answered_, {})) {
    job.done(std::move(observation), 0);
  }
  engine_->step(0);
}

void ReplayingEngine::abandon() {
  answered_.clear();
  engine_->abandon();
}

}  // namespace lockstep
