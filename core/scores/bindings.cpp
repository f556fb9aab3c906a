// fedbn._core.scores: what Python calls.
#include <numeric>

#include "border.hpp"
#include "elementary.hpp"
#include "scores/completion.hpp"
#include "scores/gaussian.hpp"
#include "scores/loops.hpp"
#include "scores/mixed.hpp"
#include "scores/mixed_completion.hpp"
#include "scores/score.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

using Codes = Array<std::uint16_t, 2>;
using Rungs = std::vector<std::pair<double, double>>;

void require_nodes(std::span<const int> nodes, int n) {
    for (int v : nodes) require(0 <= v && v < n, "a variable must be from 0 to below ", n, ", not ", v);
}

void require_different(std::span<const int> nodes, int n) {
    require_nodes(nodes, n);
    std::vector<char> seen(n);
    for (int v : nodes) require(!seen[v]++, "variables must be different, but ", v, " is there twice");
}

void require_threads(int threads) {
    require(1 <= threads && threads <= 1024, "the number of threads must be from 1 to 1024, not ", threads);
}

/// codes: [n, rows], every one of them below the arity of its variable.
template <class Code>
std::shared_ptr<Counted> counted(ScoreKind kind, const Array<Code, 2>& codes, std::vector<int> arities,
                                 const Rungs& given, std::size_t memory, int threads = 1) {
    require_threads(threads);
    const std::size_t rows = codes.shape(1);
    require(kind == ScoreKind::bdeu || kind == ScoreKind::information, "only scores of categories have codes");
    require(codes.shape(0) == arities.size(), "there must be an arity for each variable");
    require(!given.empty(), "there must be a row weight");
    std::vector<Rung> rungs;
    for (auto [row_weight, parameter] : given) {
        require(row_weight > 0 && std::isfinite(row_weight), "row weights must be finite and above 0, not ",
                std::to_string(row_weight));
        // the penalty of BIC is ln 1 / 2 = 0 for a single row
        require((kind == ScoreKind::bdeu ? parameter > 0 : parameter >= 0) && std::isfinite(parameter),
                "an equivalent sample size must be finite and above 0, a penalty at least 0, not ",
                std::to_string(parameter));
        rungs.push_back({row_weight, parameter});
    }
    nb::gil_scoped_release released;
    for (int arity : arities)
        require(1 <= arity && arity <= 65535 && arity * rows < std::size_t{1} << 31,
                "a variable has 1 to 65535 states, and rows times states stay below 2^31");
    return std::make_shared<Counted>(kind, std::span(codes.data(), codes.size()), std::move(arities),
                                     std::move(rungs), memory, threads);
}

/// A score for each rung.
template <class Code>
std::vector<DiscreteScore> discrete_scores(ScoreKind kind, const Array<Code, 2>& codes, std::vector<int> arities,
                                           const Rungs& rungs, std::size_t memory, int threads) {
    const auto all = counted(kind, codes, std::move(arities), rungs, memory, threads);
    std::vector<DiscreteScore> scores;
    for (std::size_t r = 0; r < rungs.size(); ++r) scores.emplace_back(all, r);
    return scores;
}

/// The rows of a table before they were merged; equal rows stand together.
std::vector<std::uint16_t> unmerged(const Table& table) {
    std::vector<std::uint16_t> codes;
    for (const auto& column : table.columns)
        for (int i = 0; i < table.rows(); ++i) codes.insert(codes.end(), table.weights[i], column.codes[i]);
    return codes;
}

nb::tuple state_of(const DiscreteScore& s) {
    const auto& all = *s.shared();
    std::vector<int> arities;
    for (const auto& column : all.table.columns) arities.push_back(column.arity);
    Rungs rungs;
    for (const auto& rung : all.rungs) rungs.emplace_back(rung.row_weight, rung.parameter);
    const std::size_t n = arities.size(), rows = all.table.all_rows;
    return nb::make_tuple(all.kind, to_numpy(unmerged(all.table), {n, rows}), arities, rungs, all.memory,
                          s.rung_number(), s.nodes());
}

