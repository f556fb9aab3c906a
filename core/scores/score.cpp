#include "scores/score.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "elementary.hpp"

namespace fedbn {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Counted::Counted(ScoreKind kind, GivenCodes codes, std::vector<int> arities, std::vector<Rung> given,
                 std::size_t memory, int threads)
    : kind(kind),
      rungs(std::move(given)),
      memory(memory),
      workers(workers_of(threads)),
      table(codes, arities, memory / 4, workers.get()),
      counter(table, part_of(table, 0, 1)),
      store(table.n(), rungs.size(), memory / 2),
      signs(make_signs(table.n())) {
    works.emplace_back(Cells(table), Terms(kind, table.all_rows, arities, rungs));
    use_threads(threads);
}

void Counted::use_threads(int threads) {
    if (threads != (workers ? workers->threads() : 1)) workers = workers_of(threads);
    parts = workers ? std::make_unique<Parts>(table, *workers) : nullptr;
    while (std::ssize(works) > threads) works.pop_back();
    while (std::ssize(works) < threads) works.emplace_back(Cells(table), works[0].terms);
}

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

double DiscreteScore::keep(Key key, std::span<const double> values) {
    ++shared_->sets;
    std::ranges::copy(values, shared_->store.place(key).begin());
    return values[rung_];
}

DiscreteScore::Size DiscreteScore::size_of(std::span<const int> columns) const {
    Size size;
    for (int v : columns) size = size.times(shared_->table.columns[v].arity);
    return size;
}

double DiscreteScore::joint_of_columns(std::span<const int> columns) {
    Key key;
    for (int v : columns) key = key ^ shared_->signs[v];
    if (const double value = known(key); !std::isnan(value)) return value;
    auto& [cells, terms] = shared_->works[0];
    counted_.resize(shared_->rungs.size());
    std::span<const std::int32_t> counts;
    if (auto& parts = shared_->parts; parts && parts->are_worth(columns)) counts = parts->count(columns, cells);
    if (counts.empty()) counts = shared_->counter.count(columns, cells);
    terms.joint(counts, size_of(columns).log(), counted_);
    return keep(key, counted_);
}

double DiscreteScore::joint(std::span<const int> members) {
    const std::lock_guard turn(shared_->turn);
    return joint_of_columns(columns_of(members));
}

double DiscreteScore::local(int y, std::span<const int> parents) {
    const std::lock_guard turn(shared_->turn);
    columns_of(parents);
    family_.push_back(nodes_[y]);
    const double whole = joint_of_columns(family_);
    return whole - joint_of_columns(std::span(family_).first(parents.size()));
}

void DiscreteScore::local_with(int y, std::span<const int> parents, std::span<const int> xs,
                               std::span<double> scores) {
    const std::lock_guard turn(shared_->turn);
    const auto family = columns_of(parents);
    Key key;
    for (int v : family) key = key ^ shared_->signs[v];
    const int child = nodes_[y];
    others_.clear();
    missing_.clear();
    for (const int i : xs) {
        const int x = others_.emplace_back(nodes_[i]);
        shared_->store.fetch(key ^ shared_->signs[x]);
        shared_->store.fetch(key ^ shared_->signs[x] ^ shared_->signs[child]);
    }
    for (std::size_t i = 0; i < xs.size(); ++i) {
        const int x = others_[i];
        const Key part_key = key ^ shared_->signs[x], whole_key = part_key ^ shared_->signs[child];
        const double part = known(part_key), whole = known(whole_key);
        scores[i] = whole - part;
        if (std::isnan(part) || std::isnan(whole)) missing_.push_back({i, x, part_key, whole_key, part, whole});
    }
    if (missing_.empty()) return;
    count_missing(child, family);
    const std::size_t rungs = shared_->rungs.size();
    const double* values = counted_.data();
    for (auto& [place, x, part_key, whole_key, part, whole] : missing_) {
        if (std::isnan(part)) part = keep(part_key, {values, rungs});
        if (std::isnan(whole)) whole = keep(whole_key, {values + rungs, rungs});
        values += 2 * rungs;
        scores[place] = whole - part;
    }
}

/// counted := J of what is missing. A value does not depend on the threads that compute it: counts are exact, and so
/// are sums of terms.
void DiscreteScore::count_missing(int child, std::span<const int> family) {
    const Size size = size_of(family);
    counted_.resize(2 * shared_->rungs.size() * missing_.size());
    xs_.clear();
    for (const Missing& each : missing_) xs_.push_back(each.x);
    auto* const parts = shared_->parts.get();
    const bool together = parts && parts->are_worth(child, family, missing_.size());
    if (together) parts->open(child, family, others_);
    bool is_open = false;
    for (std::size_t i = 0; i < missing_.size();) {
        const auto number = together ? parts->count_with(std::span(xs_).subspan(i)) : 0;
        if (number == 0) {
            count_alone(i++, child, family, size, !std::exchange(is_open, true));
            continue;
        }
        if (i == 0) keep_opened(*parts, child, size);
        shared_->workers->share_in_blocks(int(number), [&](int worker, int place) {
            parts->gather(place, shared_->works[worker].cells);
            add_up(worker, i + place, child, size);
        });
        i += number;
    }
}

/// J of a missing pair from the counts of all rows.
void DiscreteScore::count_alone(std::size_t place, int child, std::span<const int> family, Size size, bool first) {
    auto& counter = shared_->counter;
    auto& cells = shared_->works[0].cells;
    if (first) counter.open(child, family, others_, cells);
    if (place == 0) keep_opened(counter, child, size);
    counter.count_with(xs_[place], cells);
    add_up(0, place, child, size);
}

/// J of a missing pair that a worker has the counts of.
void DiscreteScore::add_up(int worker, std::size_t place, int child, Size size) {
    auto& [cells, terms] = shared_->works[worker];
    const auto& counter = shared_->counter;
    const Missing& of = missing_[place];
    const std::size_t rungs = shared_->rungs.size();
    const auto values = std::span(counted_).subspan(2 * rungs * place, 2 * rungs);
    const int r_x = shared_->table.columns[of.x].arity, r_y = shared_->table.columns[child].arity;
    if (std::isnan(of.part)) terms.joint(counter.without_y(of.x, cells), size.times(r_x).log(), values.first(rungs));
    if (std::isnan(of.whole)) terms.joint(counter.whole(of.x, cells), size.times(r_x * r_y).log(), values.last(rungs));
}

/// J of P and of P ∪ {y}, whose counts the counter has by the way, and which a search asks for with the rest.
void DiscreteScore::keep_opened(const auto& counter, int child, Size size) {
    auto& [cells, terms] = shared_->works[0];
    std::vector<double> values(shared_->rungs.size());
    Key key;
    for (int v : family_) key = key ^ shared_->signs[v];
    for (const bool with_y : {false, true}) {
        const Key of = with_y ? key ^ shared_->signs[child] : key;
        if (!std::isnan(known(of))) continue;
        const auto counts = counter.opened(with_y, cells);
        if (counts.empty()) return;
        terms.joint(counts, (with_y ? size.times(shared_->table.columns[child].arity) : size).log(), values);
        keep(of, values);
    }
}

std::int64_t DiscreteScore::counted() const {
    const std::lock_guard turn(shared_->turn);
    return shared_->sets;
}

int DiscreteScore::emptied() const {
    const std::lock_guard turn(shared_->turn);
    return shared_->store.emptied();
}

void DiscreteScore::use_threads(int threads) {
    const std::lock_guard turn(shared_->turn);
    shared_->use_threads(threads);
}

}  // namespace fedbn
