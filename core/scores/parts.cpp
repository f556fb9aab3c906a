#include "scores/parts.hpp"

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
    if (bitmaps) {
        y_ = members[members.size() - 2];
        number_configurations();
        begin_sum(members.back(), cells);
        for (const Part& part : parts_) add(part, true, part.cells.counts.data(), cells);
        return cells.whole();
    }
    const auto sums = std::span(cells.counts).first(size);
    std::ranges::fill(sums, 0);
    for (const Part& part : parts_)
        for (std::size_t i = 0; i < size; ++i) sums[i] += part.cells.counts[i];
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
    auto number = xs.size();
    for (const Part& part : parts_)
        if (!part.counter.has_numbers()) return 0;
    if (wants_rows_)
        workers_.share(workers_.threads(), [&](int, int of) { parts_[of].counter.split_rows(parts_[of].cells); });
    wants_rows_ = false;
    workers_.share(workers_.threads(), [&](int, int of) { count_in(parts_[of], xs); });
    if (configurations_.empty()) number_configurations();
    for (const Part& part : parts_) number = std::min(number, part.starts.size());
    const std::size_t classes = configurations_.size() * table_.columns[y_].arity;
    for (std::size_t i = 0; i < number; ++i)
        if (classes * table_.columns[xs[i]].arity > parts_[0].cells.counts.size()) number = i;
    xs_.assign(xs.begin(), xs.begin() + number);
    return number;
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
        part.counter.count_dense(x, bitmaps, &part.counts[end]);
        part.starts.push_back(end);
        end += size;
    }
}

/// Where in the union of all parts what a part observed is.
void Parts::number_configurations() {
    const auto for_each_list = [&](auto visit) {
        for (Part& part : parts_)
            for (const bool bitmaps : {false, true})
                if (bitmaps ? part.counter.has_bitmaps() : part.counter.has_rows())
                    visit(part.counter.configurations(bitmaps), part.places[bitmaps]);
    };
    configurations_.clear();
    std::vector<std::int64_t> more;
    for_each_list([&](Counter::Configurations observed, std::vector<int>&) {
        more.clear();
        std::ranges::set_union(configurations_, observed, std::back_inserter(more));
        configurations_.swap(more);
    });
    for_each_list([&](Counter::Configurations observed, std::vector<int>& places) {
        places.clear();
        int place = 0;
        for (const auto configuration : observed) {
            while (configurations_[place] != configuration) ++place;
            places.push_back(place);
        }
    });
}

void Parts::gather(std::size_t place, Cells& cells) const {
    const int x = xs_[place];
    const bool bitmaps = parts_[0].counter.uses_bitmaps(x);
    begin_sum(x, cells);
    for (const Part& part : parts_) add(part, bitmaps, &part.counts[part.starts[place]], cells);
}

std::span<const std::int32_t> Parts::opened(bool with_y, Cells& cells) const {
    const bool bitmaps = parts_[0].counter.has_bitmaps();
    begin_sum(-1, cells);
    for (const Part& part : parts_) add(part, bitmaps, part.counter.class_counts(bitmaps).data(), cells);
    return with_y ? cells.whole() : cells.without_y();
}

/// x: -1 for none.
void Parts::begin_sum(int x, Cells& cells) const {
    cells.dense = true;
    cells.configurations = static_cast<int>(configurations_.size());
    cells.r_y = table_.columns[y_].arity, cells.r_x = x < 0 ? 1 : table_.columns[x].arity;
    std::fill_n(cells.counts.begin(), cells.whole().size(), 0);
}

/// cells += the counts of what a part observed, [configuration, state of y, state of x].
void Parts::add(const Part& part, bool bitmaps, const std::int32_t* counts, Cells& cells) const {
    const int block = cells.r_y * cells.r_x;
    for (const int place : part.places[bitmaps]) {
        auto* const to = &cells.counts[std::size_t(place) * block];
        for (int i = 0; i < block; ++i) to[i] += *counts++;
    }
}

}  // namespace fedbn