void bind_discrete(nb::module_& m) {
    nb::class_<DiscreteScore, Score>(m, "DiscreteScore")
        .def_static("rungs", discrete_scores<std::uint16_t>, "kind"_a, "codes"_a.noconvert(), "arities"_a, "rungs"_a,
                    "memory"_a, "threads"_a = 1,
                    "A score for each (row weight, ess or penalty); they share what is counted. codes: uint16 or "
                    "int32 [n, rows].")
        .def_static("rungs", discrete_scores<std::int32_t>, "kind"_a, "codes"_a.noconvert(), "arities"_a, "rungs"_a,
                    "memory"_a, "threads"_a = 1)
        .def_prop_ro("arities",
                     [](const DiscreteScore& s) {
                         std::vector<std::int64_t> arities;
                         for (int v = 0; v < s.n(); ++v) arities.push_back(s.arity(v));
                         return to_numpy(std::move(arities));
                     }, nb::rv_policy::automatic)
        .def_prop_ro(
            "rows_outside_modes",
            [](const DiscreteScore& s) {
                std::vector<std::int64_t> counts;
                for (int v = 0; v < s.n(); ++v) counts.push_back(std::ssize(s.column(v).other_rows));
                return to_numpy(std::move(counts));
            },
            nb::rv_policy::automatic, "How many merged rows of each variable are not in its most frequent state.")
        .def(
            "merged_rows",
            [](const DiscreteScore& s) {
                std::vector<std::uint16_t> codes;
                for (int v = 0; v < s.n(); ++v) codes.insert(codes.end(), s.column(v).codes.begin(), s.column(v).codes.end());
                const auto& weights = s.table().weights;
                return std::pair(to_numpy(std::move(codes), {std::size_t(s.n()), weights.size()}), to_numpy(weights));
            },
            "Codes uint16 [n, M] of the different rows, and how often each of them occurs, int32 [M].")
        .def(
            "over",
            [](const DiscreteScore& s, const std::vector<int>& nodes) {
                require_different(nodes, s.n());
                return s.over(nodes);
            },
            "nodes"_a)
        .def("__getstate__", state_of)
        .def("__setstate__", [](DiscreteScore& s, std::tuple<ScoreKind, Codes, std::vector<int>, Rungs, std::size_t,
                                                             std::size_t, std::vector<int>> state) {
            const auto& [kind, codes, arities, rungs, memory, rung, nodes] = state;
            require(rung < rungs.size(), "there is no such row weight");
            const DiscreteScore whole(counted<std::uint16_t>(kind, codes, arities, rungs, memory), rung);
            require_different(nodes, whole.n());
            new (&s) DiscreteScore(whole.over(nodes));
        }, "state"_a.noconvert());
}

using Matrix = Array<double, 2>;
using Vector = Array<double, 1>;

std::vector<double> copy_of(const auto& array) { return {array.data(), array.data() + array.size()}; }

void require_sizes(const Matrix& values, const Vector& constant, const Vector& exponent, const char* name) {
    const std::size_t n = values.shape(0);
    require(constant.shape(0) == n + 1 && exponent.shape(0) == n + 1, "constant and exponent must be [n + 1]");
    require_finite({values.data(), values.size()}, name);
    require_finite(span_of(constant), "constant");
    require_finite(span_of(exponent), "exponent");
}

void make_gaussian(GaussianScore* self, const Matrix& gram, const Vector& constant, const Vector& exponent) {
    require(gram.shape(1) == gram.shape(0), "gram must be [n, n]");
    require_sizes(gram, constant, exponent, "gram");
    new (self) GaussianScore(CrossProducts(copy_of(gram), int(gram.shape(0))), copy_of(constant), copy_of(exponent));
}

/// columns: [n, rows], centred.
GaussianScore gaussian_of_rows(const Matrix& columns, const Vector& constant, const Vector& exponent) {
    require(columns.shape(1) > 0, "there must be a row");
    require_sizes(columns, constant, exponent, "columns");
    const int n = int(columns.shape(0)), rows = int(columns.shape(1));
    return {CrossProducts(copy_of(columns), n, rows), copy_of(constant), copy_of(exponent)};
}

auto matrix_of(const CrossProducts& gram) {
    const std::size_t n = gram.n();
    std::vector<double> entries;
    entries.reserve(n * n);
    for (int u = 0; u < gram.n(); ++u)
        for (int v = 0; v < gram.n(); ++v) entries.push_back(gram(u, v));
    return to_numpy(std::move(entries), {n, n});
}

nb::tuple state_of(const GaussianScore& s) {
    const auto values = s.gram().values();
    const std::size_t n = s.n(), rows = s.gram().rows();
    return nb::make_tuple(to_numpy(std::vector(values.begin(), values.end()), {n, rows ? rows : n}),
                          to_numpy(s.constant()), to_numpy(s.exponent()), rows > 0);
}

