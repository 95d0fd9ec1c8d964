// Places in a kernel's code: taken cheaply while it runs, and turned into lines of the user's source when a report is
// written.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mtsim::check {

// A chain of calls, by number; 0 is unknown. The same chain always has the same number.
using Site = std::uint32_t;

// The chain that ends at `pc`, whose function was called through the frames from `frame` on (NULL: they are unknown).
// It is followed as far as it stays in the library of `pc`, which must have been compiled with frame pointers.
Site site_of(const void* pc, const void* frame);

struct Line {
    std::string file;
    unsigned number = 0;

    bool operator==(const Line& other) const { return file == other.file && number == other.number; }
    bool operator<(const Line& other) const {
        return file != other.file ? file < other.file : number < other.number;
    }
};

// Where each site is: the lines of its calls, innermost first, without those in files below one of the `hidden`
// folders or the compiler's own. A library without debugging information gives its name and line 0.
std::map<Site, std::vector<Line>> lines_of(const std::set<Site>& sites, const std::set<std::string>& hidden);

}  // namespace mtsim::check
