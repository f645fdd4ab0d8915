// The device's memory, its one device, its generator, and the hooks by which torch asks for them.
#include <ATen/core/Generator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>

#include <cstring>

namespace {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;

/// `hostdev`: the name is registered before anything else here asks torch for a device.
const int named = (c10::register_privateuse1_backend("hostdev"), 0);

/// Host memory under the name of the device.
struct Memory final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    void* const data = bytes > 0 ? c10::alloc_cpu(bytes) : nullptr;
    return {data, data, &c10::free_cpu, {kDevice, 0}};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &c10::free_cpu; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

Memory memory;
REGISTER_ALLOCATOR(kDevice, &memory);

/// There is one device with one stream, on which everything is done at once.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device) const override { return {kDevice, 0}; }
  c10::Device getDevice() const override { return {kDevice, 0}; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() <= 0, "there is no device ", device);
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const override { return stream(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const c10::DeviceIndex) const noexcept override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

 private:
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, {kDevice, 0}); }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

/// A seed and how often it was drawn from. Nothing here draws: what is random, the CPU computes,
/// with its own generator.
struct Generator final : c10::GeneratorImpl {
  Generator() : GeneratorImpl({kDevice, 0}, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}
  void set_current_seed(std::uint64_t seed) override { state_ = {seed, 0}; }
  void set_offset(std::uint64_t offset) override { state_.offset = offset; }
  std::uint64_t get_offset() const override { return state_.offset; }
  std::uint64_t current_seed() const override { return state_.seed; }
  std::uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return state_.seed;
  }
  void set_state(const c10::TensorImpl& from) override {
    TORCH_CHECK(from.numel() == sizeof state_, "a state has ", sizeof state_, " bytes");
    std::memcpy(&state_, from.data(), sizeof state_);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor state = at::empty({sizeof state_}, at::TensorOptions(at::kByte));
    std::memcpy(state.mutable_data_ptr(), &state_, sizeof state_);
    return state.getIntrusivePtr();
  }

 private:
  Generator* clone_impl() const override { return new Generator(*this, state_); }
  struct State {
    std::uint64_t seed = c10::default_rng_seed_val, offset = 0;
  };
  Generator(const Generator&, State state) : Generator() { state_ = state; }
  State state_;
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    TORCH_CHECK(index <= 0, "there is no device ", index);
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    static const at::Generator generator = at::make_generator<Generator>();
    return generator;
  }
  at::Generator getNewGenerator(c10::DeviceIndex = -1) const override {
    return at::make_generator<Generator>();
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    c10::DataPtr larger = memory.allocate(bytes);
    if (const std::size_t kept = std::min(bytes, storage.nbytes()); kept > 0)
      std::memcpy(larger.get(), storage.data(), kept);
    storage.set_data_ptr_noswap(std::move(larger));
    storage.set_nbytes(bytes);
  }
};

const int hooked = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);  // for as long as the process lives
  return 0;
}();

}  // namespace