void bind_gaussian(nb::module_& m) {
    nb::class_<GaussianScore, Score>(m, "GaussianScore")
        .def("__init__", make_gaussian, "gram"_a.noconvert(), "constant"_a.noconvert(), "exponent"_a.noconvert(),
             "J(A) = constant[|A|] - exponent[|A|] ln det gram[A, A].")
        .def_static("of_rows", &gaussian_of_rows, "columns"_a.noconvert(), "constant"_a.noconvert(),
                    "exponent"_a.noconvert(),
                    "The same of the cross products of centred columns [n, rows], divided by the number of rows; "
                    "each is computed when it is asked for.")
        .def_prop_ro("gram", [](const GaussianScore& s) { return matrix_of(s.gram()); }, nb::rv_policy::automatic)
        .def_prop_ro("constant", [](const GaussianScore& s) { return to_numpy(s.constant()); }, nb::rv_policy::automatic)
        .def_prop_ro("exponent", [](const GaussianScore& s) { return to_numpy(s.exponent()); }, nb::rv_policy::automatic)
        .def(
            "over",
            [](const GaussianScore& s, const std::vector<int>& nodes) {
                require_different(nodes, s.n());
                return s.over(nodes);
            },
            "nodes"_a)
        .def("__getstate__", [](const GaussianScore& s) { return state_of(s); })
        .def("__setstate__", [](GaussianScore& s, std::tuple<Matrix, Vector, Vector, bool> state) {
            const auto& [values, constant, exponent, is_of_rows] = state;
            if (is_of_rows)
                new (&s) GaussianScore(gaussian_of_rows(values, constant, exponent));
            else
                make_gaussian(&s, values, constant, exponent);
        }, "state"_a.noconvert());
}

void require_family(const Score& s, int y, const std::vector<int>& parents, std::span<const int> xs = {});

std::shared_ptr<const Blocks> blocks_of(const Matrix& covariance, const std::vector<int>& widths) {
    const std::size_t all = covariance.shape(0);
    std::size_t sum = 0;
    for (int width : widths) {
        require(0 <= width && width <= 65535, "a variable has 0 to 65535 columns, not ", width);
        sum += width;
    }
    require(covariance.shape(1) == all && sum == all, "the covariance must have the columns of all variables");
    require_finite({covariance.data(), covariance.size()}, "covariance");
    return std::make_shared<const Blocks>(std::span(covariance.data(), covariance.size()), widths);
}

/// rungs: (rows with their weight, penalty of a parameter)
std::vector<MixedScore> mixed_scores(const Matrix& covariance, const std::vector<int>& widths, const Rungs& rungs,
                                     std::size_t memory) {
    require(!rungs.empty(), "there must be a row weight");
    const auto blocks = blocks_of(covariance, widths);
    std::vector<MixedScore> scores;
    for (auto [rows, penalty] : rungs) {
        require(rows >= 1 && std::isfinite(rows) && penalty >= 0 && std::isfinite(penalty),
                "there must be at least 1 row, and a finite penalty of at least 0");
        if (scores.empty())
            scores.emplace_back(blocks, BlockRung{rows, penalty}, memory);
        else
            scores.push_back(scores[0].at(BlockRung{rows, penalty}));
    }
    return scores;
}

