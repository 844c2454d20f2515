// The same as run_model.c in C++17, for an input and an output of float: run_model MODEL INPUT OUTPUT
#include <fstream>
#include <inarch.hpp>
#include <iostream>
#include <vector>

int main(int count, char **arguments) {
  if (count != 4) {
    std::cerr << "usage: " << arguments[0] << " MODEL INPUT OUTPUT\n";
    return 2;
  }
  try {
    const inarch::Module module(arguments[1]);
    inarch::Instance main(module);
    const inarch_port &input = main.function().ports[0], &output = main.function().ports[1];
    std::vector<float> x(static_cast<std::size_t>(input.bytes) / sizeof(float));
    std::vector<float> y(static_cast<std::size_t>(output.bytes) / sizeof(float));
    std::ifstream from(arguments[2], std::ios::binary);
    from.read(reinterpret_cast<char *>(x.data()), input.bytes);
    main.input(input.name, x).output(output.name, y).run();
    std::ofstream to(arguments[3], std::ios::binary);
    to.write(reinterpret_cast<const char *>(y.data()), output.bytes);
    return from && to.flush() ? 0 : 1;
  } catch (const inarch::Error &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
