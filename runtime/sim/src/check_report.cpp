#include "check_report.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <tuple>

#include "error.hpp"

namespace mtsim::check {
namespace {

constexpr std::size_t kMostInText = 20;
constexpr std::size_t kMostCallers = 3;

using Lines = std::map<Site, std::vector<Line>>;

const Line& line_of(const Lines& lines, Site site) {
    static const Line unknown{"(unknown place)", 0};
    const auto found = lines.find(site);
    return found == lines.end() || found->second.empty() ? unknown : found->second.front();
}

std::string text_of(const Line& line) {
    return line.number == 0 ? line.file : format("%s:%u", line.file.c_str(), line.number);
}

// A line of a source, without what it is indented by; empty where it cannot be read.
std::string source_of(const Line& line) {
    std::ifstream file(line.file);
    std::string text;
    for (unsigned number = 0; number < line.number; ++number) {
        if (!std::getline(file, text)) {
            return {};
        }
    }
    const std::size_t start = text.find_first_not_of(" \t");
    const std::size_t end = text.find_last_not_of(" \t\r");
    return start == std::string::npos ? std::string() : text.substr(start, end - start + 1);
}

std::string filled(const Note& note, const Lines& lines) {
    std::string text = note.text;
    if (const std::size_t gap = text.find("{}"); gap != std::string::npos) {
        text.replace(gap, 2, text_of(line_of(lines, note.site)));
    }
    return text;
}

// In the form of the project's other diagnostics: the place, the mistake, the source, and what is known about it.
std::string text_of(const Finding& finding, const Lines& lines, const char* kernel, std::uint32_t blocks) {
    const Line& line = line_of(lines, finding.site);
    std::string text = format("%s: %s[%s]: %s\n", text_of(line).c_str(), finding.is_note ? "note" : "error",
                              finding.kind.c_str(), finding.headline.c_str());
    const std::string number = format("%u", line.number);
    const std::string margin(number.size(), ' ');
    if (const std::string source = line.number == 0 ? std::string() : source_of(line); !source.empty()) {
        text += format("%s |\n%s |   %s\n%s |\n", margin.c_str(), number.c_str(), source.c_str(), margin.c_str());
    }
    const auto say = [&](const std::string& note) { text += format("%s = %s\n", margin.c_str(), note.c_str()); };
    for (const Note& note : finding.notes) {
        say(filled(note, lines));
    }
    std::string place = format("in kernel %s, %s", kernel, finding.where.text(blocks).c_str());
    if (finding.cores > 1) {
        place += format(", and in %u other core%s", finding.cores - 1, finding.cores == 2 ? "" : "s");
    }
    if (const auto found = lines.find(finding.site); found != lines.end()) {
        const std::vector<Line>& calls = found->second;
        for (std::size_t i = 1; i < calls.size() && i <= kMostCallers; ++i) {
            place += (i == 1 ? ", called from " : ", ") + text_of(calls[i]);
        }
    }
    say(place);
    if (!finding.help.empty()) {
        say("help: " + finding.help);
    }
    return text;
}

}  // namespace

std::string Where::text(std::uint32_t blocks) const {
    std::string text = format("block %u of %u", block, blocks);
    if (role == kCube) {
        text += ", cube core";
    } else if (role == kVector) {
        text += format(", vector core %u", sub_block);
    }
    return text;
}

void Findings::add(std::vector<Finding> findings) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Finding& finding : findings) {
        if (findings_.size() < kMost) {
            findings_.push_back(std::move(finding));
        }
    }
}

namespace {

// A note is told once in a process, however often its kernel is launched.
bool is_news(Site site) {
    static std::mutex mutex;
    static std::set<Site>* const told = new std::set<Site>;  // threads may outlive static destruction
    const std::lock_guard<std::mutex> lock(mutex);
    return told->insert(site).second;
}

}  // namespace

std::optional<Report> Findings::report(const char* kernel, std::uint32_t blocks) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Blocks end in any order; reports do not depend on it.
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.where < b.where; });
    std::set<Site> news;
    findings_.erase(std::remove_if(findings_.begin(), findings_.end(),
                                   [&](const Finding& finding) {
                                       if (finding.is_note && is_news(finding.site)) {
                                           news.insert(finding.site);
                                       }
                                       return finding.is_note && news.count(finding.site) == 0;
                                   }),
                    findings_.end());
    if (findings_.empty()) {
        return std::nullopt;
    }
    std::set<Site> sites;
    for (const Finding& finding : findings_) {
        sites.insert(finding.site);
        for (const Note& note : finding.notes) {
            sites.insert(note.site);
        }
    }
    sites.erase(0);
    const Lines lines = lines_of(sites, *hidden_);
    for (const auto& [key, entry] : unique(lines, true)) {
        std::fprintf(stderr, "%s", text_of(*entry.first, lines, kernel, blocks).c_str());
    }
    const Unique mistakes = unique(lines, false);
    if (mistakes.empty()) {
        return std::nullopt;
    }
    std::string text = format("MINDTORCH_SIM_CHECK found %zu mistake%s in kernel %s:", mistakes.size(),
                              mistakes.size() == 1 ? "" : "s", kernel);
    std::size_t shown = 0;
    for (const auto& [key, entry] : mistakes) {
        if (shown++ == kMostInText) {
            text += format("\n\nand %zu more", mistakes.size() - kMostInText);
            break;
        }
        text += "\n\n" + text_of(*entry.first, lines, kernel, blocks);
        text.pop_back();
    }
    return Report{mistakes.begin()->second.first->code, text};
}

// One finding for each line and kind: that of the first core.
Findings::Unique Findings::unique(const Lines& lines, bool notes) {
    Unique result;
    for (Finding& finding : findings_) {
        if (finding.is_note != notes) {
            continue;
        }
        auto& entry = result[{line_of(lines, finding.site), finding.kind}];
        if (entry.first == nullptr) {
            entry.first = &finding;
        }
        entry.second.insert(finding.where.number());
        entry.first->cores = static_cast<std::uint32_t>(entry.second.size());
    }
    return result;
}

}  // namespace mtsim::check
