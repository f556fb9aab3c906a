#include "consensus/min_cut.hpp"

#include <algorithm>

namespace fedbn {

MinCut::MinCut(int n)
    : n_(n),
      given_(n),
      free_(n),
      left_(n),
      inside_(n),
      looked_at_(n),
      reach_(n),
      fresh_(n),
      rows_(n, n),
      used_(n, n),
      have_(n),
      origin_(n),
      queue_(n) {}

/// Find out which of the nodes are in the ancestral set.
void MinCut::look_at(const Input& g, SetView nodes) {
    if (is_subset(nodes, looked_at_)) return;
    for (int v : members(nodes - looked_at_)) {
        const SetView below = g.descendants(v);
        if (any(below & given_) || (is_limited_ && count(below & free_) > more_)) inside_.insert(v);
    }
    looked_at_ |= nodes;
}

/// The row of v in the moral graph of the ancestral subgraph, without S.
void MinCut::fetch_row(const Input& g, int v) {
    have_[v] = 1;
    touched_.push_back(v);
    const auto row = rows_[v];
    const SetView children = g.dag().ch[v];
    look_at(g, children);
    if (is_subset(children, inside_)) {
        row = g.moral(v) & left_;
        return;
    }
    fresh_ = children & inside_;
    row = g.dag().pa[v] | fresh_;
    for (int c : members(fresh_)) row |= g.dag().pa[c];
    row.erase(v);
    row &= left_;
}

/// The rows of x and y; false if one of them is empty.
bool MinCut::fetch_ends(const Input& g) {
    touched_.clear();
    inside_ = given_, looked_at_ = given_;
    fetch_row(g, x_);
    if (!any(rows_[x_])) return false;
    fetch_row(g, y_);
    return any(rows_[y_]);
}

/// Send one unit along the path from y to x that `origin_` holds.
void MinCut::use_path() {
    for (int c = x_; c != y_; c = origin_[c]) {
        const int v = origin_[c];
        if (used_[c].has(v))
            used_[c].erase(v);
        else
            used_[v].insert(c);
    }
}

/// One augmenting path from y to x in the residual graph; else `reach_` is what y reaches.
bool MinCut::augment(const Input& g) {
    reach_.clear();
    reach_.insert(y_);
    queue_[0] = y_;
    for (int start = 0, end = 1; start < end; ++start) {
        const int v = queue_[start];
        if (!have_[v]) fetch_row(g, v);
        fresh_ = rows_[v] - used_[v] - reach_;
        reach_ |= fresh_;
        for (int c : members(fresh_)) {
            origin_[c] = v;
            queue_[end++] = c;
        }
        if (reach_.has(x_)) return true;
    }
    return false;
}

/// One unit over the edge x - y and over every common neighbour; how many that are.
int MinCut::send_along_short_paths(const Input& g) {
    int value = 0;
    if (rows_[y_].has(x_)) {
        ++value;
        used_[y_].insert(x_);
    }
    for (int c : members(rows_[y_] & rows_[x_])) {
        used_[y_].insert(c);
        fetch_row(g, c);
        used_[c].insert(x_);
        ++value;
    }
    return value;
}

/// No cut is larger than the number of neighbours of x or y: where one of these equals what is known to
/// be the least, no flow is needed.
int MinCut::find_size(const Input& g, int least, int most) {
    int value = 0;
    if (fetch_ends(g)) {
        most = std::min({most, count(rows_[x_]), count(rows_[y_])});
        value = most;
        if (most > least) {
            value = std::min(send_along_short_paths(g), most);
            for (; value < most && augment(g); ++value) use_path();
        }
    }
    forget_rows();
    return value;
}

int MinCut::find(const Input& g) {
    int value = 0;
    if (fetch_ends(g))
        for (value = send_along_short_paths(g); augment(g); ++value) use_path();
    forget_rows();
    return value;
}

/// No row is fetched, no edge used; `touched_` stays.
void MinCut::forget_rows() {
    for (int v : touched_) {
        have_[v] = 0;
        used_[v].clear();
    }
}

std::vector<int> MinCut::path(const Input& g) {
    std::vector<int> path;
    if (fetch_ends(g) && augment(g)) {
        for (int c = x_; c != y_; c = origin_[c]) path.push_back(c);
        path.push_back(y_);
    }
    forget_rows();
    return path;
}

std::vector<Arc> MinCut::arcs(const Input& g) const {
    const NodeSet over = left_ - reach_;
    std::vector<Arc> found;
    for (int v : members(reach_)) {
        const auto up = g.dag().pa[v] & over;
        const auto down = g.dag().ch[v] & inside_ & over;
        for (int w = 0; w < up.words(); ++w) {  // word by word, in the order of recorded paths
            for (Word word = up.word(w); word; word &= word - 1) found.push_back({64 * w + std::countr_zero(word), v});
            for (Word word = down.word(w); word; word &= word - 1) found.push_back({v, 64 * w + std::countr_zero(word)});
        }
    }
    return found;
}

}  // namespace fedbn
