// fedbn._core.families: what Python calls.
#include <cmath>

#include "border.hpp"
#include "scores/gaussian.hpp"
#include "families/gaussian_walk.hpp"
#include "families/levels.hpp"
#include "families/subset_programme.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

using Numbers = Array<double, 1>;
using Matrix = Array<double, 2>;
using Ranks = Array<Rank, 1>;
using Masks = Array<std::uint64_t, 1>;
using Flags = Array<bool, 2>;

auto flags_to_numpy(const std::vector<std::uint8_t>& flags) {
    auto* kept = new bool[flags.size() + 1];
    std::copy(flags.begin(), flags.end(), kept);
    nb::capsule owner(kept, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
    return nb::ndarray<nb::numpy, bool, nb::ndim<1>>(kept, {flags.size()}, owner);
}

void require_gaussian(const Matrix& gram, const Numbers& constant, const Numbers& exponent) {
    const std::size_t n = gram.shape(0);
    require(gram.shape(1) == n, "the gram matrix must be square");
    require_finite({gram.data(), gram.size()}, "gram");
    require(constant.size() > n && exponent.size() > n, "a Gaussian score must have constants for 0 to n members");
}

// -- subset programme

int require_nodes(std::int64_t m) {
    require(m >= 1 && m <= 28, "a subset programme must have 1 to 28 nodes");
    return static_cast<int>(m);
}
void require_subsets(const Numbers& values, int m) {
    require(values.size() == std::size_t{1} << m, "there must be a number for each of the 2^m subsets");
}
BestFamilies best_of(const Matrix& table) {
    const int m = require_nodes(static_cast<std::int64_t>(table.shape(0)));
    require(table.shape(1) == std::size_t{1} << (m - 1), "the best families must be an array [m, 2^(m-1)]");
    return {{table.data(), table.size()}, m};
}
FamilyList families_of(const Array<std::int32_t, 1>& node, const Numbers& cost, const Masks& parents, int m) {
    require(node.size() == cost.size() && cost.size() == parents.size(),
            "families must have a node, a cost and parents each");
    for (std::size_t f = 0; f < node.size(); ++f) {
        const std::int32_t i = node.data()[f];
        require(i >= 0 && i < m && !(parents.data()[f] >> m) && !(parents.data()[f] >> i & 1),
                "a family must be of nodes below m, its node not among the parents");
    }
    return {span_of(node), span_of(cost), span_of(parents)};
}
auto table_to_numpy(std::vector<double> table, int m) {
    return to_numpy(std::move(table), {std::size_t(m), std::size_t{1} << (m - 1)});
}

void bind_subset_programme(nb::module_& m) {
    m.def("best_families",
          [](Array<std::int32_t, 1> node, Numbers cost, Masks parents, std::int64_t nodes) {
              const int n = require_nodes(nodes);
              const FamilyList families = families_of(node, cost, parents, n);
              return table_to_numpy(unlocked([&] { return best_families(families, n); }), n);
          },
          "node"_a.noconvert(), "cost"_a.noconvert(), "parents"_a.noconvert(), "m"_a);
    m.def("forward", [](Matrix table) {
              const BestFamilies b = best_of(table);
              return to_numpy(unlocked([&] { return forward(b); }));
          }, "table"_a.noconvert());
    m.def("backward", [](Matrix table) {
              const BestFamilies b = best_of(table);
              return to_numpy(unlocked([&] { return backward(b); }));
          }, "table"_a.noconvert());
    m.def("marginals",
          [](Array<std::int32_t, 1> node, Numbers cost, Masks parents, Numbers best, Numbers rest, std::int64_t nodes) {
              const int n = require_nodes(nodes);
              const FamilyList families = families_of(node, cost, parents, n);
              require_subsets(best, n);
              require_subsets(rest, n);
              return to_numpy(unlocked([&] { return marginals(families, span_of(best), span_of(rest), n); }));
          },
          "node"_a.noconvert(), "cost"_a.noconvert(), "parents"_a.noconvert(), "best"_a.noconvert(),
          "rest"_a.noconvert(), "m"_a);
    m.def("optimal_order", [](Matrix table, Numbers best) {
              const BestFamilies b = best_of(table);
              require_subsets(best, b.m);
              return to_numpy(optimal_order(b, span_of(best)));
          }, "table"_a.noconvert(), "best"_a.noconvert());
    m.def("gaussian_subset_values", [](Matrix gram, Numbers constant, Numbers exponent) {
              require_gaussian(gram, constant, exponent);
              const std::size_t n = require_nodes(static_cast<std::int64_t>(gram.shape(0)));
              return to_numpy(unlocked([&] {
                  return gaussian_subset_values({gram.data(), gram.size()}, {constant.data(), n + 1},
                                                {exponent.data(), n + 1});
              }));
          }, "gram"_a.noconvert(), "constant"_a.noconvert(), "exponent"_a.noconvert());
    m.def("best_within", [](Numbers values, std::int64_t nodes) {
              const int n = require_nodes(nodes);
              require_subsets(values, n);
              return table_to_numpy(unlocked([&] { return best_within(span_of(values), n); }), n);
          }, "values"_a.noconvert(), "n"_a);
}

// -- Gaussian parent sets

WalkRules rules_of(double scale, double penalty, double slack, double margin, std::int64_t max_parents,
                   bool large_first, const Flags& clusters, const Numbers& duals, std::size_t n) {
    require(clusters.shape(0) == duals.size() && clusters.shape(1) == n,
            "clusters must be an array [clusters, n], with a dual for each");
    require_at_least(0, max_parents, "max_parents");
    const auto most = static_cast<int>(std::min<std::int64_t>(max_parents, static_cast<std::int64_t>(n)));
    WalkRules rules{scale, penalty, slack, margin, most, large_first, {}, {}};
    for (std::size_t c = 0; c < duals.size(); ++c)
        rules.clusters.emplace_back(clusters.data() + c * n, clusters.data() + (c + 1) * n);
    rules.duals.assign(duals.data(), duals.data() + duals.size());
    return rules;
}

/// Which sets no proper subset in the list beats by more than `slack`; costs ascending. Only sets that stay need be
/// compared with: who beats another also beats what that one beats.
std::vector<std::uint8_t> are_undominated(const NodeSets& sets, std::span<const double> cost, double slack) {
    std::vector<std::uint8_t> keep(cost.size());
    std::vector<int> kept;
    for (int f = 0; f < sets.size(); ++f) {
        if (f % 256 == 0) notice_interrupt();
        bool beaten = false;
        for (int g : kept) {
            if (beaten || !(cost[g] + slack < cost[f])) break;
            beaten = is_subset(std::as_const(sets)[g], sets[f]);
        }
        keep[f] = !beaten;
        if (!beaten) kept.push_back(f);
    }
    return keep;
}

void bind_gaussian(nb::module_& m) {
    nb::class_<GaussianWalk>(m, "GaussianWalk")
        .def("__init__",
             [](GaussianWalk* self, Matrix covariance, Matrix precision, double scale, double penalty, double slack,
                double margin, std::int64_t max_parents, bool large_first, Flags clusters, Numbers duals) {
                 const std::size_t n = covariance.shape(0);
                 require(n >= 1 && covariance.shape(1) == n && precision.shape(0) == n && precision.shape(1) == n,
                         "covariance and precision must be square matrices of equal size, at least 1");
                 new (self) GaussianWalk(
                     rules_of(scale, penalty, slack, margin, max_parents, large_first, clusters, duals, n),
                     {covariance.data(), n * n}, {precision.data(), n * n}, static_cast<int>(n));
             },
             "covariance"_a.noconvert(), "precision"_a.noconvert(), nb::kw_only(), "scale"_a, "penalty"_a, "slack"_a,
             "margin"_a, "max_parents"_a, "large_first"_a, "clusters"_a.noconvert(), "duals"_a.noconvert())
        .def("walk_on",
             [](GaussianWalk& walk, double threshold, std::int64_t steps, std::size_t most) {
                 require_at_least(0, steps, "steps");
                 std::vector<PricedSet> found;
                 const std::int64_t left = unlocked([&] { return walk.walk_on(threshold, steps, most, found); });
                 const auto words = static_cast<std::size_t>(walk.words());
                 std::vector<Word> bits;
                 std::vector<double> prices;
                 for (const PricedSet& set : found) {
                     for (std::size_t w = 0; w < words; ++w) bits.push_back(set.parents.word(static_cast<int>(w)));
                     prices.push_back(set.price);
                 }
                 return nb::make_tuple(to_numpy(std::move(bits), {found.size(), words}), to_numpy(std::move(prices)),
                                       left);
             },
             "threshold"_a, "steps"_a, "most"_a)
        .def_prop_ro("capped", &GaussianWalk::capped);
    m.def("gaussian_costs",
          [](Matrix gram, Numbers constant, Numbers exponent, int node, Flags has_parent) {
              require_gaussian(gram, constant, exponent);
              const std::size_t n = gram.shape(0), sets = has_parent.shape(0);
              require(has_parent.shape(1) == n && node >= 0 && std::size_t(node) < n,
                      "the node must be below n and parent sets an array [sets, n]");
              for (std::size_t f = 0; f < sets; ++f)
                  require(!has_parent.data()[f * n + node], "a node must not be its own parent");
              return to_numpy(unlocked([&] {
                  const auto copy = [](const auto& array, std::size_t size) { return std::vector(array.data(), array.data() + size); };
                  GaussianScore gaussian(CrossProducts(copy(gram, gram.size()), int(n)), copy(constant, n + 1),
                                         copy(exponent, n + 1));
                  std::vector<double> costs(sets);
                  std::vector<int> parents;
                  for (std::size_t f = 0; f < sets; ++f) {
                      if (f % 256 == 0) notice_interrupt();
                      parents.clear();
                      for (std::size_t j = 0; j < n; ++j)
                          if (has_parent.data()[f * n + j]) parents.push_back(static_cast<int>(j));
                      costs[f] = -gaussian.local(node, parents);
                  }
                  return costs;
              }));
          },
          "gram"_a.noconvert(), "constant"_a.noconvert(), "exponent"_a.noconvert(), "node"_a,
          "has_parent"_a.noconvert());
    m.def("are_undominated",
          [](Bits bits, Numbers cost, double slack) {
              require(bits.shape(0) == cost.size(), "there must be a cost for each set");
              const NodeSets sets = sets_of(bits, static_cast<int>(64 * bits.shape(1)));
              return flags_to_numpy(unlocked([&] { return are_undominated(sets, span_of(cost), slack); }));
          },
          "bits"_a.noconvert(), "cost"_a.noconvert(), "slack"_a);
}

// -- levels

void require_sets(const ParentSetLevels& levels, int node, std::span<const Rank> ranks, std::int64_t size) {
    require(node >= 0 && node < levels.n(), "the node must be below n");
    require(size >= 0 && size < levels.n(), "a parent set must have 0 to n - 1 members");
    const Rank total = levels.sets().binomial(levels.n() - 1, static_cast<int>(size));
    for (Rank rank : ranks) require(rank >= 0 && rank < total, "ranks must be those of sets of this size");
}
Frontier frontier_of(const ParentSetLevels& levels, int node, const Ranks& ranks, const Numbers& best, int size) {
    require_sets(levels, node, span_of(ranks), size);
    const Rank total = levels.sets().binomial(levels.n() - 1, size);
    require(ranks.size() ? ranks.size() == best.size() : Rank(best.size()) <= total,
            "a frontier must have a number for each of its sets");
    return {span_of(ranks), span_of(best)};
}
ByRank<double> level_of(const Ranks& ranks, const Numbers& values) {
    require(ranks.size() == 0 || ranks.size() == values.size(), "there must be a value for each rank");
    return {span_of(ranks), span_of(values)};
}

void bind_levels(nb::module_& m) {
    nb::class_<ParentSetLevels>(m, "ParentSetLevels")
        .def_static("discrete",
             [](const DiscreteScore& score, double slack) {
                 constexpr std::int64_t kSpareRows = 128;  // configurations that may be numbered with gaps
                 for (int v = 0; v < score.n(); ++v)
                     require(score.arity(v) * (score.table().rows() + kSpareRows) < std::int64_t{1} << 31,
                             "rows times states stay below 2^31");
                 return new ParentSetLevels(JointScore(score), slack);
             },
             "score"_a, "slack"_a)
        .def_static("gaussian",
             [](const GaussianScore& score, double slack) { return new ParentSetLevels(JointScore(score), slack); },
             "score"_a, "slack"_a)
        .def_static("mixed",
             [](const MixedScore& score, double slack) { return new ParentSetLevels(JointScore(score), slack); },
             "score"_a, "slack"_a)
        .def("count", [](const ParentSetLevels& l, int members, int size) {
                 require(members >= 0 && members <= l.n() + 1 && size >= 0 && size <= l.n() + 1,
                         "sets must be counted among at most n + 1 members");
                 return l.sets().binomial(members, size);
             }, "members"_a, "size"_a)
        .def("joint_values",
             [](const ParentSetLevels& l, Ranks wanted, int size) {
                 require(size >= 0 && size <= l.n(), "sets must have 0 to n members");
                 for (Rank rank : span_of(wanted))
                     require(rank >= 0 && rank < l.sets().binomial(l.n(), size), "ranks must be those of sets of this size");
                 JointValues found = unlocked([&] { return joint_values(l.score(), l.sets(), span_of(wanted), size); });
                 return nb::make_tuple(to_numpy(std::move(found.values)), to_numpy(std::move(found.occupied)));
             }, "wanted"_a.noconvert(), "size"_a)
        .def("all_joint_values", [](const ParentSetLevels& l) {
                 require(l.score().kind == ScoreKind::bdeu && l.n() <= 28,
                         "all sets are valued under BDeu alone, of at most 28 variables");
                 return to_numpy(unlocked([&] { return all_joint_values(l.score()); }));
             })
        .def("global_ranks",
             [](const ParentSetLevels& l, int node, Ranks ranks, int size) {
                 require_sets(l, node, span_of(ranks), size);
                 auto [own, family] = unlocked([&] { return l.global_ranks(node, span_of(ranks), size); });
                 return nb::make_tuple(to_numpy(std::move(own)), to_numpy(std::move(family)));
             }, "node"_a, "ranks"_a.noconvert(), "size"_a)
        .def("extend",
             [](const ParentSetLevels& l, int node, Ranks ranks, Numbers best, int size, double floor) {
                 const Frontier old = frontier_of(l, node, ranks, best, size);
                 BoundedSets found = unlocked([&] { return l.extend(node, old, size, floor); });
                 return nb::make_tuple(to_numpy(std::move(found.ranks)), to_numpy(std::move(found.bounds)));
             }, "node"_a, "ranks"_a.noconvert(), "best"_a.noconvert(), "size"_a, "floor"_a)
        .def("worth_scoring",
             [](const ParentSetLevels& l, int node, Ranks ranks, int size, Numbers floors, Ranks ranks_below,
                Numbers values_below, Ranks ranks_own, Numbers values_own) {
                 require_sets(l, node, span_of(ranks), size);
                 require(l.score().kind == ScoreKind::information, "theorem 7 must be used with BIC or AIC");
                 require(floors.size() == std::size_t(l.n()), "there must be a floor for each variable");
                 const auto below = level_of(ranks_below, values_below), own = level_of(ranks_own, values_own);
                 return flags_to_numpy(unlocked([&] {
                     return l.worth_scoring(node, span_of(ranks), size, span_of(floors), below, own);
                 }));
             }, "node"_a, "ranks"_a.noconvert(), "size"_a, "floors"_a.noconvert(), "ranks_below"_a.noconvert(),
             "values_below"_a.noconvert(), "ranks_own"_a.noconvert(), "values_own"_a.noconvert())
        .def("costs",
             [](const ParentSetLevels& l, int node, Ranks ranks, Numbers bounds, int size, Ranks ranks_own,
                Numbers values_own, Array<std::int32_t, 1> occupied, Ranks ranks_above, Numbers values_above) {
                 const Frontier sets = frontier_of(l, node, ranks, bounds, size);
                 const auto own = level_of(ranks_own, values_own), above = level_of(ranks_above, values_above);
                 require(occupied.size() == values_own.size(), "every value must have its number of configurations");
                 LevelCosts found =
                     unlocked([&] { return l.costs(node, sets, size, own, span_of(occupied), above); });
                 return nb::make_tuple(to_numpy(std::move(found.cost)), flags_to_numpy(found.may_extend));
             }, "node"_a, "ranks"_a.noconvert(), "bounds"_a.noconvert(), "size"_a, "ranks_own"_a.noconvert(),
             "values_own"_a.noconvert(), "occupied"_a.noconvert(), "ranks_above"_a.noconvert(),
             "values_above"_a.noconvert())
        .def("last_level",
             [](const ParentSetLevels& l, Rank first, Rank last, int size, Numbers values, Array<std::int64_t, 1> start,
                Ranks ranks, Numbers best, Numbers limit) {
                 const auto n = static_cast<std::size_t>(l.n());
                 require(l.score().kind == ScoreKind::information && size >= 1 && size < l.n(),
                         "the last level must be of BIC or AIC and of 1 to n - 1 parents");
                 require(0 <= first && first < last && last <= l.sets().binomial(l.n(), size + 1),
                         "ranks must be those of sets of one more");
                 require(start.size() == n + 1 && limit.size() == n && ranks.size() == best.size(),
                         "there must be a frontier and a limit for each node");
                 starts_of<std::int64_t>(start, ranks.size());
                 std::vector<Frontier> frontiers;
                 for (std::size_t i = 0; i < n; ++i) {
                     const auto from = start.data()[i], to = start.data()[i + 1];
                     frontiers.push_back({{ranks.data() + from, std::size_t(to - from)},
                                          {best.data() + from, std::size_t(to - from)}});
                 }
                 LastFamilies found = unlocked(
                     [&] { return l.last_level(first, last, size, span_of(values), frontiers, span_of(limit)); });
                 return nb::make_tuple(to_numpy(std::move(found.nodes)), to_numpy(std::move(found.ranks)),
                                       to_numpy(std::move(found.costs)));
             }, "first"_a, "last"_a, "size"_a, "values"_a.noconvert(), "start"_a.noconvert(), "ranks"_a.noconvert(),
             "best"_a.noconvert(), "limit"_a.noconvert())
        .def("bits",
             [](const ParentSetLevels& l, int node, Ranks ranks, int size) {
                 require_sets(l, node, span_of(ranks), size);
                 return to_numpy(unlocked([&] { return l.bits(node, span_of(ranks), size); }));
             }, "node"_a, "ranks"_a.noconvert(), "size"_a);
    m.def("undominated_sets",
          [](Numbers values, int node, std::int64_t nodes, double slack) {
              const int n = require_nodes(nodes);
              require_subsets(values, n);
              require(node >= 0 && node < n, "the node must be below n");
              CostedSets found = unlocked([&] { return undominated_sets(span_of(values), node, n, slack); });
              return nb::make_tuple(to_numpy(std::move(found.masks)), to_numpy(std::move(found.costs)));
          },
          "values"_a.noconvert(), "node"_a, "n"_a, "slack"_a);
}

}  // namespace

void bind_clusters(nb::module_& m);

void families(nb::module_& m) {
    bind_subset_programme(m);
    bind_gaussian(m);
    bind_levels(m);
    bind_clusters(m);
}

}  // namespace fedbn::bindings
