// Knowledge and the order of a fusion.
#pragma once

#include "graphs/knowledge.hpp"

namespace fedbn {

/// Which nodes an order must put after which, and what a union under such an order keeps.
///
/// At first these are what the knowledge itself puts in order: required edges and tiers. A union that
/// has a forbidden arc a -> b, while b -> a is allowed, demands that b precedes a in the next order,
/// unless that closes a cycle. So an order is bound no further than some union needs.
class Precedence {
public:
    /// after: row v has what must come after v; without a cycle.
    Precedence(Knowledge known, const NodeSets& after);
    /// Row v has what must come after v, closed.
    const NodeSets& after() const { return after_; }
    /// Demand what the parents in a union need; whether anything is new.
    bool settle(const NodeSets& parents);
    /// The parents without the forbidden and with the required ones.
    NodeSets kept(const NodeSets& parents) const;

private:
    bool demand(int u, int v);

    Knowledge known_;
    NodeSets after_;
};

}  // namespace fedbn
