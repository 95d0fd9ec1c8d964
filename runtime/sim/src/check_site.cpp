#include "check_site.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "error.hpp"

extern char** environ;

namespace mtsim::check {
namespace {

constexpr std::size_t kDepth = 12;

struct Chain {
    std::array<std::uintptr_t, kDepth> calls{};
    std::size_t length = 0;

    void push(std::uintptr_t call) { calls[length++] = call; }
    bool full() const { return length == kDepth; }
    bool operator==(const Chain& other) const { return length == other.length && calls == other.calls; }
};

struct Hash {
    std::size_t operator()(const Chain& chain) const {
        std::uint64_t hash = chain.length;
        for (std::size_t i = 0; i < chain.length; ++i) {
            hash = (hash ^ chain.calls[i]) * 0x9E3779B97F4A7C15u;
            hash ^= hash >> 29;
        }
        return static_cast<std::size_t>(hash);
    }
};

// Chains are few, as they are places in code: they are kept for good.
struct Sites {
    std::mutex mutex;
    std::unordered_map<Chain, Site, Hash> numbers;
    std::vector<Chain> chains{Chain{}};

    static Sites& get() {
        static Sites* const instance = make();  // threads may outlive static destruction
        return *instance;
    }

private:
    // A forked child must not find the mutex held by a thread that it does not have.
    static Sites* make() {
        pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); }, [] { get().mutex.unlock(); });
        return new Sites;
    }
};

struct Range {
    std::uintptr_t low = 0, high = 0;
    bool holds(std::uintptr_t address) const { return address - low < high - low; }
};

Range own_stack() {
    Range range;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void* low = nullptr;
        std::size_t size = 0;
        if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
            range = {reinterpret_cast<std::uintptr_t>(low), reinterpret_cast<std::uintptr_t>(low) + size};
        }
        pthread_attr_destroy(&attributes);
    }
    return range;
}

// The executable segment that `pc` is in.
Range code_around(std::uintptr_t pc) {
    struct Search {
        std::uintptr_t pc;
        Range found;
    } search{pc, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* raw) {
            auto& wanted = *static_cast<Search*>(raw);
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& header = info->dlpi_phdr[i];
                const Range segment{info->dlpi_addr + header.p_vaddr,
                                    info->dlpi_addr + header.p_vaddr + header.p_memsz};
                if (header.p_type == PT_LOAD && segment.holds(wanted.pc)) {
                    wanted.found = segment;
                    return 1;
                }
            }
            return 0;
        },
        &search);
    return search.found;
}

struct Module {
    std::string path;
    std::uintptr_t base = 0;  // what to take off an address
};

Module module_of(std::uintptr_t address) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_fname == nullptr) {
        return {};
    }
    const auto* header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
    const bool fixed = header->e_type == ET_EXEC;
    std::string path = info.dli_fname;
    if (path.find('/') == std::string::npos) {  // the main program, by the name that it was started with
        char target[4096];
        const ssize_t length = readlink("/proc/self/exe", target, sizeof target);
        path.assign(target, length > 0 ? static_cast<std::size_t>(length) : 0);
    }
    return {path, fixed ? 0 : reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
}

// What a program prints, or nothing where it cannot be run.
std::string output_of(const std::vector<std::string>& command) {
    int ends[2];
    if (pipe(ends) != 0) {
        return {};
    }
    std::vector<char*> arguments;
    for (const std::string& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const bool started = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    if (started) {
        waitpid(child, nullptr, 0);
    }
    return text;
}

// "/a/b.cpp:41 (discriminator 2)" -> {"/a/b.cpp", 41}
Line parse_line(const std::string& text) {
    const std::size_t space = text.find(" (discriminator");
    const std::string place = text.substr(0, space);
    const std::size_t colon = place.rfind(':');
    if (colon == std::string::npos || place.compare(0, 2, "??") == 0) {
        return {};
    }
    return {place.substr(0, colon), static_cast<unsigned>(std::strtoul(place.c_str() + colon + 1, nullptr, 10))};
}

// The lines of each address of one library, innermost first.
std::map<std::uintptr_t, std::vector<Line>> look_up(const Module& module, const std::vector<std::uintptr_t>& calls) {
    std::vector<std::string> command{"addr2line", "-a", "-i", "-e", module.path};
    for (const std::uintptr_t call : calls) {
        command.push_back(format("0x%zx", call - 1 - module.base));  // a return address is behind its call
    }
    std::map<std::uintptr_t, std::vector<Line>> lines;
    const std::string text = output_of(command);
    std::size_t index = 0;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        const std::string row = text.substr(start, end - start);
        start = end + 1;
        if (row.compare(0, 2, "0x") == 0) {
            ++index;
        } else if (index > 0 && index <= calls.size()) {
            if (Line line = parse_line(row); line.number != 0) {
                lines[calls[index - 1]].push_back(std::move(line));
            }
        }
    }
    return lines;
}

