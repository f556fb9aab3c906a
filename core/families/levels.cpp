#include "families/levels.hpp"

#include <cmath>
#include <numeric>

#include "arguments.hpp"
#include "elementary.hpp"
#include "infinity.hpp"
#include "interrupt.hpp"

namespace fedbn {

namespace {

constexpr std::size_t kBetweenLooks = 4096;  // sets, at Ctrl-C

template <class T>
std::size_t required_place(const ByRank<T>& level, Rank rank) {
    const std::size_t at = level.place(rank);
    require(at < level.values.size(), "the joint values must be those of all sets that are asked for");
    return at;
}
template <class T>
T required(const ByRank<T>& level, Rank rank) {
    return level.values[required_place(level, rank)];
}

}  // namespace

// The set with this rank among the other variables, as variables.
void ParentSetLevels::unrank(int node, Rank rank, std::span<int> parents) const {
    sets_.unrank(rank, n_ - 1, parents);
    for (int& c : parents) c += c >= node;
}

Rank ParentSetLevels::rank(std::span<const int> members) const {
    std::uint64_t total = 0;
    for (std::size_t j = 0; j < members.size(); ++j) total += std::uint64_t(sets_.binomial(members[j], int(j) + 1));
    return static_cast<Rank>(total);
}

Rank ParentSetLevels::rank_with(int node, std::span<const int> parents) const {
    std::uint64_t total = 0;
    int smaller = 0;
    for (std::size_t j = 0; j < parents.size(); ++j) {
        total += std::uint64_t(sets_.binomial(parents[j], int(j) + (parents[j] < node ? 1 : 2)));
        smaller += parents[j] < node;
    }
    return static_cast<Rank>(total + std::uint64_t(sets_.binomial(node, smaller + 1)));
}

// BIC and AIC: w (r - 1) Π r over the parents.
double ParentSetLevels::parameters(int node, std::span<const int> parents) const {
    double unit = penalty() * (arity(node) - 1.0);
    for (int v : parents) unit *= arity(v);
    return unit;
}

std::pair<std::vector<Rank>, std::vector<Rank>> ParentSetLevels::global_ranks(int node, std::span<const Rank> ranks,
                                                                              int size) const {
    std::vector<Rank> own(ranks.size()), family(ranks.size());
    std::vector<int> parents(size);
    for (std::size_t a = 0; a < ranks.size(); ++a) {
        if (a % kBetweenLooks == 0) notice_interrupt();
        unrank(node, ranks[a], parents);
        own[a] = rank(parents);
        family[a] = rank_with(node, parents);
    }
    return {std::move(own), std::move(family)};
}

// The least cost within the subsets of the members without one of the `smallest` first; -inf if one of these may not
// be extended.
double ParentSetLevels::least_within(std::span<const int> members, int smallest, const Frontier& old) const {
    double least = kInfinity;
    sets_.each_without_one(members, [&](int j, Rank rank) {
        if (j == smallest) return false;
        const std::size_t at = old.place(rank);
        const bool known = at < old.values.size() && !std::isnan(old.values[at]);
        least = known ? std::min(least, old.values[at]) : -kInfinity;
        return known;
    });
    return least;
}

BoundedSets ParentSetLevels::extend(int node, const Frontier& old, int size, double floor) const {
    // Where they are not too many, all ranks have their place, and nan marks what is not in the frontier.
    std::vector<double> table;
    Frontier within = old;
    const Rank total = sets_.binomial(n_ - 1, size);
    if (!old.ranks.empty() && total <= Rank(32 * old.ranks.size())) {
        table.assign(total, std::nan(""));
        for (std::size_t a = 0; a < old.ranks.size(); ++a) table[old.ranks[a]] = old.values[a];
        within = {{}, table};
    }
    BoundedSets out;
    std::vector<int> members(size + 1);
    const std::span<int> extended(members.data(), size);
    const bool information = score_.kind == ScoreKind::information;
    const double unit = information ? penalty() * (arity(node) - 1.0) : 0.0;
    for (int v = size; v < n_ - 1; ++v)
        for (std::size_t a = 0; a < old.values.size(); ++a) {
            if (a % kBetweenLooks == 0) notice_interrupt();
            const Rank rank = old.rank(a);
            if (rank >= sets_.binomial(v, size)) break;
            sets_.unrank(rank, v, extended);
            members[size] = v;
            const double bound = std::min(least_within(members, size, within), old.values[a]);
            if (bound == -kInfinity) continue;
            if (unit > 0.0) {
                double parameters = unit;
                for (int c : members) parameters *= arity(c + (c >= node));
                if (bound + slack_ < parameters + floor) continue;
            }
            out.ranks.push_back(rank + sets_.binomial(v, size + 1));
            out.bounds.push_back(bound);
        }
    return out;
}

std::vector<std::uint8_t> ParentSetLevels::worth_scoring(int node, std::span<const Rank> ranks, int size,
                                                         std::span<const double> floors, const ByRank<double>& below,
                                                         const ByRank<double>& own) const {
    std::vector<std::uint8_t> keep(ranks.size(), true);
    std::vector<int> parents(size);
    for (std::size_t a = 0; a < ranks.size(); ++a) {
        if (a % kBetweenLooks == 0) notice_interrupt();
        unrank(node, ranks[a], parents);
        const double all = parameters(node, parents), joint = required(own, rank(parents));
        sets_.each_without_one(parents, [&](int j, Rank without) {
            const double states = arity(parents[j]), lost = all / states * (states - 1.0);
            keep[a] = !(required(below, without) - joint - floors[parents[j]] + slack_ < lost);
            return bool(keep[a]);
        });
    }
    return keep;
}

LevelCosts ParentSetLevels::costs(int node, const Frontier& sets, int size, const ByRank<double>& own,
                                  std::span<const std::int32_t> occupied, const ByRank<double>& above) const {
    const std::size_t number = sets.values.size();
    LevelCosts out{std::vector<double>(number), std::vector<std::uint8_t>(number, true)};
    std::vector<int> parents(size);
    for (std::size_t a = 0; a < number; ++a) {
        if (a % kBetweenLooks == 0) notice_interrupt();
        unrank(node, sets.rank(a), parents);
        const std::size_t at = required_place(own, rank(parents));
        out.cost[a] = own.values[at] - required(above, rank_with(node, parents));
        if (score_.kind == ScoreKind::information) {
            double free = arity(node) - 1.0;
            for (int v : parents) free *= arity(v);
            out.cost[a] += penalty() * free;
        } else if (score_.kind == ScoreKind::bdeu) {  // theorem 8; counts times k < 1 lose at least k times as much
            const double least = std::min(1.0, score_.discrete->rung().row_weight) * occupied[at] * logarithm(arity(node));
            out.may_extend[a] = !(sets.values[a] + slack_ < least);
        }
    }
    return out;
}

NodeSets ParentSetLevels::bits(int node, std::span<const Rank> ranks, int size) const {
    NodeSets out(static_cast<int>(ranks.size()), n_);
    std::vector<int> parents(size);
    for (std::size_t a = 0; a < ranks.size(); ++a) {
        unrank(node, ranks[a], parents);
        for (int v : parents) out[static_cast<int>(a)].insert(v);
    }
    return out;
}

LastFamilies ParentSetLevels::last_level(Rank first, Rank last, int size, std::span<const double> values,
                                         std::span<const Frontier> frontiers, std::span<const double> limit) const {
    LastFamilies out;
    const ByRank<double> below{{}, values};
    std::vector<int> members(size + 1), parents(size);
    std::vector<double> cost(size + 1);
    std::vector<Rank> ranks(last - first);
    std::iota(ranks.begin(), ranks.end(), first);
    const auto joint = joint_values(score_, sets_, ranks, size + 1).values;
    for (Rank r : ranks) {
        if (r % kBetweenLooks == 0) notice_interrupt();
        sets_.unrank(r, n_, members);
        double configurations = 1.0;
        for (int c : members) configurations *= arity(c);
        sets_.each_without_one(members, [&](int j, Rank without) {
            const double states = arity(members[j]);
            cost[j] = required(below, without) - joint[r - first] +
                      penalty() * (states - 1.0) * configurations / states;
            return true;
        });
        for (int j = 0; j <= size; ++j) {
            const int i = members[j];
            if (cost[j] > limit[i]) continue;
            for (int k = 0; k < size; ++k) parents[k] = k < j ? members[k] : members[k + 1] - 1;
            if (least_within(parents, size, frontiers[i]) + slack_ < cost[j]) continue;
            out.nodes.push_back(i);
            out.ranks.push_back(rank(parents));
            out.costs.push_back(cost[j]);
        }
    }
    return out;
}

}  // namespace fedbn