void bind_mixed(nb::module_& m) {
    nb::class_<MixedScore, Score>(m, "MixedScore")
        .def_static("rungs", mixed_scores, "covariance"_a.noconvert(), "widths"_a, "rungs"_a, "memory"_a,
                    "A score for each (rows with their weight, penalty); they share what is factorised.")
        .def_prop_ro("ranks",
                     [](const MixedScore& s) {
                         std::vector<std::int64_t> ranks;
                         for (int v = 0; v < s.n(); ++v) ranks.push_back(s.rank(v));
                         return to_numpy(std::move(ranks));
                     }, nb::rv_policy::automatic, "Of each variable's block, int64 [n].")
        .def(
            "refuses",
            [](MixedScore& s, int y, const std::vector<int>& parents) {
                require_family(s, y, parents);
                return s.refuses(y, parents);
            },
            "y"_a, "parents"_a, "Whether a member of the family is determined by the others.")
        .def(
            "over",
            [](const MixedScore& s, const std::vector<int>& nodes) {
                require_different(nodes, s.n());
                return s.over(nodes);
            },
            "nodes"_a)
        .def("__getstate__",
             [](const MixedScore& s) {
                 const Blocks& blocks = *s.blocks();
                 std::vector<int> ranks;
                 for (int v = 0; v < blocks.n(); ++v) ranks.push_back(blocks.rank(v));
                 const std::size_t all = blocks.rank();
                 return nb::make_tuple(to_numpy(blocks.correlations(), {all, all}), ranks, blocks.log_variances(),
                                       s.rung().rows, s.rung().penalty, s.memory(), s.nodes());
             })
        .def("__setstate__", [](MixedScore& s, std::tuple<Matrix, std::vector<int>, std::vector<double>, double, double,
                                                          std::size_t, std::vector<int>> state) {
            auto& [matrix, ranks, logs, rows, penalty, memory, nodes] = state;
            const std::size_t all = matrix.shape(0);
            std::size_t sum = 0;
            for (int rank : ranks) {
                require(rank >= 0, "a rank must be at least 0");
                sum += rank;
            }
            require(matrix.shape(1) == all && sum == all && logs.size() == ranks.size(),
                    "the correlations must have the columns of all variables");
            require_finite({matrix.data(), matrix.size()}, "correlations");
            require_finite(logs, "logarithms");
            require(rows >= 1 && std::isfinite(rows) && penalty >= 0 && std::isfinite(penalty),
                    "there must be at least 1 row, and a finite penalty of at least 0");
            require_different(nodes, int(ranks.size()));
            auto blocks = std::make_shared<const Blocks>(std::vector(matrix.data(), matrix.data() + matrix.size()), ranks,
                                                         std::move(logs));
            const MixedScore whole(std::move(blocks), {rows, penalty}, memory);
            new (&s) MixedScore(whole.over(nodes));
        }, "state"_a.noconvert());
}

/// P ∪ {y} and all xs must fit together: a set has no member twice.
void require_family(const Score& s, int y, const std::vector<int>& parents, std::span<const int> xs) {
    std::vector<int> seen(s.n());
    for (const auto part : {std::span<const int>(&y, 1), std::span<const int>(parents)}) {
        require_nodes(part, s.n());
        for (int v : part) require(!seen[v]++, "a node and its parents must be different");
    }
    require_nodes(xs, s.n());
    for (int x : xs) require(!seen[x], "an addition must not be in the family");
}

using Gone = Array<bool, 2>;

nb::ndarray<nb::numpy, std::uint16_t> drawn_missing(const Codes& codes, const Gone& gone, std::vector<int> arities,
                         std::vector<std::vector<int>> parents, double ess, int fits, int sweeps,
                         std::uint64_t seed) {
    const std::size_t n = codes.shape(0), rows = codes.shape(1);
    require(gone.shape(0) == n && gone.shape(1) == rows, "gone must have the shape of the codes");
    require(rows > 0, "there must be at least 1 row");
    require(arities.size() == n && parents.size() == n, "there must be an arity and parents for each variable");
    require(ess > 0 && std::isfinite(ess), "an equivalent sample size must be finite and above 0");
    require(0 <= fits && fits <= 1000, "the number of fits must be from 0 to 1000, not ", fits);
    require(0 <= sweeps && sweeps <= 1000, "the number of sweeps must be from 0 to 1000, not ", sweeps);
    for (std::size_t v = 0; v < n; ++v) {
        require(1 <= arities[v] && arities[v] <= 65535, "a variable has 1 to 65535 states");
        require(loops::largest(std::span(codes.data() + v * rows, rows)) < arities[v],
                "a code must be below its variable's arity");
        require_different(parents[v], int(n));
        require(std::ranges::find(parents[v], int(v)) == parents[v].end(), "no variable is a parent of its own");
    }
    Incomplete given{rows, std::move(arities), {codes.data(), codes.data() + codes.size()},
                           {gone.data(), gone.data() + gone.size()}, std::move(parents)};
    std::vector<std::uint16_t> found;
    {
        nb::gil_scoped_release released;
        found = draw_missing(std::move(given), ess, fits, sweeps, seed);
    }
    return to_numpy(std::move(found), {n, rows});
}

