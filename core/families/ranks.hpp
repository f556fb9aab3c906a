// Colexicographic ranks of sets: {c_1 < ... < c_k} has the rank Σ_j C(c_j, j).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fedbn {

using Rank = std::int64_t;

/// C(a, b) for a, b ≤ n + 1, cut off at 2^62, and what follows from it for sets of numbers below n.
class SetRanks {
public:
    static constexpr Rank kMost = Rank{1} << 62;

    explicit SetRanks(int n) : width_(n + 2), table_(std::size_t(width_) * width_) {
        for (int a = 0; a < width_; ++a) {
            at(a, 0) = 1;
            for (int b = 1; b <= a; ++b) {
                const std::uint64_t sum = std::uint64_t(at(a - 1, b - 1)) + std::uint64_t(at(a - 1, b));
                at(a, b) = static_cast<Rank>(std::min(sum, std::uint64_t(kMost)));
            }
        }
    }

    Rank binomial(int a, int b) const { return table_[std::size_t(a) * width_ + b]; }

    /// members := the set of so many with this rank, ascending, all below `top`.
    void unrank(Rank rank, int top, std::span<int> members) const {
        int c = top - 1;
        for (int j = static_cast<int>(members.size()); j > 0; --j) {
            while (binomial(c, j) > rank) --c;
            members[j - 1] = c;
            rank -= binomial(c--, j);
        }
    }

    /// The ranks of members without the j-th of them, for each j in turn: f(j, rank) until it is false.
    void each_without_one(std::span<const int> members, auto f) const {
        const int size = static_cast<int>(members.size());
        std::uint64_t below = 0, above = 0;  // of numbers cut off at 2^62 the sums may wrap; Σ_{l < j} C(c_l, l + 1), then the part above, shifted by one place
        for (int j = 1; j < size; ++j) above += std::uint64_t(binomial(members[j], j));
        for (int j = 0; j < size; ++j) {
            if (!f(j, static_cast<Rank>(below + above))) return;
            below += std::uint64_t(binomial(members[j], j + 1));
            if (j + 1 < size) above -= std::uint64_t(binomial(members[j + 1], j + 1));
        }
    }

private:
    Rank& at(int a, int b) { return table_[std::size_t(a) * width_ + b]; }
    int width_;
    std::vector<Rank> table_;
};

/// A number for each of some sets of one size: by rank where `ranks` has no entry, else in its order, ascending.
template <class T>
struct ByRank {
    std::span<const Rank> ranks;
    std::span<const T> values;

    /// Where a set stands, or nowhere (the number of values).
    std::size_t place(Rank rank) const {
        if (ranks.empty()) return std::min(std::size_t(rank), values.size());
        const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
        return at != ranks.end() && *at == rank ? at - ranks.begin() : values.size();
    }
    Rank rank(std::size_t place) const { return ranks.empty() ? static_cast<Rank>(place) : ranks[place]; }
};

}  // namespace fedbn