bool is_hidden(const Line& line, const std::set<std::string>& hidden) {
    const auto below = [&](const std::string& folder) { return line.file.compare(0, folder.size(), folder) == 0; };
    return below("/usr/include/") || below("/usr/lib/") || std::any_of(hidden.begin(), hidden.end(), below);
}

}  // namespace

Site site_of(const void* pc, const void* frame) {
    static thread_local const Range stack = own_stack();
    static thread_local Range code;
    static thread_local std::unordered_map<Chain, Site, Hash> known;
    const auto start = reinterpret_cast<std::uintptr_t>(pc);
    if (!code.holds(start)) {
        code = code_around(start);
    }
    Chain chain;
    chain.push(start);
    auto at = reinterpret_cast<std::uintptr_t>(frame);
    while (!chain.full() && at % sizeof(void*) == 0 && stack.holds(at) && stack.holds(at + 2 * sizeof(void*))) {
        const auto* words = reinterpret_cast<const std::uintptr_t*>(at);  // the caller's frame, the return address
        if (!code.holds(words[1])) {
            break;
        }
        chain.push(words[1]);
        if (words[0] <= at) {
            break;
        }
        at = words[0];
    }
    if (const auto found = known.find(chain); found != known.end()) {
        return found->second;
    }
    Sites& sites = Sites::get();
    const std::lock_guard<std::mutex> lock(sites.mutex);
    const auto [entry, added] = sites.numbers.emplace(chain, static_cast<Site>(sites.chains.size()));
    if (added) {
        sites.chains.push_back(chain);
    }
    known.emplace(chain, entry->second);
    return entry->second;
}

std::map<Site, std::vector<Line>> lines_of(const std::set<Site>& sites, const std::set<std::string>& hidden) {
    std::map<Site, Chain> chains;
    {
        Sites& all = Sites::get();
        const std::lock_guard<std::mutex> lock(all.mutex);
        for (const Site site : sites) {
            chains.emplace(site, all.chains[site]);
        }
    }
    std::map<std::string, std::pair<Module, std::set<std::uintptr_t>>> modules;
    std::map<std::uintptr_t, std::vector<Line>> lines;
    for (const auto& [site, chain] : chains) {
        for (std::size_t i = 0; i < chain.length; ++i) {
            const Module module = module_of(chain.calls[i]);
            auto& entry = modules[module.path];
            entry.first = module;
            entry.second.insert(chain.calls[i]);
        }
    }
    for (const auto& [path, entry] : modules) {
        lines.merge(look_up(entry.first, {entry.second.begin(), entry.second.end()}));
    }
    std::map<Site, std::vector<Line>> found;
    for (const auto& [site, chain] : chains) {
        std::vector<Line>& own = found[site];
        for (std::size_t i = 0; i < chain.length; ++i) {
            for (const Line& line : lines[chain.calls[i]]) {
                if (!is_hidden(line, hidden) && (own.empty() || !(own.back() == line))) {
                    own.push_back(line);
                }
            }
        }
        if (own.empty() && chain.length > 0) {
            own.push_back({module_of(chain.calls[0]).path, 0});
        }
    }
    return found;
}

}  // namespace mtsim::check
