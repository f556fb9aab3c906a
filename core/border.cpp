#include "border.hpp"

#include <time.h>

#include <chrono>

namespace fedbn {

namespace {

NodeSets copy_of(const Word* words, std::size_t rows, std::size_t width, int n) {
    require(width == std::size_t(words_for(n)),
            "sets of ", n, " nodes take ", words_for(n), " words, not ", width);
    NodeSets sets(static_cast<int>(rows), n);
    std::copy_n(words, rows * width, sets.bits().data());
    for (int v = 0; v < sets.size(); ++v)
        require(is_subset(std::as_const(sets)[v], AllBelow{n}), "a set has members that are no nodes");
    return sets;
}

}  // namespace

void refuse(std::initializer_list<Part> message) {
    std::string whole;
    for (const auto& part : message) whole += part.number ? std::to_string(*part.number) : std::string(part.text);
    throw ArgumentError(whole);
}

NodeSets sets_of(const Bits& bits, int n) { return copy_of(bits.data(), bits.shape(0), bits.shape(1), n); }

NodeSets square_sets_of(const Bits& bits) { return sets_of(bits, static_cast<int>(bits.shape(0))); }

nb::ndarray<nb::numpy, Word> to_numpy(const NodeSets& sets) {
    const auto bits = sets.bits();
    return to_numpy(std::vector<Word>(bits.begin(), bits.end()),
                    {std::size_t(sets.size()), std::size_t(sets.words())});
}

Dag acyclic(NodeSets parents) {
    auto children = parents.transposed();
    Dag dag{std::move(parents), std::move(children)};
    require(topological_order(dag).size() == std::size_t(dag.n()), "the edges must not form a cycle");
    return dag;
}

Dag dag_of(const Bits& parents) { return acyclic(square_sets_of(parents)); }

Knowledge knowledge_of(int n, const Bits& forbidden, const Bits& required) {
    for (const auto* edges : {&forbidden, &required})
        require(int(edges->shape(0)) == n, "the knowledge must be of the same ", n, " variables");
    return {square_sets_of(forbidden), square_sets_of(required)};
}

Knowledge knowledge_of(int n, const std::optional<Bits>& forbidden, const std::optional<Bits>& required) {
    require(forbidden.has_value() == required.has_value(), "knowledge is given whole or not at all");
    return forbidden ? knowledge_of(n, *forbidden, *required) : nothing_known(n);
}

std::vector<Dag> dags_of(const ManyBits& parents) {
    std::vector<Dag> dags;
    const std::size_t n = parents.shape(1), words = parents.shape(2);
    for (std::size_t i = 0; i < parents.shape(0); ++i)
        dags.push_back(acyclic(copy_of(parents.data() + i * n * words, n, words, static_cast<int>(n))));
    return dags;
}

NodeSets observed_of(const ManyBits& parents, const std::optional<Bits>& observed) {
    const int n = static_cast<int>(parents.shape(1)), r = static_cast<int>(parents.shape(0));
    NodeSets sets(r, n);
    if (!observed) {
        for (int i = 0; i < r; ++i) sets[i] = AllBelow{n};
        return sets;
    }
    require(int(observed->shape(0)) == r, "observed nodes for each of the DAGs");
    sets = sets_of(*observed, n);
    for (int i = 0; i < r; ++i)
        for (int v = 0; v < n; ++v) {
            const std::size_t words = parents.shape(2);
            const SetView row(parents.data() + (std::size_t(i) * n + v) * words, int(words));
            const SetView of = std::as_const(sets)[i];
            require(is_subset(row, of) && (of.has(v) || !any(row)), "a DAG has arcs at nodes that it does not observe");
        }
    return sets;
}

namespace {

/// Some loops ask every microsecond: where there is a clock that ticks with the kernel, it takes a tenth of the time.
std::int64_t milliseconds() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
#else
    using namespace std::chrono;
    return duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
#endif
}

}  // namespace

void notice_interrupt() {
    static thread_local std::int64_t next = 0;
    if (milliseconds() < next) return;
    nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    next = milliseconds() + 100;
}

}  // namespace fedbn
