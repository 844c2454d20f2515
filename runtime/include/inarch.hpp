// libinarch for C++17: the same with owners, typed memory, and exceptions that carry the message of C.
//
//   inarch::Module module("model.inarch");
//   inarch::Instance main(module);
//   std::vector<float> x(784), y(10);
//   main.input("x", x).output("y", y).run();
//
// Everything that fails throws `inarch::Error`. A module may go before its instances.
#ifndef INARCH_HPP
#define INARCH_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "inarch_runtime.h"

namespace inarch {

class Error : public std::runtime_error {
 public:
  Error(std::int32_t code, const char *message) : std::runtime_error(message), code_(code) {}
  // One of the INARCH_ codes.
  std::int32_t code() const noexcept { return code_; }

 private:
  std::int32_t code_;
};

namespace detail {

inline void check(std::int32_t status) {
  if (status != INARCH_OK) {
    throw Error(status, inarch_last_error());
  }
}

// INARCH_F32 of float, ...: DLPack's code * 256 + bits.
template <class T> constexpr std::int32_t dtype_of() {
  using Value = std::remove_cv_t<T>;
  static_assert(std::is_arithmetic_v<Value> && sizeof(Value) <= 8, "no element type of Inarch");
  constexpr std::int32_t code = std::is_same_v<Value, bool>       ? 6
                                : std::is_floating_point_v<Value> ? 2
                                : std::is_unsigned_v<Value>       ? 1
                                                                  : 0;
  return code * 256 + static_cast<std::int32_t>(sizeof(Value)) * 8;
}

struct CloseModule {
  void operator()(inarch_module *module) const noexcept { inarch_close(module); }
};

struct FreeInstance {
  void operator()(inarch_instance *instance) const noexcept { inarch_instance_free(instance); }
};

} // namespace detail

// An open artifact.
class Module {
 public:
  explicit Module(const std::string &path, std::int32_t flags = 0) {
    inarch_options options = INARCH_OPTIONS;
    options.flags = flags;
    open(path, options);
  }

  Module(const std::string &path, const inarch_options &options) { open(path, options); }

  std::string name() const {
    const char *found = inarch_module_name(handle_.get());
    detail::check(found == nullptr ? INARCH_ARGUMENT : INARCH_OK);
    return found;
  }

  std::int32_t function_count() const { return inarch_function_count(handle_.get()); }

  const inarch_function &function(std::int32_t index) const {
    return checked(inarch_function_at(handle_.get(), index));
  }

  const inarch_function &function(const std::string &name = "main") const {
    return checked(inarch_function_named(handle_.get(), name.c_str()));
  }

  // Of a private module (INARCH_PRIVATE), at any time: later runs use them.
  void weights(const inarch_weights &weights) const {
    detail::check(inarch_set_weights(handle_.get(), &weights));
  }

  const inarch_library &library() const noexcept { return *inarch_module_library(handle_.get()); }

  inarch_module *get() const noexcept { return handle_.get(); }

 private:
  static const inarch_function &checked(const inarch_function *found) {
    detail::check(found == nullptr ? INARCH_NAME : INARCH_OK);
    return *found;
  }

  void open(const std::string &path, const inarch_options &options) {
    inarch_module *module = nullptr;
    detail::check(inarch_open(path.c_str(), &options, &module));
    handle_.reset(module);
  }

  std::unique_ptr<inarch_module, detail::CloseModule> handle_;
};

// One caller's use of a function: one thread at a time.
class Instance {
 public:
  explicit Instance(const Module &module, const std::string &function = "main", void *workspace = nullptr,
                    std::size_t workspace_bytes = 0)
      : function_(&module.function(function)) {
    inarch_instance *instance = nullptr;
    detail::check(inarch_instance_new(module.get(), function.c_str(), workspace, workspace_bytes, &instance));
    handle_.reset(instance);
  }

  // `count` elements, which later runs read. Throws for other elements than the input's, or too few of them.
  template <class T> Instance &input(const std::string &name, const T *data, std::size_t count) {
    check_dtype<T>(name, 0, function_->inputs, "input");
    detail::check(inarch_bind_input(handle_.get(), name.c_str(), data, count * sizeof(T)));
    return *this;
  }

  // `count` elements, which later runs write.
  template <class T> Instance &output(const std::string &name, T *data, std::size_t count) {
    check_dtype<T>(name, function_->inputs, function_->outputs, "output");
    detail::check(inarch_bind_output(handle_.get(), name.c_str(), data, count * sizeof(T)));
    return *this;
  }

  // A vector, an array, a span: whatever has std::data and std::size, and outlives the runs.
  template <class Container> Instance &input(const std::string &name, const Container &values) {
    return input(name, std::data(values), std::size(values));
  }

  template <class Container> Instance &output(const std::string &name, Container &values) {
    return output(name, std::data(values), std::size(values));
  }

  // What is about to go cannot be bound.
  template <class Container> Instance &input(const std::string &name, const Container &&values) = delete;

  Instance &threads(std::int32_t most) {
    detail::check(inarch_set_threads(handle_.get(), most));
    return *this;
  }

  // Later runs of this instance use them; they outlive it.
  Instance &weights(const inarch_weights &weights) {
    detail::check(inarch_instance_set_weights(handle_.get(), &weights));
    return *this;
  }

  void run() const { detail::check(inarch_run(handle_.get())); }

  const inarch_function &function() const noexcept { return *function_; }

 private:
  template <class T>
  void check_dtype(const std::string &name, std::int32_t first, std::int32_t count, const char *kind) const {
    for (std::int32_t i = first; i < first + count; i++) {
      const inarch_port &port = function_->ports[i];
      if (port.name == name && port.dtype != detail::dtype_of<T>()) {
        const char *found = inarch_dtype_name(detail::dtype_of<T>());
        const std::string message = std::string("error: ") + function_->name + ": " + kind + " '" + name
                                    + "': expected elements of " + inarch_dtype_name(port.dtype) + ", found "
                                    + (found == nullptr ? "others" : found);
        throw Error(INARCH_ARGUMENT, message.c_str());
      }
    }
  }

  const inarch_function *function_;
  std::unique_ptr<inarch_instance, detail::FreeInstance> handle_;
};

} // namespace inarch

#endif // INARCH_HPP
