// Whether an operator of the record may be applied: open semi-directed paths, knowledge.
#include "search/class_search.hpp"

namespace fedbn {

namespace {

constexpr std::size_t kPathNodes = 16;  // longer open paths are not kept

}  // namespace

/// What is left to test when an operator on record is to be used: an Insert must block all
/// semi-directed paths from y to x with NA_yx ∪ T, the Turn of y -> x with C ∪ Ne(x).
bool ClassSearch::is_valid(Operator& op) const {
    if (op.kind == Kind::remove || (op.kind == Kind::turn && graph_.cpdag.ne[op.y].has(op.x))) return true;
    if (is_path_open(op.path)) return false;
    op.path = find_path(op);
    const bool valid = op.path.empty();
    if (op.path.size() > kPathNodes) op.path.clear();
    return valid;
}

bool ClassSearch::is_path_open(const std::vector<int>& path) const {
    const auto& [pa, ch, ne] = graph_.cpdag;
    for (std::size_t i = 1; i < path.size(); ++i)
        if (!ch[path[i - 1]].has(path[i]) && !ne[path[i - 1]].has(path[i])) return false;
    return !path.empty();
}

/// A shortest semi-directed path from y to x around what blocks it, or nothing. The edge y -> x
/// itself does not count for a Turn.
std::vector<int> ClassSearch::find_path(const Operator& op) const {
    const auto& [pa, ch, ne] = graph_.cpdag;
    NodeSet unseen = AllBelow{graph_.n()} - op.set - op.y;
    if (op.kind == Kind::insert)
        unseen -= graph_.na(op.y, op.x);
    else
        unseen -= ne[op.x];
    std::vector<int> before(graph_.n()), queue{op.y};
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const int u = queue[head];
        for (int v : members((ch[u] | ne[u]) & unseen)) {
            if (v == op.x && u == op.y && op.kind == Kind::turn) continue;
            unseen.erase(v);
            before[v] = u;
            queue.push_back(v);
            if (v != op.x) continue;
            std::vector<int> path{v};
            while (path.back() != op.y) path.push_back(before[path.back()]);
            std::ranges::reverse(path);
            return path;
        }
    }
    return {};
}

/// Whether the class that an operator leads to has a member that satisfies the knowledge.
bool ClassSearch::is_permitted(const Operator& op) const {
    ClassGraph trial = graph_;
    if (!trial.apply(op)) return true;  // the step itself reports it
    return constrained_extension(trial.cpdag, *rules_.knowledge).has_value();
}

}  // namespace fedbn
