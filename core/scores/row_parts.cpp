#include "scores/row_parts.hpp"

#include <algorithm>

namespace fedbn {

namespace {

constexpr double kWorthOfASet = 4'000, kWorth = 10'000;  // visited rows: from some microseconds on
constexpr std::size_t kCells = 1 << 18;                  // that a part counts together
constexpr std::size_t kCellsOfASet = 1 << 12;            // no more than any counter has in a dense table

}  // namespace

Parts::Parts(const Table& table, Workers& workers) : table_(table), workers_(workers) {
    const int parts = workers.threads();
    for (int part = 0; part < parts; ++part)
        parts_.push_back({Counter(table, part_of(table, part, parts)), Cells(table), {}, {}, {}});
}

bool Parts::are_worth(std::span<const int> members) const {
    return parts_[0].counter.cost(members) * workers_.threads() >= kWorthOfASet;
}

bool Parts::are_worth(int y, std::span<const int> parents, std::size_t xs) const {
    return parts_[0].counter.cost(y, parents, xs) * workers_.threads() >= kWorth;
}

std::span<const std::int32_t> Parts::count(std::span<const int> members, Cells& cells) {
    if (members.size() < 2) return {};
    const bool bitmaps = parts_[0].counter.splits(members);
    std::size_t size = 1;
    for (int v : members)
        if ((size *= table_.columns[v].arity) > kCellsOfASet) return {};
    workers_.share(workers_.threads(), [&](int, int of) {
        auto& [counter, own, counts, starts, places] = parts_[of];
        bitmaps ? counter.count_split(members, own) : counter.count_rows(members, own);
    });
    auto sums = std::span(cells.counts).first(size);
    if (bitmaps) {
        y_ = members[members.size() - 2];
        find_configurations();
        sums = begin_sum(members.back(), cells);
    } else {
        std::ranges::fill(sums, 0);
    }
    for (const Part& part : parts_) add(part, bitmaps, part.cells.counts.data(), sums);
    return sums;
}

void Parts::open(int y, std::span<const int> parents, std::span<const int> xs) {
    y_ = y;
    workers_.share(workers_.threads(), [&](int, int of) { parts_[of].counter.split_bitmaps(y, parents); });
    if (!std::ranges::all_of(parts_, [](const Part& part) { return part.counter.has_bitmaps(); }))
        for (Part& part : parts_) part.counter.leave_bitmaps();
    wants_rows_ = parts_[0].counter.wants_rows(xs);
    configurations_.clear();
}

std::size_t Parts::count_with(std::span<const int> xs) {
    if (!std::ranges::all_of(parts_, [](const Part& part) { return part.counter.has_numbers(); })) return 0;
    if (configurations_.empty()) find_configurations();
    if (wants_rows_)
        for (Part& part : parts_)
            if (!part.counter.begin_rows(configurations_.size())) return 0;
    workers_.share(workers_.threads(), [&](int, int of) {
        if (wants_rows_) split_rows(parts_[of]);
        count_in(parts_[of], xs);
    });
    if (class_counts_.empty()) add_classes(false);
    wants_rows_ = false;
    auto number = xs.size();
    for (const Part& part : parts_) number = std::min(number, part.starts.size());
    for (std::size_t i = 0; i < number; ++i)
        if (class_counts_.size() * table_.columns[xs[i]].arity > parts_[0].cells.counts.size()) number = i;
    xs_.assign(xs.begin(), xs.begin() + number);
    return number;
}

void Parts::split_rows(Part& part) const {
    auto& counter = part.counter;
    if (counter.has_bitmaps()) counter.index_rows(part.cells);
    counter.split_rows(configurations_, part.cells);
    if (!counter.has_bitmaps()) counter.count_classes();
}

/// As many of the first as have dense tables that fit.
void Parts::count_in(Part& part, std::span<const int> xs) const {
    part.starts.clear();
    std::size_t end = 0;
    for (int x : xs) {
        const bool bitmaps = parts_[0].counter.uses_bitmaps(x);
        if (!part.counter.is_dense(x, bitmaps)) return;
        const std::size_t size = part.counter.cells_with(x, bitmaps);
        if (end + size > kCells) return;
        part.counts.resize(std::max(part.counts.size(), end + size));
        part.counter.count_others(x, bitmaps, &part.counts[end]);
        part.starts.push_back(end);
        end += size;
    }
}

/// Those of all parts; by bitmaps also where in them those of a part are, and the counts of the classes.
void Parts::find_configurations() {
    const bool bitmaps = parts_[0].counter.has_bitmaps();
    if (!bitmaps)
        workers_.share(workers_.threads(), [&](int, int of) {
            auto& [counter, cells, counts, starts, places] = parts_[of];
            counter.index_rows(cells);
            counter.observe_configurations(cells);
        });
    configurations_.clear();
    class_counts_.clear();
    std::vector<std::int64_t> more;
    for (const Part& part : parts_) {
        more.clear();
        std::ranges::set_union(configurations_, part.counter.configurations(bitmaps), std::back_inserter(more));
        configurations_.swap(more);
    }
    if (!bitmaps) return;
    for (Part& part : parts_) {
        part.places.clear();
        int place = 0;
        for (const auto configuration : part.counter.configurations(true)) {
            while (configurations_[place] != configuration) ++place;
            part.places.push_back(place);
        }
    }
    add_classes(true);
}

void Parts::add_classes(bool bitmaps) {
    class_counts_.assign(configurations_.size() * table_.columns[y_].arity, 0);
    for (const Part& part : parts_) add(part, bitmaps, part.counter.class_counts(bitmaps).data(), class_counts_);
}

void Parts::gather(std::size_t place, Cells& cells) const {
    const int x = xs_[place];
    const bool bitmaps = parts_[0].counter.uses_bitmaps(x);
    const auto sums = begin_sum(x, cells);
    for (const Part& part : parts_) add(part, bitmaps, &part.counts[part.starts[place]], sums);
    parts_[0].counter.count_modes(x, class_counts_, sums.data());
}

std::span<const std::int32_t> Parts::opened(bool with_y, Cells& cells) const {
    std::ranges::copy(class_counts_, begin_sum(-1, cells).begin());
    return with_y ? cells.whole() : cells.without_y();
}

/// x: -1 for none.
std::span<std::int32_t> Parts::begin_sum(int x, Cells& cells) const {
    cells.dense = true;
    cells.configurations = static_cast<int>(configurations_.size());
    cells.r_y = table_.columns[y_].arity, cells.r_x = x < 0 ? 1 : table_.columns[x].arity;
    const auto sums = std::span(cells.counts).first(cells.whole().size());
    std::ranges::fill(sums, 0);
    return sums;
}

/// sums += the counts of a part, [configuration, state of y, state of x]; by bitmaps it has its own configurations alone.
void Parts::add(const Part& part, bool bitmaps, const std::int32_t* counts, std::span<std::int32_t> sums) const {
    if (!bitmaps || part.places.size() == configurations_.size()) {
        for (auto& sum : sums) sum += *counts++;
        return;
    }
    const std::size_t block = sums.size() / configurations_.size();
    for (const int place : part.places)
        for (auto& sum : sums.subspan(place * block, block)) sum += *counts++;
}

}  // namespace fedbn
