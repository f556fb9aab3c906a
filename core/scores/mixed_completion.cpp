#include "scores/mixed_completion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "elementary.hpp"
#include "interrupt.hpp"
#include "random.hpp"

namespace fedbn {

namespace {

/// Uniform and normal numbers of one stream.
class Draws {
public:
    explicit Draws(std::uint64_t seed) : random_{seed} {}

    double uniform() { return double(random_.next() >> 11) * 0x1p-53; }
    double normal() {
        if (std::exchange(has_second_, false)) return second_;
        double a, b, square;
        do {
            a = 2 * uniform() - 1, b = 2 * uniform() - 1;
            square = a * a + b * b;
        } while (!(square > 0 && square < 1));
        const double factor = std::sqrt(-2 * logarithm(square) / square);
        second_ = b * factor, has_second_ = true;
        return a * factor;
    }

private:
    SplitMix64 random_;
    double second_ = 0;
    bool has_second_ = false;
};

/// Of pairs of numbers, or of ones and numbers: four sums side by side, added at the end.
double sum_of(std::size_t size, const auto& term) {
    double sums[4] = {};
    std::size_t r = 0;
    for (; r + 4 <= size; r += 4)
        for (int lane = 0; lane < 4; ++lane) sums[lane] += term(r + lane);
    for (; r < size; ++r) sums[0] += term(r);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// The columns of all blocks: numbers as shares of a power of two that is next to the largest of their column, less the
/// mean that they begin with, and indicators of all states but the last. No square of a share overflows or vanishes, and
/// the shares have the digits of the numbers.
class BlockColumns {
public:
    explicit BlockColumns(const IncompleteMixed& given) : rows_(given.rows), starts_{0} {
        for (int states : given.states) starts_.push_back(starts_.back() + (states ? states - 1 : 1));
        shifts_.resize(size()), powers_.resize(size()), cells_.resize(size() * rows_);
        for (std::size_t v = 0; v < given.states.size(); ++v) {
            const double* const cells = &given.table[v * rows_];
            for (int c = starts_[v]; c < starts_[v + 1]; ++c)
                if (given.states[v])
                    std::transform(cells, cells + rows_, (*this)[c],
                                   [state = c - starts_[v]](double code) { return code == state; });
                else
                    centre(cells, c);
        }
    }

    std::size_t rows() const { return rows_; }
    int size() const { return starts_.back(); }
    int first(int v) const { return starts_[v]; }
    int width(int v) const { return starts_[v + 1] - starts_[v]; }
    /// A number of a column as the table has it.
    double number(int c, double share) const {
        constexpr double largest = std::numeric_limits<double>::max();
        return std::clamp((share + shifts_[c]) * powers_[c], -largest, largest);
    }
    double* operator[](int c) { return &cells_[c * rows_]; }
    const double* operator[](int c) const { return &cells_[c * rows_]; }
    std::vector<int> of(const std::vector<int>& variables) const {
        std::vector<int> found;
        for (int v : variables)
            for (int c = first(v); c < first(v) + width(v); ++c) found.push_back(c);
        return found;
    }

private:
    void centre(const double* numbers, int c) {
        const bool constant = std::all_of(numbers, numbers + rows_, [=](double x) { return x == numbers[0]; });
        double largest = 0;
        for (std::size_t r = 0; r < rows_; ++r) largest = std::max(largest, std::abs(numbers[r]));
        const int exponent = largest > 0 ? std::clamp(std::ilogb(largest), -1000, 1000) : 0;
        powers_[c] = std::ldexp(1.0, exponent);
        double* const shares = (*this)[c];
        std::transform(numbers, numbers + rows_, shares, [by = std::ldexp(1.0, -exponent)](double x) { return x * by; });
        const double sum = sum_of(rows_, [&](std::size_t r) { return shares[r]; });
        shifts_[c] = constant ? shares[0] : sum / double(rows_);  // no rounding makes a constant vary
        for (std::size_t r = 0; r < rows_; ++r) shares[r] -= shifts_[c];
    }

    std::size_t rows_;
    std::vector<int> starts_;
    std::vector<double> powers_, shifts_, cells_;
};

/// Means, and sums of products about them, of the columns as they are when they are first asked for after `renew`.
class Sums {
public:
    explicit Sums(const BlockColumns& columns)
        : columns_(columns), means_(columns.size()), products_(std::size_t(columns.size()) * columns.size(), NAN) {
        for (int c = 0; c < columns.size(); ++c) renew(c);
    }
    /// A column has other cells than before.
    void renew(int c) {
        means_[c] = sum_of(columns_.rows(), [x = columns_[c]](std::size_t r) { return x[r]; }) / rows();
        for (int other = 0; other < columns_.size(); ++other) kept(c, other) = NAN;
    }

    double rows() const { return double(columns_.rows()); }
    double mean(int c) const { return means_[c]; }
    double operator()(int a, int b) {
        double& found = kept(a, b);
        if (std::isnan(found)) found = product(std::min(a, b), std::max(a, b));
        return found;
    }
    /// What is added to the variance of a column of a blanket, so that copies and constants do no harm.
    double ridge(int c) {
        const double variance = (*this)(c, c) / rows();
        return variance > 0 ? variance : 1.0;
    }

private:
    double& kept(int a, int b) { return products_[std::size_t(std::min(a, b)) * columns_.size() + std::max(a, b)]; }
    double product(int a, int b) const {
        const double *x = columns_[a], *y = columns_[b];
        return sum_of(columns_.rows(), [=](std::size_t r) { return x[r] * y[r]; }) - rows() * means_[a] * means_[b];
    }

    const BlockColumns& columns_;
    std::vector<double> means_, products_;
};

/// A symmetric positive definite matrix, factored as L Lᵀ in place, row after row.
class Factor {
public:
    Factor(std::vector<double> entries, int size) : rows_(std::move(entries)), size_(size) {
        for (int i = 0; i < size; ++i)
            for (int j = 0; j <= i; ++j) {
                double rest = at(i, j);
                for (int k = 0; k < j; ++k) rest -= at(i, k) * at(j, k);
                at(i, j) = i == j ? std::sqrt(rest) : rest / at(j, j);
            }
    }
    void solve(std::span<double> right) {
        for (int i = 0; i < size_; ++i) {
            for (int k = 0; k < i; ++k) right[i] -= at(i, k) * right[k];
            right[i] /= at(i, i);
        }
        for (int i = size_; i-- > 0;) {
            for (int k = i + 1; k < size_; ++k) right[i] -= at(k, i) * right[k];
            right[i] /= at(i, i);
        }
    }

private:
    double& at(int i, int j) { return rows_[std::size_t(i) * size_ + j]; }
    std::vector<double> rows_;
    int size_;
};

/// Numbers that are linear in the blanket, one for a number's column, one for each state of a category.
struct Linear {
    std::vector<double> constants, slopes;  // slopes: for each of the constants one of each column of the blanket
    double deviation = 0;                   // of a number
};

std::vector<double> with_ridge(Sums& sums, const std::vector<int>& blanket, const auto& entry) {
    std::vector<double> found;
    for (std::size_t i = 0; i < blanket.size(); ++i)
        for (std::size_t j = 0; j < blanket.size(); ++j)
            found.push_back(entry(i, j) + (i == j ? sums.ridge(blanket[i]) : 0.0));
    return found;
}

Linear regression(Sums& sums, int column, const std::vector<int>& blanket) {
    const int size = int(blanket.size());
    const auto among = [&](int i, int j) { return sums(blanket[i], blanket[j]); };
    Linear found{{sums.mean(column)}, {}, 0};
    for (int c : blanket) found.slopes.push_back(sums(c, column));
    Factor(with_ridge(sums, blanket, among), size).solve(found.slopes);
    double left = sums(column, column);
    for (int i = 0; i < size; ++i) {
        double fitted = 0;
        for (int j = 0; j < size; ++j) fitted += among(i, j) * found.slopes[j];
        left += found.slopes[i] * (fitted - 2 * sums(blanket[i], column));
        found.constants[0] -= found.slopes[i] * sums.mean(blanket[i]);
    }
    found.deviation = std::sqrt(std::max(left, 0.0) / sums.rows());
    return found;
}

Linear discriminant(Sums& sums, int first, int states, const std::vector<int>& blanket) {
    const int size = int(blanket.size());
    std::vector<double> counts(states, 0.0), means(std::size_t(states) * size, 0.0);  // of z, less its mean over all rows
    double* const last = means.data() + std::size_t(states - 1) * size;
    counts[states - 1] = sums.rows();
    for (int state = 0; state + 1 < states; ++state) {
        counts[state] = std::round(sums.rows() * sums.mean(first + state));
        counts[states - 1] -= counts[state];
        for (int i = 0; i < size; ++i) {
            means[std::size_t(state) * size + i] = sums(first + state, blanket[i]);
            last[i] -= means[std::size_t(state) * size + i];
        }
    }
    for (int state = 0; state < states; ++state)
        for (int i = 0; i < size; ++i) means[std::size_t(state) * size + i] /= std::max(counts[state], 1.0);
    const auto within = [&](int i, int j) {
        double rest = sums(blanket[i], blanket[j]);
        for (int state = 0; state < states; ++state)
            rest -= counts[state] * means[std::size_t(state) * size + i] * means[std::size_t(state) * size + j];
        return i == j ? std::max(rest, 0.0) : rest;
    };
    Factor factor(with_ridge(sums, blanket, within), size);
    Linear found{{}, means, 0};
    for (int state = 0; state < states; ++state) {
        const auto slopes = std::span(found.slopes).subspan(std::size_t(state) * size, size);
        factor.solve(slopes);
        double constant = logarithm(counts[state] / sums.rows());
        for (int i = 0; i < size; ++i) {
            slopes[i] *= sums.rows();
            constant -= slopes[i] * (0.5 * means[std::size_t(state) * size + i] + sums.mean(blanket[i]));
        }
        found.constants.push_back(constant);
    }
    return found;
}

/// What is drawn: a column's missing cells, given its blanket.
struct Lacking {
    int column;
    std::vector<int> cells, blanket;  // rows; columns of blocks
    Linear model;
};

/// The rows that are marked. No branch: which they are is not foreseen.
std::vector<int> places_of(const std::uint8_t* marked, std::size_t rows) {
    std::vector<int> found(rows + 1);
    std::size_t size = 0;
    for (std::size_t r = 0; r < rows; ++r) found[size] = int(r), size += marked[r] != 0;
    found.resize(size);
    return found;
}

class Sweeper {
public:
    Sweeper(IncompleteMixed& given, std::uint64_t seed) : given_(given), columns_(given), sums_(columns_), draws_(seed) {
        for (int v = 0; v < int(given.states.size()); ++v) {
            Lacking lacking{v, places_of(&given.gone[v * given.rows], given.rows), columns_.of(given.blankets[v]), {}};
            if (!lacking.cells.empty()) lacking_.push_back(std::move(lacking));
        }
    }
    void fit() {
        for (auto& [v, cells, blanket, model] : lacking_) {
            const int states = given_.states[v];
            model = states ? discriminant(sums_, columns_.first(v), states, blanket)
                           : regression(sums_, columns_.first(v), blanket);
        }
    }
    void sweep() {
        for (const Lacking& lacking : lacking_) {
            notice_interrupt();
            if (given_.states[lacking.column])
                draw_states(lacking);
            else
                draw_numbers(lacking);
        }
        for (const Lacking& lacking : lacking_)
            for (int c : columns_.of({lacking.column})) sums_.renew(c);
    }

private:
    /// fitted_ := for each of the model's constants, what is linear in the blanket, of every cell.
    void fit_cells(const Lacking& lacking) {
        const auto& [column, cells, blanket, model] = lacking;
        fitted_.resize(model.constants.size() * cells.size());
        for (std::size_t place = 0; place < model.constants.size(); ++place) {
            const auto own = std::span(fitted_).subspan(place * cells.size(), cells.size());
            std::ranges::fill(own, model.constants[place]);
            for (std::size_t i = 0; i < blanket.size(); ++i) {
                const double slope = model.slopes[place * blanket.size() + i];
                const double* const z = columns_[blanket[i]];
                for (std::size_t k = 0; k < cells.size(); ++k) own[k] += slope * z[cells[k]];
            }
        }
    }
    void draw_numbers(const Lacking& lacking) {
        const int c = columns_.first(lacking.column);
        double* const own = columns_[c];
        double* const table = &given_.table[lacking.column * given_.rows];
        fit_cells(lacking);
        for (std::size_t k = 0; k < lacking.cells.size(); ++k) {
            const int row = lacking.cells[k];
            own[row] = fitted_[k] + lacking.model.deviation * draws_.normal();
            table[row] = columns_.number(c, own[row]);
        }
    }
    void draw_states(const Lacking& lacking) {
        const int states = given_.states[lacking.column], first = columns_.first(lacking.column);
        const std::size_t size = lacking.cells.size();
        double* const codes = &given_.table[lacking.column * given_.rows];
        fit_cells(lacking);
        for (std::size_t k = 0; k < size; ++k) {
            const int row = lacking.cells[k];
            double largest = fitted_[k], total = 0;
            for (int state = 1; state < states; ++state) largest = std::max(largest, fitted_[state * size + k]);
            for (int state = 0; state < states; ++state)
                total += fitted_[state * size + k] = exponential(fitted_[state * size + k] - largest);
            double left = draws_.uniform() * total;
            int state = 0;
            while (state + 1 < states && (left -= fitted_[state * size + k]) >= 0) ++state;
            const int before = int(codes[row]);
            if (before + 1 < states) columns_[first + before][row] = 0;
            if (state + 1 < states) columns_[first + state][row] = 1;
            codes[row] = state;
        }
    }

    IncompleteMixed& given_;
    BlockColumns columns_;
    Sums sums_;
    Draws draws_;
    std::vector<Lacking> lacking_;
    std::vector<double> fitted_;
};

}  // namespace

std::vector<double> draw_missing_mixed(IncompleteMixed given, int fits, int sweeps, std::uint64_t seed) {
    Sweeper sweeper(given, seed);
    for (int fit = 0; fit < fits; ++fit) {
        sweeper.fit();
        for (int sweep = 0; sweep < sweeps; ++sweep) sweeper.sweep();
    }
    return std::move(given.table);
}

}  // namespace fedbn
