// What the checker found in a launch, and the text that tells it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "check_site.hpp"

namespace mtsim::check {

// Which core of a launch; a kernel that declares no task type has cores that execute everything.
struct Where {
    enum Role : std::uint32_t { kAny, kCube, kVector };
    std::uint32_t block = 0;
    Role role = kAny;
    std::uint32_t sub_block = 0;

    std::uint32_t number() const { return block * 3 + (role == kCube ? 0 : 1 + sub_block); }
    bool operator<(const Where& other) const { return number() < other.number(); }
    std::string text(std::uint32_t blocks) const;
};

// A sentence of a finding. "{}" in it stands for the line of `site`.
struct Note {
    std::string text;
    Site site = 0;
};

struct Finding {
    std::string kind;  // "race", "out-of-range", ...
    aclError code = ACL_ERROR_RT_VECTOR_CORE_EXCEPTION;
    std::string headline;
    Site site = 0;
    std::vector<Note> notes;
    std::string help;
    Where where;
    std::uint32_t cores = 1;  // where else the same was found
    bool is_note = false;     // worth telling, and no mistake
};

struct Report {
    aclError code;
    std::string text;
};

// The findings of a launch, of which each line of source has one of a kind: that of the first core.
class Findings {
public:
    explicit Findings(std::set<std::string>* hidden) : hidden_(hidden) {}

    // Takes those of one core.
    void add(std::vector<Finding> findings);
    // The mistakes; notes go to stderr, each once in a process.
    std::optional<Report> report(const char* kernel, std::uint32_t blocks);

private:
    using Unique = std::map<std::tuple<Line, std::string>, std::pair<Finding*, std::set<std::uint32_t>>>;
    Unique unique(const std::map<Site, std::vector<Line>>& lines, bool notes);

    static constexpr std::size_t kMost = 4096;  // kept before lines are known
    std::mutex mutex_;
    std::set<std::string>* const hidden_;
    std::vector<Finding> findings_;
};

}  // namespace mtsim::check
