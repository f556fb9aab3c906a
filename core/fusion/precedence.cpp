#include "fusion/precedence.hpp"

namespace fedbn {

Precedence::Precedence(Knowledge known, const NodeSets& after)
    : known_(std::move(known)), after_(after.size(), after.size()) {
    for (int u = 0; u < after.size(); ++u)
        for (int v : members(after[u])) demand(u, v);
}

/// u before v, and all that precedes u before all that follows v.
bool Precedence::demand(int u, int v) {
    if (u == v || after_[v].has(u) || after_[u].has(v)) return false;
    NodeSet follow = after_[v];
    follow.insert(v);
    for (int w = 0; w < after_.size(); ++w)
        if (w == u || after_[w].has(u)) after_[w] |= follow;
    return true;
}

bool Precedence::settle(const NodeSets& pa) {
    bool is_new = false;
    for (int b = 0; b < pa.size(); ++b)
        for (int a : members(pa[b] & known_.forbidden[b]))
            if (!known_.forbidden[a].has(b)) is_new |= demand(b, a);
    return is_new;
}

NodeSets Precedence::kept(const NodeSets& pa) const {
    NodeSets out = pa;
    for (int v = 0; v < pa.size(); ++v) {
        out[v] -= known_.forbidden[v];
        out[v] |= known_.required[v];
    }
    return out;
}

}  // namespace fedbn
