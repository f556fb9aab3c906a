#include "scores/table.hpp"

#include <numeric>

namespace fedbn {

namespace {

constexpr int kWordsTogether = 8;  // bitmaps are padded to full cache lines

using Codes = std::span<const std::uint16_t>;

/// Rows as words, so that two of them are compared at once.
class PackedRows {
public:
    PackedRows(Codes codes, std::span<const int> arities, int rows) : rows_(rows) {
        std::vector<std::pair<int, int>> places;  // word and shift
        int used = 64;  // of the last word; there is none yet
        for (int arity : arities) {
            const int bits = std::bit_width(unsigned(std::max(arity, 1) - 1));
            if (used + std::max(bits, 1) > 64) ++width_, used = 0;
            places.emplace_back(width_ - 1, used);
            used += bits;
        }
        words_.resize(std::size_t(rows) * width_);
        for (int begin = 0; begin < rows; begin += kBlock)
            for (std::size_t v = 0; v < arities.size(); ++v) {
                const auto [word, shift] = places[v];
                auto* const out = &words_[std::size_t(word) * rows];
                for (int i = begin; i < std::min(begin + kBlock, rows); ++i) out[i] |= Word{codes[v * rows + i]} << shift;
            }
    }
    Word hash(int i) const {
        Word hash = 0;
        for (int w = 0; w < width_; ++w) {
            hash = (hash ^ word(w, i)) * 0x9E3779B97F4A7C15;
            hash ^= hash >> 29;
        }
        return hash;
    }
    bool equal(int i, int j) const {
        for (int w = 0; w < width_; ++w)
            if (word(w, i) != word(w, j)) return false;
        return true;
    }

private:
    static constexpr int kBlock = 1024;  // rows that are packed while they are at hand
    Word word(int w, int i) const { return words_[std::size_t(w) * rows_ + i]; }
    int rows_, width_ = 0;
    std::vector<Word> words_;
};

/// The first row of every kind, and how many equal it.
std::pair<std::vector<int>, std::vector<std::int32_t>> merge_rows(const PackedRows& packed, int rows) {
    std::vector<std::int32_t> slots(std::bit_ceil(std::max(16u, 2u * rows)), -1), weights;
    std::vector<int> first;
    const std::size_t mask = slots.size() - 1;
    for (int i = 0; i < rows; ++i) {
        std::size_t slot = packed.hash(i) & mask;
        while (slots[slot] >= 0 && !packed.equal(first[slots[slot]], i))
            slot = (slot + 1) & mask;
        if (slots[slot] < 0) {
            slots[slot] = static_cast<std::int32_t>(first.size());
            first.push_back(i);
            weights.push_back(0);
        }
        ++weights[slots[slot]];
    }
    return {std::move(first), std::move(weights)};
}

std::vector<Word> state_bitmaps(Codes codes, int arity, int words) {
    std::vector<Word> bitmaps(std::size_t(arity) * words);
    for (std::size_t i = 0; i < codes.size(); ++i)
        bitmaps[std::size_t(codes[i]) * words + (i >> 6)] |= Word{1} << (i & 63);
    return bitmaps;
}

void find_others(Column& column) {
    const auto rows = column.codes.size();
    std::size_t most = 0;
    for (int state = 0; state < column.arity; ++state)
        if (const std::size_t count = std::ranges::count(column.codes, state); state == 0 || count > most)
            most = count, column.mode = state;
    column.other_rows.resize(rows - most + 1);
    column.other_codes.resize(rows - most + 1);
    std::size_t found = 0;
    for (std::size_t i = 0; i < rows; ++i) {  // without a branch: what is no other is written over
        column.other_rows[found] = static_cast<std::int32_t>(i);
        column.other_codes[found] = column.codes[i];
        found += column.codes[i] != column.mode;
    }
    column.other_rows.pop_back();
    column.other_codes.pop_back();
}

}  // namespace

Table::Table(Codes codes, std::span<const int> arities, std::size_t bitmap_bytes)
    : all_rows(static_cast<int>(codes.size() / std::max<std::size_t>(1, arities.size()))),
      columns(arities.size()) {
    auto [first, merged_weights] = merge_rows(PackedRows(codes, arities, all_rows), all_rows);
    weights = std::move(merged_weights);
    const int needed = (all_rows + 64 * kWordsTogether - 1) / (64 * kWordsTogether) * kWordsTogether;
    const std::size_t states = std::accumulate(arities.begin(), arities.end(), std::size_t{0});
    if (states * needed * sizeof(Word) <= bitmap_bytes) words = needed;
    for (int v = 0; v < n(); ++v) {
        auto& column = columns[v];
        const auto all = codes.subspan(std::size_t(v) * all_rows, all_rows);
        column.arity = arities[v];
        if (words) column.bitmaps = state_bitmaps(all, arities[v], words);
        column.codes.resize(rows());
        for (int i = 0; i < rows(); ++i) column.codes[i] = all[first[i]];
        find_others(column);
    }
}

}  // namespace fedbn
