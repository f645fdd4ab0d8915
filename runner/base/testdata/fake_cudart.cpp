// A stand-in for libcudart.so: FAKE_CUDA says what it is to be: "two" devices, the second without
// memory to be had, "instance" (of a GPU that was partitioned), "none", "old" (the driver),
// "crash", "hang", "broken".

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {
bool is(const char* what) {
  const char* const set = std::getenv("FAKE_CUDA");
  return set != nullptr && std::strcmp(set, what) == 0;
}
}  // namespace

extern "C" {
int cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cudaDriverGetVersion(int* version) {
  *version = is("old") ? 12040 : 13010;
  return 0;
}
int cudaGetDeviceCount(int* count) {
  if (is("crash")) std::abort();
  if (is("hang")) ::sleep(100);
  if (is("old")) return 35;
  if (is("none")) return 100;
  if (is("broken")) return 999;
  *count = is("two") ? 2 : 1;
  return 0;
}
int cudaSetDevice(int) { return 0; }
int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  static int calls = 0;
  if (++calls == 2) return 2;
  *free = std::size_t{60} << 30;
  *total = std::size_t{80} << 30;
  return 0;
}
int cudaDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : -1;
  return 0;
}
int cudaGetDeviceProperties(void* properties, int index) {
  auto* const bytes = static_cast<char*>(properties);
  std::strcpy(bytes, is("instance") ? "NVIDIA A100 MIG 1g.5gb" : "NVIDIA H100");
  std::memset(bytes + 256, 0xa0 + index, 16);
  return 0;
}
const char* cudaGetErrorString(int error) { return error == 2 ? "out of memory" : "unknown error"; }

// And for libnvidia-ml.so.
int nvmlInit_v2() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned) {
  std::strcpy(text, "580.65.06");
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = const_cast<char*>(uuid);
  return std::strlen(uuid) == 40 ? 0 : 1;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = std::strncmp(static_cast<char*>(device), "GPU-a1", 6) == 0 ? 1 : 0;
  return 0;
}
}
