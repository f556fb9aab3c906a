// Keys of Markov equivalence classes inside one component.
//
// Two DAGs are equivalent iff they have the same skeleton and the same v-structures (Verma & Pearl 1990).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graphs/node_set.hpp"

namespace fedbn {

/// Equal for equivalent DAGs; different otherwise but for a 2^-128 chance.
struct ClassKey {
    std::uint64_t first = 0, second = 0;
    void operator+=(const ClassKey& other) { first += other.first, second += other.second; }
};

/// The key of a DAG sums codes of its edges (undirected inside the component) and of its colliders
/// a -> c <- b with a or b inside: those with a, b not adjacent, or all with `shielded` (the coarser
/// count of Liao et al. 2019).
class ClassKeys {
public:
    /// The component's nodes, and for each of its families the node, and the parents over all variables.
    ClassKeys(std::span<const std::int64_t> nodes, std::span<const std::int64_t> node,
        const NodeSets& parents,
              bool shielded);

    /// Of the DAG with these families, one for each of the component's nodes in their order.
    ClassKey of(std::span<const std::int32_t> families);

private:
    struct Collider {  // unless `inside`, a node by its place, and `other` are adjacent
        int inside, other;
        ClassKey code;
    };
    struct Family {
        ClassKey always;
        std::vector<Collider> colliders;
        std::vector<int> inside;  // parents, by their place in the component
    };

    std::span<const std::int64_t> nodes_;
    const NodeSets& parents_;
    std::vector<Family> families_;
    NodeSets around_;  // [place]: the nodes adjacent to it
};

}  // namespace fedbn
