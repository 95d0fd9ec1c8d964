// sim_tests GROUP runs the tests of GROUP.cpp; sim_tests --scenario NAME is one end of a test of whole processes.
#include <cstring>

#include "check.hpp"

static int run_scenario_here(const char* name) {
    for (const Scenario& scenario : scenarios()) {
        if (std::strcmp(scenario.name, name) == 0) {
            return scenario.body();
        }
    }
    return 2;
}

static std::string group_of(const Test& test) {
    const std::string path = test.file;
    const std::size_t start = path.rfind('/') + 1;
    return path.substr(start, path.rfind('.') - start);
}

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], "--scenario") == 0) {
        return run_scenario_here(argv[2]);
    }
    int run = 0;
    for (const Test& test : tests()) {
        if (argc == 2 && group_of(test) == argv[1]) {
            std::cout << test.name << std::endl;
            CHECK_OK(aclInit(nullptr));
            CHECK_OK(aclrtSetDevice(0));
            test.body();
            CHECK_OK(aclFinalize());
            ++run;
        }
    }
    return run > 0 ? 0 : 2;  // a group without tests is a mistake of the caller
}