nb::ndarray<nb::numpy, double> drawn_missing_mixed(const Matrix& table, const Gone& gone, std::vector<int> states,
                         std::vector<std::vector<int>> blankets, int fits, int sweeps, std::uint64_t seed) {
    const std::size_t n = table.shape(0), rows = table.shape(1);
    require(gone.shape(0) == n && gone.shape(1) == rows, "gone must have the shape of the table");
    require(rows > 0, "there must be at least 1 row");
    require(states.size() == n && blankets.size() == n, "there must be states and a blanket for each variable");
    require(0 <= fits && fits <= 1000, "the number of fits must be from 0 to 1000, not ", fits);
    require(0 <= sweeps && sweeps <= 1000, "the number of sweeps must be from 0 to 1000, not ", sweeps);
    require_finite({table.data(), table.size()}, "cells");
    for (std::size_t v = 0; v < n; ++v) {
        require(0 <= states[v] && states[v] <= 65535, "a category has 1 to 65535 states, a number 0");
        if (states[v])
            for (std::size_t r = 0; r < rows; ++r) {
                const double code = table.data()[v * rows + r];
                require(0 <= code && code < states[v] && code == std::floor(code),
                        "a code must be a whole number below its variable's states");
            }
        require_different(blankets[v], int(n));
        require(std::ranges::find(blankets[v], int(v)) == blankets[v].end(), "no variable is in its own blanket");
    }
    IncompleteMixed given{rows, std::move(states), {table.data(), table.data() + table.size()},
                          {gone.data(), gone.data() + gone.size()}, std::move(blankets)};
    std::vector<double> found;
    {
        nb::gil_scoped_release released;
        found = draw_missing_mixed(std::move(given), fits, sweeps, seed);
    }
    return to_numpy(std::move(found), {n, rows});
}

}  // namespace

void scores(nb::module_& m) {
    nb::enum_<ScoreKind>(m, "ScoreKind")
        .value("bdeu", ScoreKind::bdeu)
        .value("information", ScoreKind::information)
        .value("gaussian", ScoreKind::gaussian)
        .value("mixed", ScoreKind::mixed);
    nb::class_<Score>(m, "Score")
        .def_prop_ro("kind", &Score::kind)
        .def_prop_ro("n", &Score::n)
        .def_prop_ro("counted", &Score::counted, "How many sets were counted so far.")
        .def_prop_ro("emptied", &Score::emptied, "How often the store of counted sets was emptied.")
        .def_prop_ro("threads", &Score::threads)
        .def(
            "use_threads",
            [](Score& s, int threads) {
                require_threads(threads);
                unlocked([&] { s.use_threads(threads); });
            },
            "threads"_a, "Share the counting of sets among so many threads; the values have the same bytes.")
        .def(
            "joint",
            [](Score& s, const std::vector<int>& members) {
                if (members.empty()) return s.joint(members);
                require_nodes(members, s.n());
                require_family(s, members[0], {members.begin() + 1, members.end()});
                return unlocked([&] { return s.joint(members); });
            },
            "members"_a, "J of a set.")
        .def(
            "local",
            [](Score& s, int y, const std::vector<int>& parents) {
                require_family(s, y, parents);
                return unlocked([&] { return s.local(y, parents); });
            },
            "y"_a, "parents"_a, "s(y, P).")
        .def(
            "local_with",
            [](Score& s, int y, const std::vector<int>& parents, const std::vector<int>& xs) {
                require_family(s, y, parents, xs);
                std::vector<double> scores(xs.size());
                {
                    nb::gil_scoped_release released;
                    s.local_with(y, parents, xs, scores);
                }
                return to_numpy(std::move(scores));
            },
            "y"_a, "parents"_a, "xs"_a, "s(y, P ∪ {x}) for each of the xs.");
    m.def("draw_missing", &drawn_missing, "codes"_a.noconvert(), "gone"_a.noconvert(), "arities"_a, "parents"_a,
          "ess"_a, "fits"_a, "sweeps"_a, "seed"_a, "The codes [n, rows] after Gibbs sweeps over the missing cells.");
    m.def("draw_missing_mixed", &drawn_missing_mixed, "table"_a.noconvert(), "gone"_a.noconvert(), "states"_a,
          "blankets"_a, "fits"_a, "sweeps"_a, "seed"_a,
          "The table [n, rows] of numbers and codes after Gibbs sweeps over the missing cells.");
    m.def("logarithm", &logarithm, "x"_a, "ln x, the same bytes on every machine.");
    m.def("exponential", &exponential, "x"_a, "e^x.");
    m.def("log_gamma", [](double x) {
        require(x > 0, "ln Γ is for numbers above 0");
        return log_gamma(x);
    }, "x"_a, "ln Γ(x) for x > 0.");
    m.def("logarithms", [](const Vector& xs) {
        std::vector<double> found(xs.data(), xs.data() + xs.size());
        for (double& x : found) x = logarithm(x);
        return to_numpy(std::move(found));
    }, "xs"_a.noconvert(), "ln x of each, [n].");
    bind_discrete(m);
    bind_gaussian(m);
    bind_mixed(m);
}

}  // namespace fedbn::bindings
