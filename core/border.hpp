// The border to Python: numpy arrays in, values out, errors as exceptions of fedbn.errors.
//
// Bits: a set of nodes travels as a row of uint64 words (bit j of word j >> 6); n sets are an array
// [n, W] with W = max(1, ceil(n / 64)). What a kernel takes must fit together: `require` says what
// must hold, and Python sees an ArgumentError. Nothing is converted: declare every array argument
// with `.noconvert()`.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "arguments.hpp"
#include "graphs/dag.hpp"
#include "graphs/knowledge.hpp"
#include "graphs/node_set.hpp"
#include "interrupt.hpp"

namespace nb = nanobind;

namespace fedbn {

template <class T, std::size_t Dimensions>
using Array = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
using Bits = Array<Word, 2>;
using ManyBits = Array<Word, 3>;

template <class T>
std::span<const T> span_of(const Array<T, 1>& array) {
    return {array.data(), array.shape(0)};
}

/// Whole numbers so small that sums of `times` of them stay exact.
inline void require_summable(std::span<const std::int64_t> values, std::size_t times, const char* name) {
    const std::int64_t below = (std::int64_t{1} << 62) / std::int64_t(std::max<std::size_t>(1, times));
    for (std::int64_t value : values)
        if (!(-below < value && value < below))
            throw ArgumentError(std::string(name) + " must be below " + std::to_string(below) +
                                " so that their sums are exact, not " + std::to_string(value));
}
/// Weights of DAGs over n nodes: above 0, and sums of weights times cuts or costs are exact.
inline void require_weights(std::span<const std::int64_t> weights, std::size_t n) {
    const std::int64_t below = (std::int64_t{1} << 62) / std::int64_t(std::max<std::size_t>(1, n * n));
    std::int64_t sum = 0;
    for (std::int64_t weight : weights) {
        require_at_least(1, weight, "a weight");
        if (weight >= below || (sum += weight) >= below)
            throw ArgumentError("the sum of the weights times the square of the number of nodes must be below 2^62");
    }
}
/// A graph of which nothing but the number of nodes is given.
inline void require_number_of_nodes(std::int64_t n) {
    constexpr std::int64_t kMost = 1 << 16;
    require(0 <= n && n <= kMost, "a graph has at most ", kMost, " nodes");
}
/// Arcs (parent, child) [m, 2] among n nodes.
inline void require_arcs(const Array<std::int32_t, 2>& arcs, std::int64_t n) {
    require(arcs.shape(1) == 2, "an arc has two nodes");
    for (std::size_t k = 0; k < arcs.shape(0); ++k) {
        require(0 <= arcs(k, 0) && arcs(k, 0) < n && 0 <= arcs(k, 1) && arcs(k, 1) < n, "nodes are numbers below ", n);
        require(arcs(k, 0) != arcs(k, 1), "an arc has two nodes");
    }
}
/// No NaN among the numbers.
inline void require_numbers(std::span<const double> values, const char* name) {
    for (double value : values)
        if (std::isnan(value)) throw ArgumentError(std::string(name) + " must be numbers, not nan");
}
inline void require_finite(std::span<const double> values, const char* name) {
    for (double value : values)
        if (!std::isfinite(value))
            throw ArgumentError(std::string(name) + " must be finite, not " + std::to_string(value));
}

/// A new numpy array that owns `values`, in the shape given.
template <class T>
auto to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner);
}
template <class T>
auto to_numpy(std::vector<T> values) {
    const std::size_t size = values.size();
    return to_numpy(std::move(values), {size});
}

/// Sets of nodes below n, from rows of words; their bits at n and beyond must be 0.
NodeSets sets_of(const Bits& bits, int n);
/// As many sets as there are nodes: rows of a square matrix of bits.
NodeSets square_sets_of(const Bits& bits);
nb::ndarray<nb::numpy, Word> to_numpy(const NodeSets& sets);

/// A DAG from its parents as bits [n, W], checked to be acyclic.
Dag dag_of(const Bits& parents);
/// A DAG from its parents, checked to be acyclic.
Dag acyclic(NodeSets parents);
/// Several DAGs over the same nodes from their parents, uint64 [r, n, W].
std::vector<Dag> dags_of(const ManyBits& parents);
/// The nodes that each of several DAGs is about, from rows [r, W]; all of them where nothing is given.
/// No arc is at another node.
NodeSets observed_of(const ManyBits& parents, const std::optional<Bits>& observed);

/// Knowledge of n nodes: row y has x for x -> y.
Knowledge knowledge_of(int n, const Bits& forbidden, const Bits& required);
/// The same, given whole or not at all.
Knowledge knowledge_of(int n, const std::optional<Bits>& forbidden, const std::optional<Bits>& required);

/// compute() without the interpreter's lock.
template <class Compute>
auto unlocked(Compute compute) {
    nb::gil_scoped_release released;
    return compute();
}

/// Where each of some consecutive groups of `total` things begins, and the end of the last.
template <class T>
std::vector<T> starts_of(const Array<std::int64_t, 1>& array, std::size_t total) {
    const auto starts = span_of(array);
    require(!starts.empty() && starts.front() == 0 && std::size_t(starts.back()) == total &&
                std::is_sorted(starts.begin(), starts.end()),
            "groups must begin at 0, go upwards and end at ", total);
    return {starts.begin(), starts.end()};
}

// One for each room: what Python can call of it.
namespace bindings {
void graphs(nb::module_& m);
void scores(nb::module_& m);
void search(nb::module_& m);
void fusion(nb::module_& m);
void consensus(nb::module_& m);
void families(nb::module_& m);
void cg_dca(nb::module_& m);
void credible(nb::module_& m);
void secure(nb::module_& m);
void privacy(nb::module_& m);
}  // namespace bindings

}  // namespace fedbn
