#include "fusion/union.hpp"

#include <algorithm>

namespace fedbn {

NodeSets arcs_of_quorum(std::span<const NodeSets* const> maps, std::span<const std::int64_t> members_of,
                        std::int64_t quorum, const NodeSets* observed) {
    const int n = maps[0]->size();
    NodeSets arcs(n, n);
    std::vector<std::int64_t> votes(n), voters(n, quorum);
    for (int v = 0; v < n; ++v) {
        if (quorum <= 1) {
            for (const NodeSets* map : maps) arcs[v] |= (*map)[v];
            continue;
        }
        std::ranges::fill(votes, 0);
        for (std::size_t i = 0; i < maps.size(); ++i)
            for (int p : members((*maps[i])[v])) votes[p] += members_of[i];
        if (observed) {
            std::ranges::fill(voters, 0);
            for (std::size_t i = 0; i < maps.size(); ++i)
                if (const SetView seen = (*observed)[int(i)]; seen.has(v))
                    for (int p : members(seen)) voters[p] += members_of[i];
        }
        for (int p = 0; p < n; ++p)
            if (votes[p] > 0 && votes[p] >= std::min(quorum, voters[p])) arcs[v].insert(p);
    }
    return arcs;
}

}  // namespace fedbn
