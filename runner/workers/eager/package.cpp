#include "workers/eager/package.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <link.h>
#include <sys/stat.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

using nlohmann::ordered_json;

ordered_json read_description(const std::filesystem::path& file) {
  std::ifstream text(file);
  ordered_json description = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!description.is_object() || description.value("format", 0) != 1)
    throw Malformed(file.string() + " does not describe a package of format 1");
  return description;
}

/// A value of this form: "tensor", null, or a list of forms, from the tensors that come `next`.
c10::IValue build(const ordered_json& form, const std::vector<at::Tensor>& tensors,
                  std::size_t& next) {
  if (form.is_null()) return {};
  if (form.is_array()) {
    c10::impl::GenericList list(c10::AnyType::get());
    for (const ordered_json& each : form) list.push_back(build(each, tensors, next));
    return list;
  }
  if (form != "tensor") throw Malformed("a package that returns " + form.dump());
  TORCH_CHECK(next < tensors.size(), "the package returned only ", tensors.size(), " tensors");
  return tensors[next++];
}

/// Removes the folder into which torch unpacked what is loaded: a child that crashes would leave it
/// behind.  The library stays mapped.
void remove_unpacked() {
  std::set<std::string> folders;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* found) {
        const std::string name = library->dlpi_name;
        const std::size_t at = name.find("/data/aotinductor/");
        if (at != std::string::npos)
          static_cast<std::set<std::string>*>(found)->insert(name.substr(0, at));
        return 0;
      },
      &folders);
  std::error_code error;
  for (const std::string& name : folders) {
    const std::filesystem::path folder = name;
    std::filesystem::remove_all(folder, error);
    // The archive's own folder lies in one that torch made.
    const std::filesystem::path made = folder.parent_path();
    if (made.filename().string().starts_with("aotinductor_")) std::filesystem::remove(made, error);
  }
}

using Loader = torch::inductor::AOTIModelPackageLoader;

/// What a file has, loaded; of a file that this process has loaded, under this or another name, the
/// same: as the calls of one instance share it, so do the instances of a batch.
std::shared_ptr<Loader> load(const std::filesystem::path& file, c10::Device device) {
  static std::map<std::tuple<dev_t, ino_t, std::string>, std::shared_ptr<Loader>> loaded;
  struct stat seen = {};
  if (stat(file.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode))
    throw Malformed("there is no " + file.string());
  std::shared_ptr<Loader>& loader = loaded[{seen.st_dev, seen.st_ino, device.str()}];
  if (loader != nullptr) return loader;
  try {
    // One runner, and none of the locks that several threads would need.
    loader = std::make_shared<Loader>(
        file.string(), "model", /*run_single_threaded=*/true, /*num_runners=*/1,
        device.has_index() ? device.index() : static_cast<c10::DeviceIndex>(-1));
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const std::exception& error) {
    throw Unloadable(message_of(error));
  }
  // Kernels of an accelerator are read from there when they are first needed.
  if (device == c10::kCPU) remove_unpacked();
  return loader;
}

}  // namespace

Package::Package(const std::filesystem::path& folder, const Program& program, c10::Device device) {
  if (folder.empty()) throw Malformed("there is no `before` with a package");
  const ordered_json description = read_description(folder / "package.json");
  inputs_ = description.at("inputs").get<std::vector<std::string>>();
  outputs_ = description.at("outputs");
  proof_ = description.at("proof");
  for (const std::string& name : inputs_) {
    if (std::find(program.inputs.begin(), program.inputs.end(), name) == program.inputs.end())
      throw Malformed("the package takes `" + name + "`, which is no input of the program");
  }
  const std::vector<std::string> names = output_names(program);
  bool alike = outputs_.is_array() && outputs_.size() == names.size();
  for (std::size_t i = 0; alike && i < names.size(); ++i)
    alike = outputs_[i].at("name") == names[i];
  if (!alike) throw Malformed("the package returns other values than the program");
  loader_ = load(folder / "package.pt2", device);
}

Package::~Package() = default;

NamedValues Package::run(const Scope& scope) {
  std::vector<at::Tensor> given;
  for (const std::string& name : inputs_) given.push_back(lookup(scope, name).toTensor());
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> returned = loader_->run(given);
  NamedValues results;
  std::size_t next = 0;
  for (const ordered_json& output : outputs_)
    results.emplace_back(output.at("name").get<std::string>(),
                         build(output.at("form"), returned, next));
  TORCH_CHECK(next == returned.size(), "the package returned ", returned.size(),
              " tensors instead of ", next);
  return results;
}

}  // namespace lockstep::eager
