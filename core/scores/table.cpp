#include "scores/table.hpp"

#include <numeric>

#include "scores/loops.hpp"

namespace fedbn {

namespace {

constexpr int kFewStates = 16;  // states are looked for one after the other; beyond, row by row

using loops::Codes;

/// Rows as words, so that two of them are compared at once.
class PackedRows {
public:
    PackedRows(Codes codes, std::span<const int> arities, int rows, Workers* workers) : rows_(rows), hashes_(rows) {
        std::vector<std::pair<int, int>> places;  // word and shift
        int used = 0;
        for (int arity : arities) {
            const int bits = std::bit_width(unsigned(std::max(arity, 1) - 1));
            if (used + std::max(bits, 1) > 64) ++width_, used = 0;
            places.emplace_back(width_ - 1, used);
            used += bits;
        }
        words_.resize(std::size_t(rows) * width_);
        share(workers, (rows + kBlock - 1) / kBlock, [&](int block) {
            const int begin = block * kBlock, end = std::min(rows, begin + kBlock);
            for (std::size_t v = 0; v < arities.size(); ++v) {
                const auto [word, shift] = places[v];
                loops::pack(codes.subspan(v * rows + begin, end - begin), shift, &words_[std::size_t(word) * rows + begin]);
            }
            for (int i = begin; i < end; ++i) hashes_[i] = hash_of(i);
        });
    }
    Word hash(int i) const { return hashes_[i]; }
    bool equal(int i, int j) const {
        for (int w = 0; w < width_; ++w)
            if (word(w, i) != word(w, j)) return false;
        return true;
    }

private:
    static constexpr int kBlock = 1024;  // rows that are packed while they are at hand
    Word word(int w, int i) const { return words_[std::size_t(w) * rows_ + i]; }
    Word hash_of(int i) const {
        Word hash = 0;
        for (int w = 0; w < width_; ++w) {
            hash = (hash ^ word(w, i)) * 0x9E3779B97F4A7C15;
            hash ^= hash >> 29;
        }
        return hash;
    }
    int rows_, width_ = 1;
    std::vector<Word> words_, hashes_;
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
    if (arity <= kFewStates)
        for (int state = 0; state < arity; ++state)
            loops::mark_state(codes, state, &bitmaps[std::size_t(state) * words]);
    else
        for (std::size_t i = 0; i < codes.size(); ++i)
            bitmaps[std::size_t(codes[i]) * words + (i >> 6)] |= Word{1} << (i & 63);
    return bitmaps;
}

std::vector<int> state_counts(Codes codes, int arity) {
    std::vector<int> counts(arity);
    if (arity <= kFewStates)
        for (int state = 0; state < arity; ++state) counts[state] = loops::count_state(codes, state);
    else
        for (const auto code : codes) ++counts[code];
    return counts;
}

/// The mode, which is the first of the states that most rows are in, and the rows outside it.
void find_others(Column& column) {
    const Codes codes = column.codes;
    std::vector<Word> in_mode(words_for(static_cast<int>(codes.size())));
    const auto counts = state_counts(codes, column.arity);
    column.mode = static_cast<int>(std::ranges::max_element(counts) - counts.begin());
    const std::size_t others = codes.size() - counts[column.mode];
    column.other_rows.resize(others);
    column.other_codes.resize(others);
    loops::mark_state(codes, column.mode, in_mode.data());
    std::size_t found = 0;
    for (std::size_t begin = 0; begin < codes.size(); begin += 64) {
        Word rest = ~in_mode[begin / 64];
        if (codes.size() - begin < 64) rest &= (Word{1} << (codes.size() - begin)) - 1;
        for (; rest; rest &= rest - 1, ++found) {
            const auto row = begin + std::countr_zero(rest);
            column.other_rows[found] = static_cast<std::int32_t>(row);
            column.other_codes[found] = codes[row];
        }
    }
}

}  // namespace

Table::Table(Codes codes, std::span<const int> arities, std::size_t bitmap_bytes, Workers* workers)
    : all_rows(static_cast<int>(codes.size() / std::max<std::size_t>(1, arities.size()))),
      columns(arities.size()) {
    auto [first, merged_weights] = merge_rows(PackedRows(codes, arities, all_rows, workers), all_rows);
    weights = std::move(merged_weights);
    const int together = 64 * loops::kWordsTogether;
    const int needed = (all_rows + together - 1) / together * loops::kWordsTogether;
    const std::size_t states = std::accumulate(arities.begin(), arities.end(), std::size_t{0});
    if (states * needed * sizeof(Word) <= bitmap_bytes) words = needed;
    share(workers, n(), [&](int v) {
        auto& column = columns[v];
        const auto all = codes.subspan(std::size_t(v) * all_rows, all_rows);
        column.arity = arities[v];
        if (words) column.bitmaps = state_bitmaps(all, arities[v], words);
        column.codes.resize(rows());
        if (merged())
            for (int i = 0; i < rows(); ++i) column.codes[i] = all[first[i]];
        else
            std::ranges::copy(all, column.codes.begin());
        find_others(column);
    });
}

}  // namespace fedbn
