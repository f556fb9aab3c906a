#include "scores/score.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "elementary.hpp"

namespace fedbn {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Counted::Counted(ScoreKind kind, std::span<const std::uint16_t> codes, std::vector<int> arities,
                 std::vector<Rung> given, std::size_t memory)
    : kind(kind),
      rungs(std::move(given)),
      memory(memory),
      table(codes, arities, memory / 4),
      counter(table),
      terms(kind, table.all_rows, arities, rungs),
      store(table.n(), rungs.size(), memory / 2),
      signs(make_signs(table.n())) {}

DiscreteScore::Size DiscreteScore::Size::times(int arity) const {
    return {product * arity, logs + logarithm(double(arity))};
}

double DiscreteScore::Size::log() const { return product < 0x1p53 ? logarithm(product) : logs; }

DiscreteScore::DiscreteScore(std::shared_ptr<Counted> counted, std::size_t rung)
    : shared_(std::move(counted)), rung_(rung), nodes_(shared_->table.n()) {
    std::iota(nodes_.begin(), nodes_.end(), 0);
}

DiscreteScore DiscreteScore::over(std::span<const int> nodes) const {
    DiscreteScore part = *this;
    part.nodes_.clear();
    for (int v : nodes) part.nodes_.push_back(nodes_[v]);
    return part;
}

std::span<const int> DiscreteScore::columns_of(std::span<const int> members) {
    family_.clear();
    for (int v : members) family_.push_back(nodes_[v]);
    return family_;
}

double DiscreteScore::known(Key key) const {
    const double* values = shared_->store.find(key);
    return values ? values[rung_] : kMissing;
}

double DiscreteScore::keep(Key key, std::span<const std::int32_t> counts, Size size) {
    ++shared_->sets;
    const auto values = shared_->store.place(key);
    shared_->terms.joint(counts, size.log(), values);
    return values[rung_];
}

double DiscreteScore::joint_of_columns(std::span<const int> columns) {
    Key key;
    for (int v : columns) key = key ^ shared_->signs[v];
    if (const double value = known(key); !std::isnan(value)) return value;
    Size size;
    for (int v : columns) size = size.times(shared_->table.columns[v].arity);
    return keep(key, shared_->counter.count(columns), size);
}

double DiscreteScore::joint(std::span<const int> members) { return joint_of_columns(columns_of(members)); }

double DiscreteScore::local(int y, std::span<const int> parents) {
    columns_of(parents);
    family_.push_back(nodes_[y]);
    const double whole = joint_of_columns(family_);
    return whole - joint_of_columns(std::span(family_).first(parents.size()));
}

void DiscreteScore::local_with(int y, std::span<const int> parents, std::span<const int> xs,
                               std::span<double> scores) {
    const auto& columns = shared_->table.columns;
    const auto family = columns_of(parents);
    Key key;
    Size size;
    for (int v : family) {
        key = key ^ shared_->signs[v];
        size = size.times(columns[v].arity);
    }
    others_.clear();
    for (int x : xs) others_.push_back(nodes_[x]);
    const int child = nodes_[y], r_y = columns[child].arity;
    bool opened = false;
    for (std::size_t i = 0; i < xs.size(); ++i) {
        const int x = others_[i], r_x = columns[x].arity;
        const Key part_key = key ^ shared_->signs[x], whole_key = part_key ^ shared_->signs[child];
        double whole = known(whole_key), part = known(part_key);
        if (std::isnan(whole) || std::isnan(part)) {
            auto& counter = shared_->counter;
            if (!opened) counter.open(child, family, others_);
            opened = true;
            counter.count_with(x);
            if (std::isnan(part)) part = keep(part_key, counter.margin(), size.times(r_x));
            if (std::isnan(whole)) whole = keep(whole_key, counter.whole(), size.times(r_x * r_y));
        }
        scores[i] = whole - part;
    }
}

}  // namespace fedbn
