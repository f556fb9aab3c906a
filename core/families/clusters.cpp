#include "families/clusters.hpp"

#include <numeric>

#include "infinity.hpp"
#include "interrupt.hpp"

namespace fedbn {

namespace {

constexpr double kFall = 1e-9;  // by less a side does not fall

void flip(NodeSet& set, int v) {
    if (set.has(v))
        set.erase(v);
    else
        set.insert(v);
}

double left_side(const Columns& columns, std::span<const double> x, const NodeSet& cluster, int k) {
    double total = 0;
    for (std::size_t f = 0; f < x.size(); ++f)
        if (columns.covers(int(f), cluster, k)) total += x[f];
    return total;
}

/// Change the cluster node by node while its left side falls; returns it, infinite if it is too small.
double grow(const Columns& columns, std::span<const double> x, int k, NodeSet& cluster) {
    int size = count(cluster);
    double side = size > k ? left_side(columns, x, cluster, k) : kInfinity;
    for (int changes = 0; changes < 3 * columns.n; ++changes) {
        notice_interrupt();
        double best = side - kFall;
        int best_node = -1;
        for (int v = 0; v < columns.n; ++v) {
            if (size - 1 <= k && cluster.has(v)) continue;
            flip(cluster, v);
            const double value = left_side(columns, x, cluster, k);
            flip(cluster, v);
            if (value < best || (size <= k && best_node < 0)) {
                best = value;
                best_node = v;
            }
        }
        if (best_node < 0) break;
        flip(cluster, best_node);
        size += cluster.has(best_node) ? 1 : -1;
        side = size > k ? best : kInfinity;
    }
    return side;
}

/// One walk, from a seed.
class TabuWalk {
public:
    TabuWalk(const Columns& columns, std::span<const double> x, int k, const SetView& seed)
        : columns_(columns), x_(x), k_(k), cluster_(seed), size_(count(seed)), gains_(columns.n),
            last_(columns.n, -columns.n) {
        for (std::size_t f = 0; f < x.size(); ++f) met_.push_back(count(columns.parents[int(f)] & cluster_));
    }

    /// The cluster of least left side is put into `best`; returns its side.
    double run(int steps, const SetRef& best) {
        double least = kInfinity;
        for (int step = 0; step < steps; ++step) {
            notice_interrupt();
            const double side = find_gains();
            if (side < least - kFall) {
                least = side;
                best = cluster_;
            }
            const int v = best_flip(step);
            if (v < 0) break;
            flip(cluster_, v);
            const int change = cluster_.has(v) ? 1 : -1;
            size_ += change;
            for (std::size_t f = 0; f < x_.size(); ++f)
                if (columns_.parents[int(f)].has(v)) met_[f] += change;
            last_[v] = step;
        }
        return least;
    }

private:
    /// What the left side gains when each node enters or leaves; returns the left side.
    double find_gains() {
        std::fill(gains_.begin(), gains_.end(), 0.0);
        double side = 0;
        for (std::size_t f = 0; f < x_.size(); ++f) {
            const int v = columns_.node[f];
            const bool inside = cluster_.has(v);
            if (met_[f] < k_) {
                if (inside) side += x_[f];
                gains_[v] += inside ? -x_[f] : x_[f];
            }
            if (!inside) continue;
            const auto parents = columns_.parents[int(f)];
            if (met_[f] == k_)
                for (int p : members(parents & cluster_)) gains_[p] += x_[f];
            else if (met_[f] == k_ - 1)
                for (int p : members(parents - cluster_)) gains_[p] -= x_[f];
        }
        return side;
    }

    int best_flip(int step) const {
        int best = -1;
        for (int v = 0; v < columns_.n; ++v) {
            if (step - last_[v] <= columns_.n / 4 || (cluster_.has(v) && size_ - 1 <= k_)) continue;
            if (best < 0 || gains_[v] < gains_[best]) best = v;
        }
        return best;
    }

    const Columns& columns_;
    std::span<const double> x_;
    int k_;
    NodeSet cluster_;
    int size_;
    std::vector<double> gains_;
    std::vector<int> last_, met_;  // [node]: step of its last flip; [family]: parents in the cluster
};

}  // namespace

ReducedCosts reduced_costs(const Columns& columns, std::span<const double> cost, const NodeSets& clusters,
                           std::span<const double> duals) {
    std::vector<double> least(columns.n, kInfinity), price(cost.begin(), cost.end());
    for (std::size_t f = 0; f < price.size(); ++f) {
        const int v = columns.node[f];
        for (std::size_t c = 0; c < duals.size(); ++c)
            if (columns.covers(int(f), clusters[int(c)], 1)) price[f] -= duals[c];
        least[v] = std::min(least[v], price[f]);
    }
    for (std::size_t f = 0; f < price.size(); ++f) price[f] -= least[columns.node[f]];
    const double bound =
        std::accumulate(least.begin(), least.end(), 0.0) + std::accumulate(duals.begin(), duals.end(), 0.0);
    return {bound, std::move(least), std::move(price)};
}

Clusters grow_clusters(const Columns& columns, std::span<const double> x, const NodeSets& seeds, int k,
    double below) {
    std::vector<NodeSet> found;
    Clusters clusters;
    for (int s = 0; s < seeds.size(); ++s) {
        NodeSet cluster = seeds[s];
        const double side = grow(columns, x, k, cluster);
        const auto is_cluster = [&](const NodeSet& known) { return equal(known, cluster); };
        if (!(side < below) || std::any_of(found.begin(), found.end(), is_cluster)) continue;
        found.push_back(cluster);
        clusters.sides.push_back(side);
    }
    clusters.sets = NodeSets(int(found.size()), columns.n);
    for (std::size_t c = 0; c < found.size(); ++c) clusters.sets[int(c)] = found[c];
    return clusters;
}

Clusters walk_clusters(const Columns& columns, std::span<const double> x, const NodeSets& seeds, int k,
    int steps) {
    Clusters found{seeds, {}};
    for (int s = 0; s < seeds.size(); ++s) {
        notice_interrupt();
        found.sides.push_back(TabuWalk(columns, x, k, seeds[s]).run(steps, found.sets[s]));
    }
    return found;
}

}  // namespace fedbn
